// SPDX-License-Identifier: Apache-2.0
//! The flags that control who may call the switch.

use clap::Args;
use daemon_kit::credentials::{Error, Keys, Protection, ServerCredentials, ServerTls};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Credentials")]
pub(crate) struct CredentialArgs {
    /// TLS: the server's certificate, followed by its chain (PEM).
    #[arg(long, requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Private key of the server's certificate (PEM).
    #[arg(long, requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Mutual TLS: clients must present a certificate signed by this authority (PEM).
    #[arg(long, requires = "tls_certificate")]
    tls_client_ca: Option<PathBuf>,
    /// File with the token that callers without a certificate must send.
    #[arg(long, env = "TIDEMARK_SWITCH_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Allow unauthenticated callers on an address that other hosts can reach.
    #[arg(long)]
    insecure: bool,
}

impl CredentialArgs {
    /// Has the effect of `--insecure`.
    pub(crate) fn serve_everybody(&mut self) {
        self.insecure = true;
    }

    /// Loads the credentials for a server on this address, and returns a warning about what they
    /// leave open; `now_unix_s` is the current time in s.
    ///
    /// # Errors
    /// An address that other hosts can reach without any protection, or a file that cannot be
    /// used.
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
