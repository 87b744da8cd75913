// SPDX-License-Identifier: Apache-2.0
//! The configuration, from file, environment and flags.

use crate::config::{self, Config};
use anyhow::Result;
use clap::Args;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Flags override the environment, which overrides the file.
#[derive(Debug, Args)]
pub(super) struct Settings {
    /// Configuration file (TOML).
    #[arg(long, env = "TIDEMARK_CONFIG")]
    config: Option<PathBuf>,
    /// Become this user once sockets and tracepoints are open.
    #[arg(long, env = "TIDEMARK_USER")]
    user: Option<String>,
    /// UDP address for reports; repeat for several.
    #[arg(long, env = "TIDEMARK_LISTEN", value_delimiter = ',')]
    listen: Vec<SocketAddr>,
    /// Address of the telemetry service.
    #[arg(long, env = "TIDEMARK_GRPC")]
    grpc: Option<SocketAddr>,
    /// File with the token that callers of the telemetry service present.
    #[arg(long, env = "TIDEMARK_GRPC_TOKEN_FILE")]
    grpc_token_file: Option<PathBuf>,
    /// Serve telemetry to everyone who can reach its address (true, false).
    #[arg(long, env = "TIDEMARK_GRPC_INSECURE")]
    grpc_insecure: Option<bool>,
    /// Address of /metrics and /status.
    #[arg(long, env = "TIDEMARK_HTTP")]
    http: Option<SocketAddr>,
    /// File with the token that readers of /metrics and /status present.
    #[arg(long, env = "TIDEMARK_HTTP_TOKEN_FILE")]
    http_token_file: Option<PathBuf>,
    /// Serve /metrics and /status to everyone who can reach their address (true, false).
    #[arg(long, env = "TIDEMARK_HTTP_INSECURE")]
    http_insecure: Option<bool>,
    /// Directory for the capture.
    #[arg(long, env = "TIDEMARK_CAPTURE_DIR")]
    capture_dir: Option<PathBuf>,
    /// Read this machine's TCP tracepoints (true, false).
    #[arg(long, env = "TIDEMARK_TCP_PROBE")]
    tcp_probe: Option<bool>,
    /// Take samples from agents on the telemetry address (true, false).
    #[arg(long, env = "TIDEMARK_AGENTS")]
    agents: Option<bool>,
    /// Show, but do not store, reports of nodes that the configuration does not name (true, false).
    #[arg(long, env = "TIDEMARK_ACCEPT_UNKNOWN_NODES")]
    accept_unknown_nodes: Option<bool>,
}

impl Settings {
    pub(super) fn load(&self) -> Result<Config> {
        let mut c = match &self.config {
            Some(path) => config::read(path)?,
            None => Config::default(),
        };
        set(&mut c.user, self.user.clone().map(Some));
        let listen = (!self.listen.is_empty()).then(|| self.listen.clone());
        set(&mut c.listen, listen);
        set(&mut c.grpc.listen, self.grpc);
        let token_file = self.grpc_token_file.clone();
        set(&mut c.grpc.token_file, token_file.map(Some));
        set(&mut c.grpc.insecure, self.grpc_insecure);
        set(&mut c.http.listen, self.http);
        let token_file = self.http_token_file.clone();
        set(&mut c.http.token_file, token_file.map(Some));
        set(&mut c.http.insecure, self.http_insecure);
        set(&mut c.capture.dir, self.capture_dir.clone().map(Some));
        set(&mut c.tcp_probe.enabled, self.tcp_probe);
        set(&mut c.agents.accept, self.agents);
        set(&mut c.accept_unknown_nodes, self.accept_unknown_nodes);
        let path = self.config.as_deref().unwrap_or(Path::new("flags"));
        c.validate(path)?;
        Ok(c)
    }
}

/// Replaces a value from the file, if another is given.
fn set<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}
