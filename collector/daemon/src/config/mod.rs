// SPDX-License-Identifier: Apache-2.0
//! The collector's configuration file.

mod grpc;
mod http;
mod parts;

pub use crate::receive::ReceiveConfig;
pub use grpc::GrpcConfig;
pub use http::HttpConfig;
pub use parts::{AgentsConfig, CaptureConfig, PipelineConfig, ProbeConfig};

use crate::packets::Bounds;
use crate::shards::MAX_SHARDS;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;
use tidemark_pipeline::{NodeConfig, Share, UnknownNodes};
use tidemark_proto::NAME_RULE;

/// `collector.toml`. Every key is optional; unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The collector becomes this user once its sockets and tracepoints are open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// UDP addresses on which reports are received.
    pub listen: Vec<SocketAddr>,
    /// Sockets that receive reports.
    pub receive: ReceiveConfig,
    /// Telemetry stream and agents.
    pub grpc: GrpcConfig,
    /// Metrics, status, health.
    pub http: HttpConfig,
    /// Storage in files.
    pub capture: CaptureConfig,
    /// Storage in ClickHouse.
    pub clickhouse: tidemark_clickhouse::ClickHouseConfig,
    /// TCP samples of this machine.
    pub tcp_probe: ProbeConfig,
    /// TCP samples of other hosts.
    pub agents: AgentsConfig,
    /// Limits and times of the pipeline.
    pub pipeline: PipelineConfig,
    /// Packets kept for the console's zoom.
    pub packets: Bounds,
    /// Accept reports of nodes that are not listed below, to find out which nodes send: these
    /// reports are shown but not stored.
    pub accept_unknown_nodes: bool,
    /// File that keeps the newest run of each exporter with a key across starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_file: Option<PathBuf>,
    /// Nodes by id, with the meaning of their reports.
    #[serde(deserialize_with = "node_table")]
    pub nodes: BTreeMap<u32, NodeConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            user: None,
            listen: vec![SocketAddr::from(([127, 0, 0, 1], int_report::DEFAULT_PORT))],
            receive: ReceiveConfig::default(),
            grpc: GrpcConfig::default(),
            http: HttpConfig::default(),
            capture: CaptureConfig::default(),
            clickhouse: tidemark_clickhouse::ClickHouseConfig::default(),
            tcp_probe: ProbeConfig::default(),
            agents: AgentsConfig::default(),
            pipeline: PipelineConfig::default(),
            packets: Bounds::default(),
            accept_unknown_nodes: false,
            runs_file: None,
            nodes: BTreeMap::new(),
        }
    }
}

/// Parses the node ids, because TOML keys are text.
fn node_table<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<u32, NodeConfig>, D::Error> {
    let text: BTreeMap<String, NodeConfig> = BTreeMap::deserialize(d)?;
    text.into_iter()
        .map(|(k, v)| match k.parse() {
            Ok(id) => Ok((id, v)),
            Err(_) => Err(D::Error::custom(format!(
                "nodes.{k}: a node id is a number in 0..=4294967295"
            ))),
        })
        .collect()
}

/// Why a configuration cannot be used, in one line.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}:{line}: {message}")]
    Parse {
        path: PathBuf,
        line: usize,
        message: String,
    },
    #[error("{path}: {what}")]
    Value { path: PathBuf, what: String },
}

/// Parses TOML; errors name file and line.
///
/// # Errors
/// Syntax errors, unknown keys, wrong types.
pub fn parse<T: for<'de> Deserialize<'de>>(path: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|e| ConfigError::Parse {
        path: path.to_path_buf(),
        line: e.span().map_or(1, |s| {
            text.get(..s.start)
                .map_or(1, |before| before.matches('\n').count() + 1)
        }),
        message: e.message().replace('\n', " "),
    })
}

/// # Errors
/// When the file cannot be read or parsed.
pub fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
        path: path.to_path_buf(),
        source,
    })?;
    parse(path, &text)
}

impl Config {
    /// Returns the pipeline's configuration without the nodes' keys, which a caller that runs the
    /// pipeline reads ([`tidemark_pipeline::Config::read_keys`]).
    pub fn pipeline(&self) -> tidemark_pipeline::Config {
        let p = &self.pipeline;
        tidemark_pipeline::Config {
            nodes: self.nodes.clone(),
            share: Share::default(),
            keys: BTreeMap::new(),
            runs: BTreeMap::new(),
            unknown_nodes: if self.accept_unknown_nodes {
                UnknownNodes::Accept
            } else {
                UnknownNodes::Refuse
            },
            interval_ms: p.interval_ms,
            reorder_ms: p.reorder_ms,
            publish_ms: p.publish_ms,
            join_wait_ms: p.join_wait_ms,
            probe_hold_ms: p.probe_hold_ms,
            join: self.tcp_probe.enabled || self.agents.accept,
            local_host: self.tcp_probe.enabled.then(|| self.tcp_probe.host.clone()),
            max_flows: p.max_flows,
            max_segment_memory_bytes: p.max_segment_memory_bytes,
            max_pending: p.max_pending,
            max_clock_step_ms: p.max_clock_step_ms,
        }
    }

    /// Returns the (node, port) pairs that are configured.
    pub(crate) fn named_ports(&self) -> BTreeSet<(u32, u32)> {
        let nodes = self.nodes.iter();
        nodes
            .flat_map(|(&id, node)| node.ports.keys().map(move |&port| (id, port)))
            .collect()
    }

    /// Returns the nodes whose reports any host may send, if the collector listens on more than
    /// loopback.
    pub fn nodes_open_to_anybody(&self) -> Vec<u32> {
        if self.listen.iter().all(|a| a.ip().is_loopback()) {
            return Vec::new();
        }
        let open = self.nodes.iter().filter(|(_, n)| n.exporters.is_any());
        open.map(|(&id, _)| id).collect()
    }

    /// Checks all values.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn validate(&self, path: &Path) -> Result<(), ConfigError> {
        let error = |what: String| ConfigError::Value {
            path: path.to_path_buf(),
            what,
        };
        if self.listen.is_empty() {
            return Err(error(
                "listen: name at least one address, such as \"127.0.0.1:32766\"".into(),
            ));
        }
        let grpc = self.grpc.protection().check(&GrpcConfig::keys());
        grpc.map_err(|e| error(e.to_string()))?;
        self.http.check().map_err(|e| error(e.to_string()))?;
        if !(1..=MAX_SHARDS).contains(&self.receive.shards) {
            return Err(error(format!("receive.shards: must be 1..={MAX_SHARDS}")));
        }
        if !(1..=3600).contains(&self.capture.rotate_s) {
            return Err(error("capture.rotate_s: must be 1..=3600".into()));
        }
        if self.capture.rotate_rows < 1000 {
            return Err(error("capture.rotate_rows: must be at least 1000".into()));
        }
        if !(1..=22).contains(&self.capture.zstd_level) {
            return Err(error("capture.zstd_level: must be 1..=22".into()));
        }
        self.clickhouse
            .validate()
            .map_err(|e| error(e.to_string()))?;
        if !tidemark_proto::is_name(&self.tcp_probe.host) {
            return Err(error(format!("tcp_probe.host: must be {NAME_RULE}")));
        }
        self.pipeline().validate().map_err(|e| {
            let in_pipeline = !e.key.starts_with("nodes.");
            let prefix = if in_pipeline { "pipeline." } else { "" };
            error(format!("{prefix}{e}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_config(text: &str) -> Result<Config, ConfigError> {
        let path = Path::new("collector.toml");
        let c: Config = parse(path, text)?;
        c.validate(path).map(|()| c)
    }

    #[test]
    fn a_whole_file() {
        let c = parse_config(
            "listen = [\"127.0.0.1:32766\"]\n[grpc]\nlisten = \"127.0.0.1:1\"\n\
             [capture]\ndir = \"/tmp/x\"\n[tcp_probe]\nenabled = true\nclock = \"mono_raw\"\n\
             [nodes.10]\nname = \"s\"\ntime_unit = \"ns\"\ndepth_unit = \"packets\"\n\
             [nodes.10.ports.1]\ncapacity_bps = 50000000\n",
        )
        .unwrap();
        assert_eq!(c.nodes[&10].ports[&1].wire_overhead_bytes, 38);
        assert_eq!(c.pipeline().local_host.as_deref(), Some("local"));
    }

    #[test]
    fn nodes_without_exporters_are_open_where_others_can_send() {
        let open = |listen: &str| {
            parse_config(&format!(
                "listen = [\"{listen}\"]\n[nodes.1]\n[nodes.2]\nexporters = [\"192.0.2.1\"]\n"
            ))
            .unwrap()
            .nodes_open_to_anybody()
        };
        assert!(open("127.0.0.1:32766").is_empty());
        assert_eq!(open("0.0.0.0:32766"), [1]);
        let e = parse_config("[nodes.1]\nexporters = [\"lab\"]\n").unwrap_err();
        assert!(e.to_string().contains("\"lab\""), "{e}");
    }

    #[test]
    fn errors_name_line_and_key() {
        for (text, line, word) in [
            ("listen = []\n\n[grcp]\n", 3, "grcp"),
            ("[nodes.10]\ntime_unti = \"ns\"\n", 2, "time_unti"),
            ("[nodes.x]\n", 1, "nodes.x"),
            ("[nodes.1.ports.a]\ncapacity_bps = 1\n", 1, "a"),
        ] {
            let e = parse_config(text).unwrap_err().to_string();
            assert!(e.contains(word), "{e}");
            assert!(!e.contains('\n'), "{e}");
            assert!(e.contains(&format!(".toml:{line}: ")), "{e}");
        }
        let e = parse_config("[grpc]\nlisten = \"0.0.0.0:9560\"\n").unwrap_err();
        assert!(e.to_string().contains("grpc.token_file"), "{e}");
        let e = parse_config("[http]\nlisten = \"0.0.0.0:9561\"\n").unwrap_err();
        assert!(e.to_string().contains("http.insecure"), "{e}");
        parse_config("[http]\nlisten = \"0.0.0.0:9561\"\ntoken_file = \"t\"\n").unwrap();
        let e = parse_config(
            "[http]\ntoken_file = \"t\"\ntls = { certificate = \"c\", key = \"k\", client_ca = \"a\" }\n",
        );
        assert!(e.unwrap_err().to_string().contains("http.token_file"));
        let e = parse_config("[pipeline]\ninterval_ms = 0\n").unwrap_err();
        assert!(e.to_string().contains("pipeline.interval_ms"), "{e}");
        let e = parse_config("[nodes.3]\ndepth_unit = \"cells\"\n").unwrap_err();
        assert!(e.to_string().contains("nodes.3.cell_bytes"), "{e}");
    }
}
