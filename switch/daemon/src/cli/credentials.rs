// SPDX-License-Identifier: Apache-2.0
//! The flags that say who may call the switch.

use clap::Args;
use daemon_kit::credentials::{Error, Keys, Protection, ServerCredentials, ServerTls};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Credentials")]
pub(crate) struct CredentialArgs {
    /// TLS: the server's certificate, followed by those that lead to its root (PEM).
    #[arg(long, requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Its private key (PEM).
    #[arg(long, requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Mutual TLS: clients show a certificate that this authority signed (PEM).
    #[arg(long, requires = "tls_certificate")]
    tls_client_ca: Option<PathBuf>,
    /// File with the token that callers without a certificate show.
    #[arg(long, env = "TIDEMARK_SWITCH_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Serve everybody who reaches an address beyond this machine.
    #[arg(long)]
    insecure: bool,
}

impl CredentialArgs {
    /// As `--insecure`.
    pub(crate) fn serve_everybody(&mut self) {
        self.insecure = true;
    }

    /// Reads the files for a server on this address, and says what is left open;
    /// `now_unix_s` is the time now, s.
    ///
    /// # Errors
    /// An address that others reach without anything that keeps them out; a file
    /// that cannot be used.
    pub(crate) fn load(
        &self,
        listen: SocketAddr,
        now_unix_s: u64,
    ) -> Result<(ServerCredentials, Option<String>), Error> {
        let files = self.tls_certificate.clone().zip(self.tls_key.clone());
        let tls = files.map(|(certificate, key)| ServerTls {
            certificate,
            key,
            client_ca: self.tls_client_ca.clone(),
        });
        let p = Protection {
            listen,
            listen_key: "--grpc",
            tls: tls.as_ref(),
            token_file: self.token_file.as_deref(),
            insecure: self.insecure,
        };
        let credentials = ServerCredentials::load(&p, &Keys::Flags, "gRPC", now_unix_s)?;
        Ok((credentials, p.warning(&Keys::Flags)))
    }
}
