// SPDX-License-Identifier: Apache-2.0
//! The records of one link within one window, put in order.

use crate::config::EstimatorConfig;
use crate::gaps;
use crate::signals::Signal;
use crate::store::Store;
use crate::types::{LinkId, LinkInfo};
use std::collections::VecDeque;
use std::ops::Range;
use tidemark_proto::telemetry::{Drop, FlowEvent, FlowInfo, FlowInterval, LinkInterval};

/// What the kept records say of a flow as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Life {
    /// Packets that left, sampling undone.
    pub packets: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    /// FIN or RST was seen.
    pub closed: bool,
}

impl Life {
    fn of(history: &[&FlowInterval], sampling: f64) -> Self {
        let mut life = Self::default();
        for r in history.iter().filter(|r| r.packets + r.drops > 0) {
            if life.packets == 0 && life.first_ns == 0 {
                life.first_ns = r.start_ns;
            }
            life.packets += u64::from(r.packets);
            life.last_ns = r.start_ns + r.duration_ns;
            life.closed |= r.fin_or_rst;
        }
        life.packets = (life.packets as f64 * sampling) as u64;
        life
    }

    /// Time between its first and last packet, s.
    pub fn span_s(self) -> f64 {
        self.last_ns.saturating_sub(self.first_ns) as f64 / 1e9
    }
}

/// One flow: its records within the window and the history before it that its
/// class may rest on.
pub(crate) struct FlowWindow<'a> {
    pub id: u64,
    pub info: Option<&'a FlowInfo>,
    pub life: Life,
    /// From the start of the history to the end of the window.
    pub history: Vec<&'a FlowInterval>,
    /// Index into `history` of the first record within the window.
    pub window_at: usize,
    /// Times of its drops here, history included.
    pub drops_ns: Vec<u64>,
    /// Times of its drops and CE marks here, history included.
    pub signals_ns: Vec<u64>,
    pub events: Vec<&'a FlowEvent>,
    /// Packets that every reported one stands for (drops: one).
    pub sampling: f64,
}

#[cfg(test)]
impl<'a> FlowWindow<'a> {
    /// A flow of which nothing but these records is known.
    pub fn of_records(history: Vec<&'a FlowInterval>) -> Self {
        Self {
            id: 1,
            info: None,
            life: Life::of(&history, 1.0),
            history,
            window_at: 0,
            drops_ns: Vec::new(),
            signals_ns: Vec::new(),
            events: Vec::new(),
            sampling: 1.0,
        }
    }
}

impl<'a> FlowWindow<'a> {
    /// The records within the window.
    pub fn window(&self) -> &[&'a FlowInterval] {
        self.history.get(self.window_at..).unwrap_or_default()
    }

    pub fn is_tcp(&self) -> bool {
        self.info
            .and_then(|i| i.key.as_ref())
            .is_none_or(|k| k.protocol == 6)
    }

    /// Whether the sender's window was seen in the history.
    pub fn probed(&self) -> bool {
        self.history.iter().any(|r| r.probe.is_some())
    }

    /// Largest segment payload; 1448 when no data packet was described.
    pub fn mss_bytes(&self) -> u32 {
        self.info
            .map(|i| i.mss_bytes)
            .filter(|&m| m > 0)
            .unwrap_or(1448)
    }
}

/// A link's window.
pub(crate) struct LinkWindow<'a> {
    pub id: LinkId,
    pub info: LinkInfo,
    pub from_ns: u64,
    pub to_ns: u64,
    pub intervals: Vec<&'a LinkInterval>,
    pub flows: Vec<FlowWindow<'a>>,
    /// Drops within the window.
    pub drops: Vec<&'a Drop>,
    /// CE marks within the window, by flow record.
    pub marks: Vec<Signal>,
    /// Packets that every reported one stands for, mean over the intervals.
    pub sampling: f64,
    /// The capacity is not configured but measured while packets waited.
    pub capacity_measured: bool,
    /// Memory had no room for all flows that sent within it.
    pub flows_evicted: bool,
    /// Times within it of which no record came, ns.
    pub gaps: Vec<Range<u64>>,
}

/// Intervals with packets waiting throughout, needed to measure the capacity.
const BUSY_INTERVALS: usize = 20;

/// Rate at which the link drains while its queue is never empty, bits/s on the
/// wire: its capacity. `None` where that was seen too rarely.
fn drain_rate_bps(intervals: &[&LinkInterval]) -> Option<u64> {
    let never_empty = |r: &LinkInterval| {
        r.met_empty == 0 && r.arrivals > r.drops && r.packets > 0 && r.reports_lost == 0
    };
    let (mut bytes, mut ns, mut count) = (0.0, 0.0, 0);
    for w in intervals.windows(3) {
        // The neighbours show that packets waited at either end.
        if let [before, r, after] = w
            && never_empty(before)
            && never_empty(r)
            && never_empty(after)
        {
            bytes += r.wire_bytes as f64 * f64::from(1u32 << r.sampling_shift.min(31));
            ns += r.duration_ns as f64;
            count += 1;
        }
    }
    (count >= BUSY_INTERVALS).then(|| (bytes * 8e9 / ns).round() as u64)
}

/// What lies in `[from_ns, to_ns)` of records kept by time.
fn between<T>(
    kept: &VecDeque<T>,
    from_ns: u64,
    to_ns: u64,
    time_ns: impl Fn(&T) -> u64,
) -> impl ExactSizeIterator<Item = &T> {
    let start = kept.partition_point(|r| time_ns(r) < from_ns);
    let end = kept.partition_point(|r| time_ns(r) < to_ns);
    kept.range(start..end.max(start))
}

impl<'a> LinkWindow<'a> {
    pub fn gather(
        store: &'a Store,
        config: &EstimatorConfig,
        id: LinkId,
        info: Option<&LinkInfo>,
        from_ns: u64,
        to_ns: u64,
    ) -> Self {
        let configured = info.is_some();
        let info = info.cloned().unwrap_or_default();
        let mut window = Self {
            id,
            info,
            from_ns,
            to_ns,
            intervals: Vec::new(),
            flows: Vec::new(),
            drops: Vec::new(),
            marks: Vec::new(),
            sampling: 1.0,
            capacity_measured: false,
            flows_evicted: false,
            gaps: Vec::new(),
        };
        let Some(link) = store.links.get(&id) else {
            return window;
        };
        window.intervals = between(&link.intervals, from_ns, to_ns, |r| r.start_ns)
            .filter(|r| r.start_ns + r.duration_ns <= to_ns)
            .collect();
        // The window is what the intervals cover, so that rates are exact.
        if let (Some(first), Some(last)) = (window.intervals.first(), window.intervals.last()) {
            window.from_ns = first.start_ns;
            window.to_ns = last.start_ns + last.duration_ns;
        }
        if configured {
            window.gaps = gaps::gaps(&window.intervals);
        }
        let (from_ns, to_ns) = (window.from_ns, window.to_ns);
        window.flows_evicted = link.flows_evicted_ns >= from_ns && link.flows_evicted_ns > 0;
        window.drops = between(&link.drops, from_ns, to_ns, |d| d.time_ns).collect();
        let (mut stands_for, mut reported) = (0.0, 0.0);
        for r in &window.intervals {
            let packets = f64::from(r.packets);
            reported += packets;
            stands_for += packets * f64::from(1u32 << r.sampling_shift.min(31));
        }
        if reported > 0.0 {
            window.sampling = stands_for / reported;
        }
        if window.info.capacity_bps == 0
            && let Some(bps) = drain_rate_bps(&window.intervals)
        {
            window.info.capacity_bps = bps;
            window.capacity_measured = true;
        }
        let since = from_ns.saturating_sub((config.history_s.max(0.0) * 1e9) as u64);
        for (&flow_id, flow) in &link.flows {
            if flow.intervals.back().is_none_or(|r| r.start_ns < from_ns) {
                continue; // nothing of it in this window
            }
            let records = between(&flow.intervals, since, to_ns, |r| r.start_ns);
            let mut history: Vec<&FlowInterval> = Vec::with_capacity(records.len());
            history.extend(records.filter(|r| r.start_ns + r.duration_ns <= to_ns));
            let window_at = history.partition_point(|r| r.start_ns < from_ns);
            if window_at == history.len() {
                continue; // nothing of it in this window
            }
            let signals_ns: Vec<u64> = history
                .iter()
                .filter_map(|r| Signal::of_marks(r))
                .map(|s| s.time_ns)
                .collect();
            let within = history.get(window_at..).unwrap_or_default();
            window
                .marks
                .extend(within.iter().filter_map(|r| Signal::of_marks(r)));
            window.flows.push(FlowWindow {
                id: flow_id,
                info: store.info.get(&flow_id),
                life: Life::of(&history, window.sampling),
                history,
                window_at,
                drops_ns: Vec::new(),
                signals_ns,
                sampling: window.sampling,
                events: store.events.get(&flow_id).map_or_else(Vec::new, |e| {
                    e.iter()
                        .filter(|e| e.time_ns >= since && e.time_ns < to_ns)
                        .collect()
                }),
            });
        }
        window.flows.sort_unstable_by_key(|f| f.id);
        for drop in between(&link.drops, since, to_ns, |d| d.time_ns) {
            if let Ok(i) = window.flows.binary_search_by_key(&drop.flow_id, |f| f.id)
                && let Some(flow) = window.flows.get_mut(i)
            {
                flow.drops_ns.push(drop.time_ns);
            }
        }
        for flow in window.flows.iter_mut().filter(|f| !f.drops_ns.is_empty()) {
            flow.signals_ns.extend_from_slice(&flow.drops_ns);
            flow.signals_ns.sort_unstable();
        }
        window.marks.sort_unstable_by_key(|s| (s.time_ns, s.flow));
        window
    }

    /// Drops and CE marks within the window, in order.
    pub fn signals(&self) -> Vec<Signal> {
        let drops = self.drops.iter().map(|d| Signal::of_drop(d));
        let mut all: Vec<Signal> = drops.chain(self.marks.iter().copied()).collect();
        all.sort_by_key(|s| s.time_ns);
        all
    }

    /// Seconds from its start to its end.
    pub fn length_s(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// Seconds within it of which no record came.
    pub fn unrecorded_s(&self) -> f64 {
        gaps::length_ns(&self.gaps) as f64 / 1e9
    }

    /// Seconds of which there are records.
    pub fn recorded_s(&self) -> f64 {
        self.length_s() - self.unrecorded_s()
    }

    /// Length of an interval, ns; 1 ms when there is none.
    pub fn interval_ns(&self) -> u64 {
        self.intervals
            .first()
            .map_or(1_000_000, |r| r.duration_ns.max(1))
    }

    /// Capacity in bytes on the wire per second; `None` when not configured.
    pub fn capacity_bytes_per_s(&self) -> Option<f64> {
        (self.info.capacity_bps > 0).then(|| self.info.capacity_bps as f64 / 8.0)
    }
}
