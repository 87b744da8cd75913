// SPDX-License-Identifier: Apache-2.0
//! Turns the rows of a capture into reports and samples again.

use crate::account::FrameAccount;
use anyhow::Result;
use int_report::encode::encode;
use int_report::{FlowKey, Inner, InnerKind, Report};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::net::IpAddr;
use std::path::Path;
use tcp_probe::{CongStateEvent, Event, RetransmitEvent, Sample};
use tidemark_capture::{AnyRow, CaptureError, CaptureMeta, Merged};
use tidemark_pipeline::{Absent, Config, NodeConfig, PostcardRow};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A datagram or an event to send.
pub(super) enum Item {
    Datagram(Vec<u8>),
    Event(Event),
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ReplayReport {
    pub datagrams: u64,
    pub bytes: u64,
    pub events: u64,
    /// Rows that no report can express.
    pub skipped: u64,
    /// Rows of stacks that packets carried (INT-MD): as reports of their nodes they would say that
    /// nothing was lost.
    pub skipped_from_stacks: u64,
    /// Frames of the pcap and their contents; all datagrams are sent as they are.
    pub frames: Option<FrameAccount>,
    pub recorded_s: f64,
    pub took_s: f64,
}

/// A recording to send.
pub(super) trait Recorded {
    /// Returns the next item to send, and when it was recorded, in ns.
    fn next(&mut self) -> Result<Option<(u64, Item)>>;

    /// Returns the fraction read so far, 0 to 1; `None` if the total is unknown.
    fn fraction(&self) -> Option<f64>;

    /// Completes the report, at the end, with the frames of the source or the rows not sent.
    fn end(&mut self, report: &mut ReplayReport);
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
    skipped_from_stacks: u64,
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
            skipped_from_stacks: 0,
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
        let packets: Vec<_> = rows
            .iter()
            .filter_map(|row| Some((row, packet(row, &self.flows)?)))
            .collect();
        self.skipped += (rows.len() - packets.len()) as u64;
        let reports: Vec<Report<'_>> = (packets.iter().enumerate())
            .map(|(i, (row, (bytes, kind)))| report(row, &node, Inner::new(bytes, *kind), i == 0))
            .collect();
        encode(&reports)
            .inspect_err(|_| self.skipped += reports.len() as u64)
            .ok()
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
                Some(AnyRow::Postcard(row)) if row.from_stack => {
                    self.skipped_from_stacks += 1;
                    continue;
                }
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

    fn end(&mut self, report: &mut ReplayReport) {
        report.skipped = self.skipped;
        report.skipped_from_stacks = self.skipped_from_stacks;
    }
}

/// Builds the report of a row, in the node's own units, so that its configuration fits again. A
/// value that the row does not have stays absent.
fn report<'a>(row: &PostcardRow, node: &NodeConfig, inner: Inner<'a>, first: bool) -> Report<'a> {
    let depth = |bytes: u64| bytes / u64::from(node.depth_unit_bytes().max(1));
    let ticks = |ns: u64| {
        let ticks = ns / node.time_unit.ns();
        match node.time_bits {
            64.. => ticks,
            bits => ticks & ((1 << bits) - 1),
        }
    };
    let known = |value| !row.absent.has(value);
    // A report has the occupancy with its queue, or neither.
    let occupancy = known(Absent::QUEUE) && known(Absent::OCCUPANCY);
    let drop_reason = row.dropped && known(Absent::QUEUE);
    Report {
        version: 2,
        node_id: row.node_id,
        hw_id: row.hw_id & 0x3f,
        sequence: row.sequence & 0x3f_ffff,
        sequence_bits: 22,
        dropped: row.dropped,
        congested: row.ce_marked,
        tracked: true,
        ingress_port: known(Absent::INGRESS_PORT).then_some(row.ingress_port),
        egress_port: known(Absent::EGRESS_PORT).then_some(row.port),
        queue_id: (occupancy || drop_reason).then_some(row.queue),
        queue_occupancy: occupancy.then(|| depth(row.occupancy_bytes).min(0xff_fffe) as u32),
        ingress_ts: known(Absent::INGRESS_TIME).then(|| ticks(row.ingress_ns)),
        egress_ts: (!row.dropped && known(Absent::EGRESS_TIME)).then(|| ticks(row.egress_ns)),
        drop_reason: drop_reason.then_some(row.drop_reason),
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

/// Builds the packet headers that a row describes; none if its report had none.
fn packet(row: &PostcardRow, flows: &FxHashMap<u64, FlowKey>) -> Option<(Vec<u8>, InnerKind)> {
    if row.absent.has(Absent::PACKET) {
        return Some((Vec::new(), InnerKind::None));
    }
    let flow = flows.get(&row.flow_id)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use int_report::decode;

    /// Every combination of values that a report may lack.
    fn all_absent() -> impl Iterator<Item = Absent> {
        const VALUES: [Absent; 6] = [
            Absent::INGRESS_PORT,
            Absent::EGRESS_PORT,
            Absent::QUEUE,
            Absent::OCCUPANCY,
            Absent::INGRESS_TIME,
            Absent::EGRESS_TIME,
        ];
        (0..1u8 << VALUES.len()).map(|set| {
            let bits = VALUES.iter().enumerate();
            bits.fold(Absent::NOTHING, |all, (bit, &value)| {
                all.with(value, set >> bit & 1 == 1)
            })
        })
    }

    #[test]
    fn a_value_that_a_row_lacks_is_absent_from_its_report() {
        for (absent, dropped) in all_absent().flat_map(|a| [(a, false), (a, true)]) {
            let row = PostcardRow {
                node_id: 7,
                ingress_port: 3,
                port: 4,
                queue: 2,
                occupancy_bytes: 9_000,
                ingress_ns: 100,
                egress_ns: if dropped { 0 } else { 200 },
                drop_reason: 71,
                dropped,
                absent,
                ..PostcardRow::default()
            };
            let inner = Inner::new(&[], InnerKind::None);
            let bytes = encode(&[report(&row, &NodeConfig::default(), inner, true)]).unwrap();
            let mut found = Vec::new();
            decode(&bytes, |r| {
                found.push(Report {
                    inner: Inner::default(),
                    ..*r
                })
            })
            .unwrap();
            let case = format!("{absent:?}, dropped: {dropped}");
            let [r] = found[..] else {
                panic!("{case}: {} reports", found.len());
            };
            assert_eq!(
                r.ingress_port,
                absent.unless(Absent::INGRESS_PORT, 3),
                "{case}"
            );
            assert_eq!(
                r.egress_port,
                absent.unless(Absent::EGRESS_PORT, 4),
                "{case}"
            );
            let both = Absent::NOTHING
                .with(Absent::QUEUE, true)
                .with(Absent::OCCUPANCY, true);
            assert_eq!(r.queue_occupancy, absent.unless(both, 9_000), "{case}");
            assert_eq!(
                r.ingress_ts,
                absent.unless(Absent::INGRESS_TIME, 100),
                "{case}"
            );
            let left = (!dropped).then_some(200);
            let egress_ts = left.and_then(|at| absent.unless(Absent::EGRESS_TIME, at));
            assert_eq!(r.egress_ts, egress_ts, "{case}");
            assert_eq!(r.dropped, dropped, "{case}");
            let reason = dropped.then_some(71).filter(|_| !absent.has(Absent::QUEUE));
            assert_eq!(r.drop_reason, reason, "{case}");
        }
    }
}
