// SPDX-License-Identifier: Apache-2.0
//! `[http]`: metrics and status, and who may read them.

use daemon_kit::credentials::{Error, Keys, Protection, ServerTls, Token};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Address of `/metrics`, `/status` and `/healthz`, and what their readers show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// Address of the server.
    pub listen: SocketAddr,
    /// HTTPS instead of HTTP; mutual with `client_ca`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ServerTls>,
    /// Its content is the bearer token that readers show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// Names that this server may be called by, besides its addresses and `localhost`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Serve everybody who reaches an address beyond this machine.
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

    /// Whether the settings fit each other. No I/O.
    ///
    /// # Errors
    /// An address that others reach without anything that keeps them out; a token
    /// where certificates are asked for already.
    pub fn check(&self) -> Result<(), Error> {
        self.protection().check(&Self::keys())?;
        let mutual = self.tls.as_ref().is_some_and(|t| t.client_ca.is_some());
        if mutual && self.token_file.is_some() {
            let problem =
                "readers show a certificate already (http.tls.client_ca); remove one or the other";
            return Err(Error::new("http.token_file", problem));
        }
        Ok(())
    }

    /// The token, where one is asked for.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub fn token(&self) -> Result<Option<Token>, Error> {
        let file = self.token_file.as_deref();
        file.map(|f| Token::read(f, &Self::keys())).transpose()
    }
}
