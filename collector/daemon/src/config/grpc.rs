// SPDX-License-Identifier: Apache-2.0
//! `[grpc]`: the telemetry stream, and who may use it.

use daemon_kit::credentials::{Error, Keys, Protection, ServerCredentials, ServerTls};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Address of the gRPC server, and the credentials of its callers: subscribers
/// and agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GrpcConfig {
    /// Address of the server.
    pub listen: SocketAddr,
    /// TLS; mutual with `client_ca`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ServerTls>,
    /// File with the token that callers without a certificate present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// Serve everyone, even if other machines can reach the address.
    pub insecure: bool,
}

impl Default for GrpcConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9560)),
            tls: None,
            token_file: None,
            insecure: false,
        }
    }
}

impl GrpcConfig {
    pub(crate) fn keys() -> Keys {
        Keys::under("grpc")
    }

    pub(crate) fn protection(&self) -> Protection<'_> {
        Protection {
            listen: self.listen,
            listen_key: "grpc.listen",
            tls: self.tls.as_ref(),
            token_file: self.token_file.as_deref(),
            insecure: self.insecure,
        }
    }

    /// Reads the files; `now_unix_s` is the time now, s.
    ///
    /// # Errors
    /// An address that other machines can reach without protection, or a file that cannot be used.
    pub fn credentials(&self, now_unix_s: u64) -> Result<ServerCredentials, Error> {
        ServerCredentials::load(&self.protection(), &Self::keys(), "telemetry", now_unix_s)
    }
}
