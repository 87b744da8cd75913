// SPDX-License-Identifier: Apache-2.0
//! Command-line flags of gRPC clients.

use crate::credentials::{Access, ClientCredentials, ClientTls, Error, Keys};
use clap::Args;
use std::path::PathBuf;

/// Flags for calling a server that requires TLS or a token.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Credentials")]
pub struct AccessArgs {
    /// TLS: certificate authority to check the server's certificate against (PEM).
    #[arg(long)]
    ca: Option<PathBuf>,
    /// Client certificate, for a server that requires one (PEM).
    #[arg(long, requires = "ca", requires = "key")]
    certificate: Option<PathBuf>,
    /// Private key of the client certificate (PEM).
    #[arg(long, requires = "certificate")]
    key: Option<PathBuf>,
    /// Name in the server's certificate, if it differs from the address.
    #[arg(long, requires = "ca")]
    server_name: Option<String>,
    /// File with the server's token.
    #[arg(long)]
    token_file: Option<PathBuf>,
}

impl AccessArgs {
    /// Reads the files; `now_unix_s` is the current Unix time in s.
    ///
    /// # Errors
    /// A file cannot be used; the error names the flag.
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
