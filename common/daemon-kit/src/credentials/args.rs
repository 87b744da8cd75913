// SPDX-License-Identifier: Apache-2.0
//! The flags of programs that call a gRPC server.

use crate::credentials::{Access, ClientCredentials, ClientTls, Error, Keys};
use clap::Args;
use std::path::PathBuf;

/// How a server is reached that asks for TLS or a token.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Credentials")]
pub struct AccessArgs {
    /// TLS: authority that the server's certificate is checked against (PEM).
    #[arg(long)]
    ca: Option<PathBuf>,
    /// Our own certificate, for a server that asks for one (PEM).
    #[arg(long, requires = "ca", requires = "key")]
    certificate: Option<PathBuf>,
    /// Its private key (PEM).
    #[arg(long, requires = "certificate")]
    key: Option<PathBuf>,
    /// Name in the server's certificate, where it is not that of the address.
    #[arg(long, requires = "ca")]
    server_name: Option<String>,
    /// File with the server's token.
    #[arg(long)]
    token_file: Option<PathBuf>,
}

impl AccessArgs {
    /// Reads the files; `now_unix_s` is the time now, s.
    ///
    /// # Errors
    /// Files that cannot be used, by their flag.
    pub fn load(&self, now_unix_s: u64) -> Result<Access, Error> {
        let tls = self.ca.clone().map(|ca| ClientTls {
            ca,
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            server_name: self.server_name.clone(),
        });
        let credentials = ClientCredentials {
            tls,
            token_file: self.token_file.clone(),
        };
        Access::load(&credentials, &Keys::ClientFlags, now_unix_s)
    }
}
