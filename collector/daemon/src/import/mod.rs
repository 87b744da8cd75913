// SPDX-License-Identifier: Apache-2.0
//! Makes a capture from a pcap of reports and a tcp_probe text trace.

mod align;
mod error;
mod report;
mod trace;

use crate::config::{self, ConfigError};
use crate::status::{JoinStatus, ReportStatus};
use align::Alignment;
use daemon_kit::cli::Progress;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tidemark_capture::{CaptureMeta, CaptureWriter, WriterOptions};
use tidemark_pcap::Datagrams;
use tidemark_pipeline::{Datagram, EventRow, NodeConfig, Pipeline, PostcardRow, ProbeRow, Sink};
use tidemark_proto::telemetry::Update;

pub(crate) use trace::Trace;

pub use error::ImportError;
pub use report::{CaptureReport, ImportReport, TraceReport};

/// Nobody waits for an import: slow flows get their time.
const JOIN_WAIT_MS: u32 = 5000;
/// Name of the host that a trace is of.
const HOST: &str = "trace";

/// What to import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Capture file with the reports.
    pub pcap: PathBuf,
    /// Text trace of tcp_probe.
    pub tcp_probe: Option<PathBuf>,
    /// Configuration with the nodes.
    pub nodes: Option<PathBuf>,
    /// Directory of the new capture.
    pub out: PathBuf,
    /// Destination ports of reports; empty = all UDP.
    pub ports: Vec<u16>,
    /// Length of interval records.
    pub interval_ms: u32,
    /// Show on standard error how far it is.
    pub progress: bool,
    /// Datagrams to this port are cards, not reports.
    pub cards: Option<Cards>,
}

/// How to take the cards of [`int_report::card`], which say little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cards {
    /// UDP destination port of the cards.
    pub port: u16,
    /// The node that they are taken to be of; its configuration says how large
    /// a cell is.
    pub node_id: u32,
    /// IP total length of every packet.
    pub packet_bytes: u16,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            pcap: PathBuf::new(),
            tcp_probe: None,
            nodes: None,
            out: PathBuf::new(),
            ports: Vec::new(),
            interval_ms: 10,
            progress: false,
            cards: None,
        }
    }
}

/// The part of a node file that an import needs: the collector's own
/// configuration may be given as well.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeFile {
    nodes: BTreeMap<String, NodeConfig>,
}

struct ImportSink(CaptureWriter);

impl Sink for ImportSink {
    fn postcard(&mut self, row: &PostcardRow) {
        self.0.postcard(row);
    }
    fn probe(&mut self, row: &ProbeRow) {
        self.0.probe(row);
    }
    fn event(&mut self, row: &EventRow) {
        self.0.event(row);
    }
    fn update(&mut self, _: Update) {}
}

/// Reads the nodes of a node file or of a whole collector configuration.
///
/// # Errors
/// As [`config::read`].
fn read_nodes(path: &Path) -> Result<BTreeMap<u32, NodeConfig>, ConfigError> {
    if let Ok(c) = config::read::<config::Config>(path) {
        return Ok(c.nodes);
    }
    let file: NodeFile = config::read(path)?;
    let mut nodes = BTreeMap::new();
    for (id, node) in file.nodes {
        let id = id.parse().map_err(|_| ConfigError::Value {
            path: path.to_path_buf(),
            what: format!("nodes.{id}: a node id is a number"),
        })?;
        nodes.insert(id, node);
    }
    Ok(nodes)
}

/// The node of the cards where the file does not name it: a Tofino 1.
fn with_cards(
    mut nodes: BTreeMap<u32, NodeConfig>,
    cards: Option<Cards>,
) -> BTreeMap<u32, NodeConfig> {
    if let Some(cards) = cards {
        nodes.entry(cards.node_id).or_insert_with(|| NodeConfig {
            depth_unit: tidemark_pipeline::DepthUnit::Cells,
            cell_bytes: Some(80),
            ..NodeConfig::default()
        });
    }
    nodes
}

/// Makes a capture from a pcap and a trace.
///
/// # Errors
/// When an input cannot be read or the capture not be written.
pub fn import(options: &ImportOptions) -> Result<ImportReport, ImportError> {
    let nodes = match &options.nodes {
        Some(path) => read_nodes(path)?,
        None => BTreeMap::new(),
    };
    let nodes = with_cards(nodes, options.cards);
    let alignment = match &options.tcp_probe {
        Some(trace) => align::align(&options.pcap, trace)?,
        None => Alignment::Unknown,
    };
    if alignment == Alignment::Unknown && options.tcp_probe.is_some() {
        tracing::warn!("no sample of the trace fits a report of the pcap: is it of the same run?");
    }
    let trace_ahead_ns = alignment.trace_ahead_ns();
    let mut config = tidemark_pipeline::Config {
        nodes,
        interval_ms: options.interval_ms,
        join: options.tcp_probe.is_some(),
        join_wait_ms: JOIN_WAIT_MS,
        local_host: (alignment == Alignment::Same).then(|| HOST.to_owned()),
        ..tidemark_pipeline::Config::default()
    };
    let checked = config.validate().and_then(|()| config.read_keys());
    checked.map_err(|source| ImportError::Value {
        path: options.nodes.clone().unwrap_or_default(),
        source,
    })?;
    let mut pcap = Datagrams::open(&options.pcap)?;
    let mut trace = Trace::open(options.tcp_probe.as_deref())?;
    let meta = CaptureMeta {
        format: tidemark_capture::FORMAT,
        tidemark_version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: crate::host::instance(),
        kernel: crate::host::kernel(),
        started_unix_ns: crate::time::unix_ns(),
        config: config.clone(),
        ..CaptureMeta::default()
    };
    let writer = CaptureWriter::create(
        &options.out,
        meta,
        WriterOptions {
            wait_when_full: true,
            rotate_after: Duration::from_secs(3600),
            zstd_level: 9,
            ..WriterOptions::default()
        },
    )?;
    let mut pipeline =
        Pipeline::new(config, ImportSink(writer)).map_err(|source| ImportError::Value {
            path: options.nodes.clone().unwrap_or_default(),
            source,
        })?;
    let mut snapshot = crate::engine::Snapshot::default();
    let mut progress = Progress::new("datagrams", options.progress);
    let mut last_ns = 0;
    let mut cards_malformed = 0;
    let mut packets = 0u64;
    let position = pcap.position().clone();
    while let Some(packet) = pcap.next_datagram()? {
        if !options.ports.is_empty() && !options.ports.contains(&packet.dst_port) {
            continue;
        }
        last_ns = packet.time_ns;
        while let Some(event) = trace.until(packet.time_ns.saturating_add_signed(trace_ahead_ns))? {
            pipeline.push_event(HOST, event);
        }
        if let Some(cards) = options.cards.filter(|c| c.port == packet.dst_port) {
            snapshot.datagrams += 1;
            match int_report::card::decode(packet.payload) {
                Some(card) => {
                    let inner = card.packet(cards.packet_bytes);
                    let report = card.report(cards.node_id, packet.time_ns, &inner);
                    pipeline.push_report(packet.src, &report, packet.time_ns);
                }
                None => cards_malformed += 1,
            }
        } else {
            let datagrams = int_report::datagrams(packet.payload).map(|payload| Datagram {
                exporter: packet.src,
                rx_ns: packet.time_ns,
                payload,
            });
            let datagrams = datagrams.inspect(|_| snapshot.datagrams += 1);
            pipeline.push_datagrams(datagrams, |_, e| {
                if let Some(n) = snapshot.malformed.get_mut(e.index()) {
                    *n += 1;
                }
            });
        }
        packets += 1;
        if packets.is_multiple_of(4096) {
            progress.tick(snapshot.datagrams, position.fraction());
        }
    }
    while let Some(event) = trace.until(u64::MAX)? {
        let at_ns = event
            .time_ns()
            .saturating_add_signed(trace_ahead_ns.saturating_neg());
        pipeline.advance(last_ns.max(at_ns));
        pipeline.push_event(HOST, event);
    }
    progress.end(snapshot.datagrams);
    pipeline.finish();
    let clocks = pipeline.clocks();
    snapshot.stats = pipeline.stats();
    let mut writer = pipeline.into_sink().0;
    let meta = writer.meta_mut();
    meta.clocks = clocks.iter().map(Into::into).collect();
    meta.stats = Some(snapshot.stats.clone());
    let written = writer.finish(crate::time::unix_ns())?;
    Ok(ImportReport {
        out: options.out.clone(),
        reports: {
            let status = ReportStatus::new(&snapshot, 0);
            ReportStatus {
                malformed: status.malformed + cards_malformed,
                ..status
            }
        },
        tcp_probe: trace.report,
        join: JoinStatus::new(&snapshot.stats, 0),
        clocks: clocks.iter().map(Into::into).collect(),
        flows: snapshot.stats.flows,
        capture: CaptureReport {
            rows: written.written(),
            rows_lost: written.lost(),
            other_frames: pcap.other_frames,
            pcap_truncated: pcap.truncated(),
        },
        pipeline: snapshot.stats,
    })
}
