// SPDX-License-Identifier: Apache-2.0
//! Credentials that a gRPC server requires of its callers.

use crate::credentials::gate::Gate;
use crate::credentials::pem;
use crate::credentials::refusals::Refusals;
use crate::credentials::token::Token;
use crate::credentials::{Error, Keys};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tonic::transport::server::ServerTlsConfig;
use tonic::transport::{Certificate, Identity, Server};
use tower::layer::util::{Identity as NoLayer, Stack};

/// Time limit for a TLS handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);

/// Most simultaneous calls over one connection.
const MAX_STREAMS: u32 = 100;
/// Interval of keepalive pings. A client that does not answer within [`ALIVE_WITHIN`] is
/// gone: its host lost power, or the path to it is cut.
const ALIVE_EVERY: Duration = Duration::from_secs(20);
const ALIVE_WITHIN: Duration = Duration::from_secs(20);

/// TLS settings of a server; all files are PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerTls {
    /// The certificate, followed by the chain to its root.
    #[serde(alias = "cert")]
    pub certificate: PathBuf,
    /// Private key of the certificate.
    pub key: PathBuf,
    /// Mutual TLS: clients present a certificate signed by one of these authorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<PathBuf>,
}

/// Access settings of one gRPC server.
#[derive(Clone, Copy, Debug)]
pub struct Protection<'a> {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Name of the setting for that address: `grpc.listen`, `--grpc`.
    pub listen_key: &'a str,
    /// TLS settings; mutual TLS with `client_ca`.
    pub tls: Option<&'a ServerTls>,
    /// File with the token required of callers without a certificate.
    pub token_file: Option<&'a Path>,
    /// Whether to serve everybody who can reach the address.
    pub insecure: bool,
}

impl Protection<'_> {
    fn beyond_loopback(&self) -> bool {
        !self.listen.ip().to_canonical().is_loopback()
    }

    /// Checks that the settings fit together. No I/O.
    ///
    /// # Errors
    /// Other machines can reach the address and no credentials are required; or `insecure`
    /// is set although credentials are required.
    pub fn check(&self, keys: &Keys) -> Result<(), Error> {
        let [tls, token, insecure] =
            ["tls.certificate", "token_file", "insecure"].map(|k| keys.name(k));
        if self.insecure && (self.tls.is_some() || self.token_file.is_some()) {
            let problem = format!("contradicts {tls} and {token}; remove one or the other");
            return Err(Error::new(insecure, problem));
        }
        let open = self.tls.is_none() && self.token_file.is_none();
        if self.beyond_loopback() && open && !self.insecure {
            let [key, client_ca] = ["tls.key", "tls.client_ca"].map(|k| keys.name(k));
            let problem = format!(
                "{} can be reached from other machines, but no credentials are set: set {tls} and {key} \
                 (with {client_ca} for mutual TLS), or {token}, or listen on 127.0.0.1; {insecure} serves everybody",
                self.listen
            );
            return Err(Error::new(self.listen_key, problem));
        }
        Ok(())
    }

    /// Returns a warning for the log about missing protection.
    pub fn warning(&self, keys: &Keys) -> Option<String> {
        if !self.beyond_loopback() {
            return None;
        }
        let [tls, client_ca, token] =
            ["tls.certificate", "tls.client_ca", "token_file"].map(|k| keys.name(k));
        let listen = self.listen;
        match (self.tls, self.token_file) {
            (None, None) => Some(format!(
                "anybody who can reach {listen} may call, and nothing is encrypted"
            )),
            (None, Some(_)) => Some(format!(
                "the token crosses the network of {listen} in the clear: set {tls}"
            )),
            (Some(t), None) if t.client_ca.is_none() => Some(format!(
                "anybody who can reach {listen} may call: set {client_ca} or {token}"
            )),
            _ => None,
        }
    }
}

/// A server's credentials, read and checked.
#[derive(Clone, Debug)]
pub struct ServerCredentials {
    tls: Option<ServerTlsConfig>,
    token: Option<Token>,
    refusals: Arc<Refusals>,
    summary: &'static str,
}

impl ServerCredentials {
    /// Returns the credentials of a server that serves everybody who can reach it.
    pub fn open(name: &'static str) -> Self {
        Self {
            tls: None,
            token: None,
            refusals: Refusals::new(name),
            summary: "no TLS, no token",
        }
    }

    /// Reads the files. With `client_ca` and a token, either lets a caller in.
    /// `name` is the server's name in the log; `now_unix_s` the current Unix time in s.
    ///
    /// # Errors
    /// Same as [`Protection::check`]; also if a file cannot be used.
    pub fn load(
        p: &Protection<'_>,
        keys: &Keys,
        name: &'static str,
        now_unix_s: u64,
    ) -> Result<Self, Error> {
        p.check(keys)?;
        let token = p.token_file.map(|f| Token::read(f, keys)).transpose()?;
        let mutual = p.tls.is_some_and(|t| t.client_ca.is_some());
        let tls = match p.tls {
            None => None,
            Some(t) => {
                let identity = pem::identity(&t.certificate, &t.key, keys, now_unix_s)?;
                let mut config = ServerTlsConfig::new()
                    .identity(Identity::from_pem(
                        &identity.certificate_pem,
                        &identity.key_pem,
                    ))
                    .timeout(HANDSHAKE);
                if let Some(ca) = &t.client_ca {
                    let ca = pem::authorities(ca, "tls.client_ca", keys, now_unix_s)?;
                    config = config
                        .client_ca_root(Certificate::from_pem(ca))
                        .client_auth_optional(token.is_some());
                }
                Some(config)
            }
        };
        let summary = match (tls.is_some(), mutual, token.is_some()) {
            (false, _, false) => "no TLS, no token",
            (false, _, true) => "token, no TLS",
            (true, false, false) => "TLS",
            (true, false, true) => "TLS, token",
            (true, true, false) => "mutual TLS",
            (true, true, true) => "mutual TLS or token",
        };
        Ok(Self {
            tls,
            token,
            refusals: Refusals::new(name),
            summary,
        })
    }

    /// Returns a short description of the credentials that callers need.
    pub fn summary(&self) -> &'static str {
        self.summary
    }

    /// Returns the counters of refused calls.
    pub fn refusals(&self) -> &Arc<Refusals> {
        &self.refusals
    }

    /// Builds a server that requires these credentials, to which services can be added.
    ///
    /// # Errors
    /// rustls rejects files that were good when they were read.
    pub fn server(&self) -> Result<Server<Stack<Gate, NoLayer>>, Error> {
        let mut server = Server::builder()
            .max_concurrent_streams(MAX_STREAMS)
            .http2_keepalive_interval(Some(ALIVE_EVERY))
            .http2_keepalive_timeout(Some(ALIVE_WITHIN));
        if let Some(tls) = &self.tls {
            use_ring();
            server = server
                .tls_config(tls.clone())
                .map_err(|e| Error::new("tls", crate::credentials::explain::chain(&e)))?;
        }
        let gate = Gate::new(self.token.clone(), Arc::clone(&self.refusals));
        Ok(server.layer(gate))
    }
}

/// Selects `ring`: rustls picks a provider by itself only if there is just one.
pub(crate) fn use_ring() {
    // An error means that a provider is already set.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        listen: &str,
        tls: bool,
        token: bool,
        insecure: bool,
    ) -> Result<Option<String>, String> {
        let tls = tls.then(|| ServerTls {
            certificate: "c.pem".into(),
            key: "k.pem".into(),
            client_ca: None,
        });
        let p = Protection {
            listen: listen.parse().unwrap(),
            listen_key: "grpc.listen",
            tls: tls.as_ref(),
            token_file: token.then_some(Path::new("token")),
            insecure,
        };
        let keys = Keys::under("grpc");
        p.check(&keys).map_err(|e| e.to_string())?;
        Ok(p.warning(&keys))
    }

    #[test]
    fn what_others_reach_needs_credentials_or_a_word() {
        for here in [
            "127.0.0.1:1",
            "[::1]:1",
            "127.1.2.3:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert_eq!(check(here, false, false, false), Ok(None), "{here}");
        }
        for there in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[::ffff:192.0.2.1]:1"] {
            let e = check(there, false, false, false).unwrap_err();
            assert!(e.starts_with("grpc.listen: "), "{e}");
            for key in [
                "grpc.tls.certificate",
                "grpc.tls.client_ca",
                "grpc.token_file",
                "grpc.insecure",
            ] {
                assert!(e.contains(key), "{e}");
            }
            for (tls, token, insecure, warning) in [
                (true, false, false, Some("grpc.tls.client_ca")),
                (false, true, false, Some("in the clear")),
                (true, true, false, None),
                (false, false, true, Some("anybody")),
            ] {
                let said = check(there, tls, token, insecure).unwrap();
                assert_eq!(said.is_some(), warning.is_some(), "{said:?}");
                assert!(warning.is_none_or(|w| said.unwrap().contains(w)));
            }
        }
        let e = check("127.0.0.1:1", false, true, true).unwrap_err();
        assert!(e.starts_with("grpc.insecure: "), "{e}");
    }
}
