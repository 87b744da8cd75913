// SPDX-License-Identifier: Apache-2.0
//! `[http]`: metrics and status, and who may read them.

use daemon_kit::credentials::{Error, Keys, Protection, ServerTls, Token};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Address of `/metrics`, `/status` and `/healthz`, and the credentials of their readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// Address of the server.
    pub listen: SocketAddr,
    /// HTTPS instead of HTTP; mutual with `client_ca`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ServerTls>,
    /// File with the bearer token that readers present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// Host names that requests may use, besides the server's addresses and `localhost`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Serve everyone, even if other machines can reach the address.
    pub insecure: bool,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9561)),
            tls: None,
            token_file: None,
            hosts: Vec::new(),
            insecure: false,
        }
    }
}

impl HttpConfig {
    pub(crate) fn keys() -> Keys {
        Keys::under("http")
    }

    pub(crate) fn protection(&self) -> Protection<'_> {
        Protection {
            listen: self.listen,
            listen_key: "http.listen",
            tls: self.tls.as_ref(),
            token_file: self.token_file.as_deref(),
            insecure: self.insecure,
        }
    }

    /// Checks that the settings are consistent. No I/O.
    ///
    /// # Errors
    /// An address that other machines can reach without protection, or a token although
    /// certificates are already required.
    pub fn check(&self) -> Result<(), Error> {
        self.protection().check(&Self::keys())?;
        let mutual = self.tls.as_ref().is_some_and(|t| t.client_ca.is_some());
        if mutual && self.token_file.is_some() {
            let problem =
                "readers already show a certificate (http.tls.client_ca); remove one or the other";
            return Err(Error::new("http.token_file", problem));
        }
        Ok(())
    }

    /// Reads the token, if one is configured.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub fn token(&self) -> Result<Option<Token>, Error> {
        let file = self.token_file.as_deref();
        file.map(|f| Token::read(f, &Self::keys())).transpose()
    }
}
