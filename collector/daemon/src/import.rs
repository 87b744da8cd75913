// SPDX-License-Identifier: Apache-2.0
//! Makes a capture from a pcap of reports and a tcp_probe text trace.

use crate::config::{self, ConfigError};
use crate::http::{JoinStatus, ReportStatus};
use crate::pcap::{PcapError, PcapReader, open};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tcp_probe::Event;
use thiserror::Error;
use tidemark_capture::{CaptureError, CaptureMeta, CaptureWriter, WriterOptions};
use tidemark_pipeline::{EventRow, NodeConfig, Pipeline, PostcardRow, ProbeRow, Sink, Stats};
use tidemark_proto::telemetry::{ClockMapping, Update};

/// Nobody waits for an import: slow flows get their time.
const JOIN_WAIT_MS: u32 = 5000;
/// Name of the host behind a trace.
const HOST: &str = "trace";

/// What to import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    pub pcap: PathBuf,
    pub tcp_probe: Option<PathBuf>,
    pub nodes: Option<PathBuf>,
    pub out: PathBuf,
    /// Destination ports of reports; empty = all UDP.
    pub ports: Vec<u16>,
    pub interval_ms: u32,
    pub progress: bool,
}

/// The part of a node file that an import needs: the collector's own
/// configuration may be given as well.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeFile {
    nodes: BTreeMap<String, NodeConfig>,
}

#[derive(Debug, Error)]
pub enum ImportError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{path}: {source}")]
    Value {
        path: PathBuf,
        source: tidemark_pipeline::ConfigError,
    },
    #[error(transparent)]
    Pcap(#[from] PcapError),
    #[error("{path}: {source}")]
    Trace {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

/// The outcome; `--json` prints it.
#[derive(Debug, Serialize)]
pub struct ImportReport {
    pub out: PathBuf,
    pub reports: ReportStatus,
    pub tcp_probe: TraceReport,
    pub join: JoinStatus,
    pub clocks: Vec<ClockReport>,
    pub flows: u64,
    pub capture: CaptureReport,
    /// Every counter of the pipeline.
    pub pipeline: Stats,
}

#[derive(Debug, Default, Serialize)]
pub struct TraceReport {
    pub lines: u64,
    pub events: u64,
    pub samples: u64,
    pub malformed: u64,
    /// Events the trace says were overwritten before they were read.
    pub lost: u64,
}

#[derive(Debug, Serialize)]
pub struct CaptureReport {
    pub rows: u64,
    pub rows_lost: u64,
    /// Frames of the pcap that are no report datagrams.
    pub other_frames: u64,
    /// The pcap ends within a frame.
    pub pcap_truncated: bool,
}

/// A clock mapping, as `ClockMapping` and in words that need no formula.
#[derive(Clone, Debug, Serialize)]
pub struct ClockReport {
    pub node_id: u32,
    pub host: String,
    /// `host = node + offset + (node - reference) * drift`.
    pub offset_ns: i64,
    pub drift_ppb: f64,
    pub reference_ns: u64,
    pub matched_pairs: u64,
    /// Node clock less host clock at the reference time.
    pub node_minus_host_s: f64,
    /// By how much the node's clock runs faster than the host's.
    pub node_drift_ppm: f64,
}

impl From<&ClockMapping> for ClockReport {
    fn from(c: &ClockMapping) -> Self {
        Self {
            node_id: c.node_id,
            host: c.host.clone(),
            offset_ns: c.offset_ns,
            drift_ppb: c.drift_ppb,
            reference_ns: c.reference_ns,
            matched_pairs: c.matched_pairs,
            node_minus_host_s: -(c.offset_ns as f64) / 1e9,
            node_drift_ppm: (1.0 / (1.0 + c.drift_ppb / 1e9) - 1.0) * 1e6,
        }
    }
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

struct Trace {
    path: PathBuf,
    input: Option<BufReader<Box<dyn Read>>>,
    line: Vec<u8>,
    next: Option<Event>,
    report: TraceReport,
}

impl Trace {
    fn open(path: Option<&Path>) -> Result<Self, ImportError> {
        let input = match path {
            Some(path) => Some(BufReader::with_capacity(1 << 18, open(path)?)),
            None => None,
        };
        let mut trace = Self {
            path: path.map(Path::to_path_buf).unwrap_or_default(),
            input,
            line: Vec::new(),
            next: None,
            report: TraceReport::default(),
        };
        trace.advance()?;
        Ok(trace)
    }

    fn advance(&mut self) -> Result<(), ImportError> {
        self.next = None;
        let Some(input) = &mut self.input else {
            return Ok(());
        };
        loop {
            self.line.clear();
            let n =
                input
                    .read_until(b'\n', &mut self.line)
                    .map_err(|source| ImportError::Trace {
                        path: self.path.clone(),
                        source,
                    })?;
            if n == 0 {
                return Ok(());
            }
            while self.line.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
                self.line.pop();
            }
            self.report.lines += 1;
            if let Some(lost) = tcp_probe::text::lost_events(&self.line) {
                self.report.lost += lost;
                continue;
            }
            match tcp_probe::text::parse_line(&self.line) {
                Ok(Some(event)) => {
                    self.report.events += 1;
                    if matches!(event, Event::Probe(_)) {
                        self.report.samples += 1;
                    }
                    self.next = Some(event);
                    return Ok(());
                }
                Ok(None) => {}
                Err(_) => self.report.malformed += 1,
            }
        }
    }

    /// The next event if it is not later than `time_ns`.
    fn until(&mut self, time_ns: u64) -> Result<Option<Event>, ImportError> {
        if self.next.as_ref().is_some_and(|e| time_of(e) <= time_ns) {
            let event = self.next.take();
            self.advance()?;
            return Ok(event);
        }
        Ok(None)
    }
}

fn time_of(event: &Event) -> u64 {
    match event {
        Event::Probe(e) => e.time_ns,
        Event::Retransmit(e) => e.time_ns,
        Event::CongState(e) => e.time_ns,
    }
}

/// Imports; see the module.
///
/// # Errors
/// When an input cannot be read or the capture not be written.
pub fn import(options: &ImportOptions) -> Result<ImportReport, ImportError> {
    let nodes = match &options.nodes {
        Some(path) => read_nodes(path)?,
        None => BTreeMap::new(),
    };
    let config = tidemark_pipeline::Config {
        nodes,
        interval_ms: options.interval_ms,
        join: options.tcp_probe.is_some(),
        join_wait_ms: JOIN_WAIT_MS,
        local_host: options.tcp_probe.is_some().then(|| HOST.to_owned()),
        ..tidemark_pipeline::Config::default()
    };
    config.validate().map_err(|source| ImportError::Value {
        path: options.nodes.clone().unwrap_or_default(),
        source,
    })?;
    let mut pcap = PcapReader::open(&options.pcap)?;
    let mut trace = Trace::open(options.tcp_probe.as_deref())?;
    let meta = CaptureMeta {
        format: tidemark_capture::FORMAT,
        tidemark_version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: crate::run::instance(),
        kernel: crate::run::kernel(),
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
    let mut progress = Progress::new(options.progress);
    let mut last_ns = 0;
    while let Some(packet) = pcap.next_packet()? {
        if !options.ports.is_empty() && !options.ports.contains(&packet.dst_port) {
            continue;
        }
        last_ns = packet.time_ns;
        while let Some(event) = trace.until(packet.time_ns)? {
            pipeline.push_event(HOST, event);
        }
        snapshot.datagrams += 1;
        let result = int_report::decode(packet.payload, |r| {
            pipeline.push_report(packet.src, &r, packet.time_ns);
        });
        if let Err(e) = result
            && let Some(n) = snapshot.malformed.get_mut(e.index())
        {
            *n += 1;
        }
        progress.tick(snapshot.datagrams);
    }
    while let Some(event) = trace.until(u64::MAX)? {
        pipeline.advance(last_ns.max(time_of(&event)));
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
        reports: ReportStatus::new(&snapshot, 0),
        tcp_probe: trace.report,
        join: JoinStatus::new(&snapshot.stats, 0),
        clocks: clocks.iter().map(Into::into).collect(),
        flows: snapshot.stats.flows,
        capture: CaptureReport {
            rows: written.written(),
            rows_lost: written.lost(),
            other_frames: pcap.other_frames,
            pcap_truncated: pcap.truncated,
        },
        pipeline: snapshot.stats,
    })
}

/// A line on standard error that is renewed; nothing when that is no terminal.
struct Progress {
    shown: bool,
    next: Instant,
    started: Instant,
}

impl Progress {
    fn new(wanted: bool) -> Self {
        let now = Instant::now();
        Self {
            shown: wanted && std::io::stderr().is_terminal(),
            next: now,
            started: now,
        }
    }

    fn tick(&mut self, datagrams: u64) {
        if self.shown && datagrams % 4096 == 0 && Instant::now() >= self.next {
            self.next = Instant::now() + Duration::from_millis(200);
            self.print(datagrams);
        }
    }

    fn print(&self, datagrams: u64) {
        let rate = datagrams as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        // Nothing to do about a terminal that is gone.
        let _ = write!(
            std::io::stderr(),
            "\r{datagrams} datagrams, {:.2} M/s ",
            rate / 1e6
        );
    }

    fn end(&self, datagrams: u64) {
        if self.shown {
            self.print(datagrams);
            let _ = writeln!(std::io::stderr());
        }
    }
}
