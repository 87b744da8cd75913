// SPDX-License-Identifier: Apache-2.0
//! A collector with its credentials: `"host:port"` if it needs none, else `{ address = "…", tls = {
//! … }, token_file = "…" }`.

use daemon_kit::credentials::{Access, ClientCredentials, ClientTls, Error, Keys};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;

/// One collector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct CollectorConfig {
    /// `host:port` of its gRPC address, or a URL.
    pub address: String,
    /// TLS to the collector: the certificate to show, and the CA to trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<ClientTls>,
    /// File with the token that the collector requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
}

impl CollectorConfig {
    /// Creates a collector that needs no credentials.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            ..Self::default()
        }
    }

    /// Reads the credentials; `index` is the collector's place in the list, and `now_unix_s` the
    /// current time, s.
    pub fn access(&self, index: usize, now_unix_s: u64) -> Result<Access, Error> {
        let key = format!("collectors[{index}]");
        let credentials = ClientCredentials {
            tls: self.tls.clone(),
            token_file: self.token_file.clone(),
        };
        let access = Access::load(&credentials, &Keys::under(&key), now_unix_s)?;
        match access.endpoint(&self.address) {
            Ok(_) => Ok(access),
            Err(e) => Err(Error::new(key, format!("\"{}\": {e}", self.address))),
        }
    }
}

impl Serialize for CollectorConfig {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.tls.is_none() && self.token_file.is_none() {
            return s.serialize_str(&self.address);
        }
        Self::serialize(self, s)
    }
}

impl<'de> Deserialize<'de> for CollectorConfig {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(TextOrTable)
    }
}

struct TextOrTable;

impl<'de> Visitor<'de> for TextOrTable {
    type Value = CollectorConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"host:port\" or a table with `address`")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<CollectorConfig, E> {
        Ok(CollectorConfig::new(text))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<CollectorConfig, M::Error> {
        let collector = CollectorConfig::deserialize(MapAccessDeserializer::new(map))?;
        if collector.address.is_empty() {
            return Err(M::Error::custom("address: must not be empty"));
        }
        Ok(collector)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn parse(text: &str) -> Result<Config, String> {
        toml::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn text_and_table_name_a_collector() {
        let text = "collectors = [\"a:1\", { address = \"https://b:2\", token_file = \"t\", tls = { ca = \"ca.pem\" } }]";
        let c = parse(text).unwrap();
        assert_eq!(c.collectors[0].address, "a:1");
        assert_eq!(c.collectors[1].token_file, Some("t".into()));
        let shown = serde_json::to_value(&c.collectors).unwrap();
        assert_eq!(
            shown,
            serde_json::json!(["a:1", {"address": "https://b:2", "token_file": "t", "tls": {"ca": "ca.pem"}}])
        );
        assert_eq!(
            parse(&toml::to_string(&c).unwrap()).unwrap().collectors,
            c.collectors
        );
    }

    #[test]
    fn what_a_table_cannot_have_is_named() {
        for (table, word) in [
            ("{ address = \"a:1\", tsl = 1 }", "tsl"),
            (
                "{ address = \"a:1\", tls = { certificate = \"c\" } }",
                "`ca`",
            ),
            ("{ token_file = \"t\" }", "address"),
            ("7", "host:port"),
        ] {
            let e = parse(&format!("collectors = [{table}]")).unwrap_err();
            assert!(e.contains(word), "{e}");
        }
    }
}
