// SPDX-License-Identifier: Apache-2.0
//! Credentials of a gRPC client: how it identifies itself, and whom it trusts.

use crate::credentials::explain::Shown;
use crate::credentials::pem;
use crate::credentials::server::{HANDSHAKE, use_ring};
use crate::credentials::sound_status::sound;
use crate::credentials::token::Token;
use crate::credentials::{Error, Keys};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use tonic::body::Body;
use tonic::codegen::http::Response;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::{InterceptedService, ResponseBody};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};
use tower::util::MapResponse;

/// TLS settings of a client; all files are PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientTls {
    /// Certificate authorities to check the server's certificate against.
    pub ca: PathBuf,
    /// Client certificate, for a server that requires one; needs `key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// Private key of the client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// Name in the server's certificate, if it differs from the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
}

impl ClientTls {
    /// Resolves relative paths against `base`, the configuration's directory.
    pub fn resolve(&mut self, base: &Path) {
        let others = [&mut self.certificate, &mut self.key];
        for path in others.into_iter().flatten().chain([&mut self.ca]) {
            *path = base.join(&*path);
        }
    }
}

/// Credential settings of one client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCredentials {
    /// TLS settings; without them the connection is in the clear.
    pub tls: Option<ClientTls>,
    /// File with the token to send.
    pub token_file: Option<PathBuf>,
}

/// A channel whose calls carry the token and whose unreadable status details are removed.
pub type CallerChannel = MapResponse<
    InterceptedService<Channel, Bearer>,
    fn(Response<ResponseBody<Body>>) -> Response<Body>,
>;

/// Adds the token, if any, to the metadata of each call.
#[derive(Clone, Debug, Default)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            let metadata = request.metadata_mut();
            metadata.insert("authorization", value.clone());
        }
        Ok(request)
    }
}

/// A client's credentials, read and checked. The default has none.
#[derive(Clone, Default)]
pub struct Access {
    tls: Option<ClientTlsConfig>,
    bearer: Bearer,
    certificate: bool,
    /// Name of the setting `tls.ca`, for errors.
    ca_key: String,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the key nor the token must be printed.
        f.debug_struct("Access")
            .field("tls", &self.tls.is_some())
            .field("token", &self.bearer.0.is_some())
            .finish()
    }
}

impl Access {
    /// Reads the files; `now_unix_s` is the current Unix time in s.
    ///
    /// # Errors
    /// A file cannot be used; the error names the setting.
    pub fn load(c: &ClientCredentials, keys: &Keys, now_unix_s: u64) -> Result<Self, Error> {
        let tls = c.tls.as_ref().map(|t| tls_config(t, keys, now_unix_s));
        let mut bearer = Bearer::default();
        if let Some(path) = &c.token_file {
            let mut value: MetadataValue<Ascii> = Token::read(path, keys)?
                .header()
                .parse()
                .map_err(|_| Error::new(keys.name("token_file"), "cannot be sent as metadata"))?;
            value.set_sensitive(true);
            bearer = Bearer(Some(value));
        }
        Ok(Self {
            tls: tls.transpose()?,
            bearer,
            certificate: c.tls.as_ref().is_some_and(|t| t.certificate.is_some()),
            ca_key: keys.name("tls.ca"),
        })
    }

    /// Turns `host:port` or a URL into a URL with the scheme that the credentials
    /// need. No I/O.
    ///
    /// # Errors
    /// The scheme does not match the credentials; the message names no setting.
    pub fn url(&self, address: &str) -> Result<String, String> {
        let ca_key = match self.ca_key.as_str() {
            "" => "tls.ca",
            key => key,
        };
        match (address.split_once("://"), &self.tls) {
            (None, None) => Ok(format!("http://{address}")),
            (None, Some(_)) => Ok(format!("https://{address}")),
            (Some(("http", _)), None) | (Some(("https", _)), Some(_)) => Ok(address.to_owned()),
            (Some(("https", _)), None) => Err(format!(
                "https needs {ca_key}: the certificate of the authority that signed the server's"
            )),
            (Some(("http", _)), Some(_)) => Err(format!(
                "http is without TLS; write https, or remove {ca_key}"
            )),
            (Some((scheme, _)), _) => Err(format!("{scheme} is neither http nor https")),
        }
    }

    /// Makes an endpoint for `host:port` or a URL. No I/O.
    ///
    /// # Errors
    /// The address is neither; the message names no setting.
    pub fn endpoint(&self, address: &str) -> Result<Endpoint, String> {
        let url = self.url(address)?;
        let endpoint =
            Endpoint::from_shared(url).map_err(|e| crate::credentials::explain::chain(&e))?;
        match &self.tls {
            None => Ok(endpoint),
            Some(tls) => {
                use_ring();
                endpoint
                    .tls_config(tls.clone())
                    .map_err(|e| crate::credentials::explain::chain(&e))
            }
        }
    }

    /// Returns the credentials that the server sees, to explain errors.
    pub fn shown(&self) -> Shown {
        match (&self.tls, self.certificate) {
            (None, _) => Shown::Clear,
            (Some(_), false) => Shown::Tls,
            (Some(_), true) => Shown::Certificate,
        }
    }

    /// Wraps a channel so that its calls carry the token.
    pub fn channel(&self, channel: Channel) -> CallerChannel {
        MapResponse::new(InterceptedService::new(channel, self.bearer.clone()), sound)
    }
}

fn tls_config(t: &ClientTls, keys: &Keys, now_unix_s: u64) -> Result<ClientTlsConfig, Error> {
    let ca = pem::authorities(&t.ca, "tls.ca", keys, now_unix_s)?;
    let mut config = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(ca))
        .timeout(HANDSHAKE);
    match (&t.certificate, &t.key) {
        (None, None) => {}
        (Some(certificate), Some(key)) => {
            let identity = pem::identity(certificate, key, keys, now_unix_s)?;
            config = config.identity(Identity::from_pem(
                &identity.certificate_pem,
                &identity.key_pem,
            ));
        }
        (given, _) => {
            let [certificate, key] = ["tls.certificate", "tls.key"].map(|k| keys.name(k));
            let (given, other) = match given {
                Some(_) => (certificate, key),
                None => (key, certificate),
            };
            return Err(Error::new(given, format!("needs {other} as well")));
        }
    }
    if let Some(name) = &t.server_name {
        config = config.domain_name(name);
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::certificates::{Authority, Purpose};

    const NOW: u64 = 1_800_000_000;

    #[test]
    fn the_scheme_goes_with_the_credentials() {
        let plain = Access::default();
        assert_eq!(plain.url("h:1").unwrap(), "http://h:1");
        assert_eq!(plain.url("http://h:1").unwrap(), "http://h:1");
        assert!(plain.url("https://h:1").unwrap_err().contains("tls.ca"));
        assert!(plain.url("ftp://h:1").unwrap_err().contains("ftp"));
        let dir = tempfile::tempdir().unwrap();
        let ca = Authority::new(dir.path(), "ca");
        let mut tls = ClientTls {
            ca: "ca.pem".into(),
            certificate: None,
            key: None,
            server_name: Some("localhost".into()),
        };
        tls.resolve(dir.path());
        assert_eq!(tls.ca, ca.file);
        let c = ClientCredentials {
            tls: Some(tls),
            token_file: None,
        };
        let tls = Access::load(&c, &Keys::ClientFlags, NOW).unwrap();
        assert_eq!(tls.url("h:1").unwrap(), "https://h:1");
        assert!(tls.url("http://h:1").unwrap_err().contains("--ca"));
        assert!(tls.endpoint("https://h:1").is_ok());
        assert!(tls.endpoint("https://h h:1").is_err());
    }

    #[test]
    fn a_certificate_needs_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let ca = Authority::new(dir.path(), "ca");
        let own = ca.sign("own", Purpose::Client);
        let load = |certificate: Option<&PathBuf>, key: Option<&PathBuf>| {
            let c = ClientCredentials {
                tls: Some(ClientTls {
                    ca: ca.file.clone(),
                    certificate: certificate.cloned(),
                    key: key.cloned(),
                    server_name: None,
                }),
                token_file: None,
            };
            Access::load(&c, &Keys::ClientFlags, NOW)
                .map(|_| ())
                .map_err(|e| e.to_string())
        };
        assert_eq!(load(Some(&own.certificate), Some(&own.key)), Ok(()));
        let e = load(Some(&own.certificate), None).unwrap_err();
        assert_eq!(e, "--certificate: needs --key as well");
        let e = load(None, Some(&own.key)).unwrap_err();
        assert_eq!(e, "--key: needs --certificate as well");
    }
}
