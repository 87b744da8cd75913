// SPDX-License-Identifier: Apache-2.0
//! Makes a capture from a pcap of reports and text traces of tcp_probe.

mod align;
mod report;
mod trace;

use crate::account::{FrameAccount, RowAccount, SampleAccount};
use crate::config;
use crate::status::{JoinStatus, ReportStatus};
use anyhow::{Context, Result};
use clap::Args;
use daemon_kit::cli::{Progress, Usage};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tidemark_capture::{CaptureMeta, CaptureWriter, WriterOptions};
use tidemark_pcap::{Datagrams, STDIN};
use tidemark_pipeline::{Datagram, EventRow, NodeConfig, Pipeline, PostcardRow, ProbeRow, Sink};
use tidemark_proto::telemetry::Update;

pub(crate) use trace::{TraceSet, Traces};

pub use report::{CaptureReport, HostReport, ImportReport, TraceReport};
pub use trace::TraceSource;

/// Longest wait of a packet for its sample: an import has time for slow flows.
const JOIN_WAIT_MS: u32 = 5000;

/// Files to import and their options.
#[derive(Clone, Debug, Args)]
pub struct ImportOptions {
    /// Reports as UDP datagrams in a capture file, pcap or pcapng (.gz allowed); `-` is
    /// standard input.
    #[arg(long)]
    pub pcap: PathBuf,
    /// tcp_probe as text: output of trace_pipe, `trace-cmd report` or `perf script`, compressed or
    /// not. Give it once per host, or once per file of a host that has several.
    #[arg(long, value_name = "[HOST=]FILE")]
    pub tcp_probe: Vec<TraceSource>,
    /// TOML file with the [nodes] of the collector's configuration.
    #[arg(long)]
    pub nodes: Option<PathBuf>,
    /// Directory of the new capture.
    #[arg(long)]
    pub out: PathBuf,
    /// Import only datagrams to these UDP ports; default: all.
    #[arg(long, value_delimiter = ',')]
    pub port: Vec<u16>,
    /// Length of interval records, in ms.
    #[arg(long, default_value_t = 10)]
    pub interval_ms: u32,
    /// UDP port (4444) whose datagrams are cards of the programs of "Updating the Theory of Buffer
    /// Sizing".
    #[arg(long)]
    pub cards: Option<u16>,
    /// Id of the node that sent the cards; a Tofino, unless the node file names it.
    #[arg(long, default_value_t = 1, requires = "cards")]
    pub cards_node: u32,
    /// IP length of every packet that the cards describe, in bytes.
    #[arg(long, default_value_t = 1500, requires = "cards")]
    pub cards_packet_bytes: u16,
    /// Show progress on standard error.
    #[arg(skip)]
    pub progress: bool,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            pcap: PathBuf::new(),
            tcp_probe: Vec::new(),
            nodes: None,
            out: PathBuf::new(),
            port: Vec::new(),
            interval_ms: 10,
            cards: None,
            cards_node: 1,
            cards_packet_bytes: 1500,
            progress: false,
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

/// Makes a capture from a pcap and traces.
///
/// # Errors
/// If an input cannot be read or the capture cannot be written.
pub fn import(options: &ImportOptions) -> Result<ImportReport> {
    let traces = options.tcp_probe.iter().map(|source| &source.path);
    let has_stdin = traces.chain([&options.pcap]).any(|f| f == Path::new(STDIN));
    Usage::unless(
        !has_stdin || options.tcp_probe.is_empty(),
        "--pcap and --tcp-probe together are read twice, and standard input can be read once: give files",
    )?;
    let mut nodes = match &options.nodes {
        Some(path) => config::read::<config::Config>(path)?.nodes,
        None => BTreeMap::new(),
    };
    if options.cards.is_some() {
        // A node that the file does not name is a Tofino 1.
        nodes
            .entry(options.cards_node)
            .or_insert_with(|| NodeConfig {
                depth_unit: tidemark_pipeline::DepthUnit::Cells,
                cell_bytes: Some(80),
                ..NodeConfig::default()
            });
    }
    let mut traces = TraceSet::look(&options.tcp_probe)?;
    traces.align(|trace| align::align(&options.pcap, trace))?;
    let mut config = tidemark_pipeline::Config {
        nodes,
        interval_ms: options.interval_ms,
        join: !options.tcp_probe.is_empty(),
        join_wait_ms: JOIN_WAIT_MS,
        local_host: traces.local().map(str::to_owned),
        ..tidemark_pipeline::Config::default()
    };
    let checked = config.validate().and_then(|()| config.read_keys());
    let in_file = || {
        options
            .nodes
            .clone()
            .unwrap_or_default()
            .display()
            .to_string()
    };
    checked.with_context(in_file)?;
    let mut pcap = Datagrams::open(&options.pcap)?;
    let mut traces = traces.open()?;
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
    let mut pipeline = Pipeline::new(config, ImportSink(writer)).with_context(in_file)?;
    let mut snapshot = crate::engine::Snapshot::default();
    let mut progress = Progress::new("datagrams", options.progress);
    let mut last_ns = 0;
    let mut account = FrameAccount::default();
    let mut packets = 0u64;
    let position = pcap.position().clone();
    while let Some(packet) = pcap.next_datagram()? {
        if !options.port.is_empty() && !options.port.contains(&packet.dst_port) {
            account.other_port();
            continue;
        }
        last_ns = packet.time_ns;
        while let Some((host, _, event)) = traces.until(packet.time_ns)? {
            pipeline.push_event(host, event);
        }
        if options.cards == Some(packet.dst_port) {
            snapshot.datagrams += 1;
            match int_report::card::decode(packet.payload) {
                Some(card) => {
                    let inner = card.packet(options.cards_packet_bytes);
                    let report = card.report(options.cards_node, packet.time_ns, &inner);
                    pipeline.push_report(packet.src, &report, packet.time_ns);
                }
                None => account.no_card(),
            }
        } else {
            let datagrams = int_report::datagrams(packet.payload).map(|payload| Datagram {
                exporter: packet.src,
                rx_ns: packet.time_ns,
                payload,
            });
            let datagrams = datagrams.inspect(|_| snapshot.datagrams += 1);
            pipeline.push_datagrams(datagrams, |_, e| {
                account.refused(&e);
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
    while let Some((host, at_ns, event)) = traces.until(u64::MAX)? {
        pipeline.advance(last_ns.max(at_ns));
        pipeline.push_event(host, event);
    }
    progress.end(snapshot.datagrams);
    pipeline.finish();
    let clocks = pipeline.clocks();
    snapshot.stats = pipeline.stats();
    snapshot.nodes_of_hops_alone = pipeline.nodes_of_hops_alone();
    account.end(&pcap);
    account.reports = snapshot.stats.reports;
    account.hops = snapshot.stats.hops;
    let mut writer = pipeline.into_sink().0;
    let meta = writer.meta_mut();
    meta.clocks.clone_from(&clocks);
    meta.stats = Some(snapshot.stats.clone());
    meta.nodes_of_hops_alone
        .clone_from(&snapshot.nodes_of_hops_alone);
    let written = writer.finish(crate::time::unix_ns())?;
    Ok(ImportReport {
        out: options.out.clone(),
        reports: ReportStatus::new(&snapshot, 0),
        frames: account,
        packets: RowAccount::new(&snapshot.stats),
        tcp_probe: traces.report(),
        samples: SampleAccount::new(&snapshot.stats),
        join: JoinStatus::new(&snapshot.stats, 0),
        clocks: clocks.iter().map(Into::into).collect(),
        flows: snapshot.stats.flows,
        capture: CaptureReport {
            rows: written.written(),
            rows_lost: written.lost(),
            pcap_truncated: pcap.truncated(),
        },
        pipeline: snapshot.stats,
    })
}
