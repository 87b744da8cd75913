// SPDX-License-Identifier: Apache-2.0
//! Turns the rows of a capture into reports and samples again.

use crate::account::FrameAccount;
use anyhow::Result;
use int_report::encode::encode;
use int_report::{FlowKey, Inner, InnerKind, Report};
use rustc_hash::FxHashMap;
use std::net::IpAddr;
use std::path::Path;
use tcp_probe::{CongStateEvent, Event, RetransmitEvent, Sample};
use tidemark_capture::{AnyRow, CaptureError, CaptureMeta, Merged};
use tidemark_pipeline::{Config, NodeConfig, PostcardRow};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A datagram or an event to send.
pub(super) enum Item {
    Datagram(Vec<u8>),
    Event(Event),
}

/// A recording to send.
pub(super) trait Recorded {
    /// Returns the next item to send, and when it was recorded, in ns.
    fn next(&mut self) -> Result<Option<(u64, Item)>>;

    /// Returns the fraction read so far, 0 to 1; `None` if the total is unknown.
    fn fraction(&self) -> Option<f64>;

    /// Returns the account of the frames read, if the source has frames; called at the end.
    fn account(&mut self) -> Option<FrameAccount> {
        None
    }

    /// Returns the number of rows that could not be turned into reports.
    fn skipped(&self) -> u64 {
        0
    }
}

/// Reads a capture, datagram by datagram.
pub(super) struct CaptureSource {
    rows: Merged,
    rows_there: u64,
    config: Config,
    flows: FxHashMap<u64, FlowKey>,
    /// Rows of the datagram being put together.
    open: Vec<PostcardRow>,
    /// Row read from the capture that comes after `open`.
    next: Option<AnyRow>,
    now_ns: u64,
    last_sample: Option<(u64, u64)>,
    skipped: u64,
}

impl CaptureSource {
    pub(super) fn open(dir: &Path) -> Result<Self, CaptureError> {
        Ok(Self {
            config: CaptureMeta::read(dir)?.config,
            rows: Merged::open(dir)?,
            rows_there: Merged::rows(dir)?,
            flows: FxHashMap::default(),
            open: Vec::new(),
            next: None,
            now_ns: 0,
            last_sample: None,
            skipped: 0,
        })
    }

    fn other(&mut self, event: &tidemark_pipeline::Event) -> Option<Event> {
        match *event {
            tidemark_pipeline::Event::Flow(f) => {
                self.flows.insert(f.flow_id, f.key);
                None
            }
            tidemark_pipeline::Event::Retransmit(at) => Some(Event::Retransmit(RetransmitEvent {
                time_ns: at.host_ns,
                flow: *self.flows.get(&at.flow_id)?,
            })),
            tidemark_pipeline::Event::CongestionState { at, state } => {
                Some(Event::CongState(CongStateEvent {
                    time_ns: at.host_ns,
                    flow: *self.flows.get(&at.flow_id)?,
                    state,
                }))
            }
            _ => None,
        }
    }

    fn datagram(&mut self) -> Option<Vec<u8>> {
        let rows = std::mem::take(&mut self.open);
        let first = rows.first()?;
        self.now_ns = self.now_ns.max(first.rx_ns);
        let node = self.config.nodes.get(&first.node_id);
        let node = node.cloned().unwrap_or_default();
        let packets: Vec<Option<(Vec<u8>, InnerKind)>> = rows
            .iter()
            .map(|r| packet(r, self.flows.get(&r.flow_id)?))
            .collect();
        let mut reports: Vec<Report<'_>> = Vec::new();
        for (row, packet) in rows.iter().zip(&packets) {
            let Some((packet, kind)) = packet else {
                self.skipped += 1;
                continue;
            };
            let inner = Inner::new(packet, *kind);
            reports.push(report(row, &node, inner, reports.is_empty()));
        }
        match encode(&reports) {
            Ok(payload) => Some(payload),
            Err(_) => {
                self.skipped += reports.len() as u64;
                None
            }
        }
    }
}

impl Recorded for CaptureSource {
    fn next(&mut self) -> Result<Option<(u64, Item)>> {
        loop {
            let row = match self.next.take() {
                Some(row) => Some(row),
                None => self.rows.next_row()?,
            };
            match row {
                Some(AnyRow::Postcard(row)) => {
                    let same = self.open.first().is_none_or(|o| {
                        (o.node_id, o.hw_id, o.sequence) == (row.node_id, row.hw_id, row.sequence)
                    });
                    if same {
                        self.open.push(*row);
                        continue;
                    }
                    self.next = Some(AnyRow::Postcard(row));
                }
                Some(other) if !self.open.is_empty() => self.next = Some(other),
                Some(AnyRow::Probe(row)) => {
                    let r = &row.row;
                    // A flow seen at several ports has a row for each.
                    let key = (r.flow_id, r.host_ns);
                    if self.last_sample.replace(key) == Some(key) {
                        continue;
                    }
                    let Some(&flow) = self.flows.get(&r.flow_id) else {
                        self.skipped += 1;
                        continue;
                    };
                    let sample = Event::Probe(Sample {
                        time_ns: r.host_ns,
                        flow,
                        data_len: r.data_len_bytes,
                        snd_nxt: r.snd_nxt,
                        snd_una: r.snd_una,
                        snd_cwnd: r.cwnd,
                        ssthresh: r.ssthresh,
                        snd_wnd: r.snd_wnd_bytes,
                        srtt_us: r.srtt_us,
                        rcv_wnd: r.rcv_wnd_bytes,
                        sock_cookie: r.flow_id,
                    });
                    return Ok(Some((self.now_ns, Item::Event(sample))));
                }
                Some(AnyRow::Event(row)) => {
                    if let Some(event) = self.other(&row.event) {
                        return Ok(Some((self.now_ns, Item::Event(event))));
                    }
                    continue;
                }
                None if self.open.is_empty() => return Ok(None),
                None => {}
            }
            if let Some(payload) = self.datagram() {
                return Ok(Some((self.now_ns, Item::Datagram(payload))));
            }
        }
    }

    fn fraction(&self) -> Option<f64> {
        Some(self.rows.rows_read() as f64 / self.rows_there.max(1) as f64)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}

/// Builds the report of a row, in the node's own units, so that its configuration fits again.
fn report<'a>(row: &PostcardRow, node: &NodeConfig, inner: Inner<'a>, first: bool) -> Report<'a> {
    let depth = |bytes: u64| bytes / u64::from(node.depth_unit_bytes().max(1));
    let ticks = |ns: u64| {
        let ticks = ns / node.time_unit.ns();
        match node.time_bits {
            64.. => ticks,
            bits => ticks & ((1 << bits) - 1),
        }
    };
    Report {
        version: 2,
        node_id: row.node_id,
        hw_id: row.hw_id & 0x3f,
        sequence: row.sequence & 0x3f_ffff,
        sequence_bits: 22,
        dropped: row.dropped,
        congested: row.ce_marked,
        tracked: true,
        ingress_port: Some(row.ingress_port),
        egress_port: Some(row.port),
        queue_id: Some(row.queue),
        queue_occupancy: Some(depth(row.occupancy_bytes).min(0xff_fffe) as u32),
        ingress_ts: Some(ticks(row.ingress_ns)),
        egress_ts: (!row.dropped).then(|| ticks(row.egress_ns)),
        drop_reason: row.dropped.then_some(row.drop_reason),
        limit: Some(match row.limit_bytes {
            0 => u32::MAX,
            bytes => u32::try_from(depth(bytes)).unwrap_or(u32::MAX),
        }),
        sampling_shift: Some(row.sampling_shift),
        policy_flags: Some(policy_flags(row)),
        inner,
        first_in_datagram: first,
        ..Report::default()
    }
}

fn policy_flags(row: &PostcardRow) -> u8 {
    let marked = u8::from(row.ce_marked) * Report::POLICY_CE_MARKED;
    marked | (u8::from(row.out_of_sample) * Report::POLICY_OUT_OF_SAMPLE)
}

/// Builds the packet headers that a row describes.
fn packet(row: &PostcardRow, flow: &FlowKey) -> Option<(Vec<u8>, InnerKind)> {
    let mut bytes = Vec::with_capacity(60);
    let (kind, ip_header) = match (flow.src, flow.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            bytes.extend([0x45, row.ecn & 3]);
            bytes.extend(u16::try_from(row.ip_bytes).ok()?.to_be_bytes());
            bytes.extend([0, 0, 0x40, 0, 64, flow.protocol, 0, 0]);
            bytes.extend(src.octets());
            bytes.extend(dst.octets());
            (InnerKind::Ipv4, 20)
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            bytes.extend([0x60, (row.ecn & 3) << 4, 0, 0]);
            let payload = u16::try_from(row.ip_bytes.checked_sub(40)?).ok()?;
            bytes.extend(payload.to_be_bytes());
            bytes.extend([flow.protocol, 64]);
            bytes.extend(src.octets());
            bytes.extend(dst.octets());
            (InnerKind::Ipv6, 40)
        }
        _ => return None,
    };
    match flow.protocol {
        TCP => {
            // Bytes in neither IP header nor payload were TCP header and options.
            let header = row.ip_bytes.checked_sub(ip_header + row.payload_bytes)?;
            let words = u8::try_from(header / 4)
                .ok()
                .filter(|w| (5..=15).contains(w))?;
            bytes.extend(flow.src_port.to_be_bytes());
            bytes.extend(flow.dst_port.to_be_bytes());
            bytes.extend(row.tcp_seq.to_be_bytes());
            bytes.extend(row.tcp_ack.to_be_bytes());
            bytes.extend([words << 4, row.tcp_flags, 0, 0, 0, 0, 0, 0]);
        }
        UDP => {
            bytes.extend(flow.src_port.to_be_bytes());
            bytes.extend(flow.dst_port.to_be_bytes());
            let length = u16::try_from(row.payload_bytes + 8).ok()?;
            bytes.extend(length.to_be_bytes());
            bytes.extend([0, 0]);
        }
        _ => {}
    }
    Some((bytes, kind))
}
