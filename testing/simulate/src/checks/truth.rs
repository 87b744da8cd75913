// SPDX-License-Identifier: Apache-2.0
//! Compares rows and estimates with the true events at the switch.

use super::Checks;
use crate::fault::Kind;
use crate::parts::truth::{Fate, Packet, Truth};
use crate::plan::Plan;
use crate::tcp::MSS;
use tidemark_estimators::LinkEstimate;
use tidemark_pipeline::{Join, PostcardRow};

/// IP bytes of a segment.
const IP_BYTES: u32 = MSS + 40;
/// Time from the queue to the end of the wire, without transmission, ns.
const WIRE_NS: u64 = 1_000_000;
/// N_b must be within this factor of the true number of flows.
const N_B_FACTOR: f64 = 2.0;
/// Least fraction of joined packets that must have their sender's right window.
const JOINED_RIGHT: f64 = 0.9;
/// Least number of joined packets for that check.
const LEAST_JOINED: u64 = 500;

impl Checks {
    /// Checks the row of a packet.
    pub(crate) fn row(&mut self, row: &PostcardRow, truth: &Truth, plan: &Plan) {
        if plan.is_sampled() {
            let times = if row.dropped {
                1
            } else {
                1 << row.sampling_shift
            };
            self.stands_for.insert(row.ingress_ns, times);
        }
        if self.forged || self.restarts {
            return;
        }
        let Some(p) = truth.packet(row.ingress_ns) else {
            return self.fail(
                "rows tell the truth",
                format!("no packet came then: {row:?}"),
            );
        };
        let wire_ns = WIRE_NS + u64::from(MSS + 78) * 8_000_000_000 / plan.rate_bps;
        let fate = match p.fate {
            Fate::Left(at_ns) => {
                !row.dropped
                    && (row.ingress_ns..=at_ns).contains(&row.egress_ns)
                    // The port may have been slower.
                    && at_ns - row.egress_ns <= 3 * wire_ns
            }
            Fate::Dropped => row.dropped,
            Fate::Waits => true,
        };
        let same = row.tcp_seq == p.tcp_seq
            && row.ip_bytes == IP_BYTES
            && row.payload_bytes == MSS
            && row.occupancy_bytes == p.occupancy_bytes
            && row.limit_bytes == p.limit_bytes
            && row.sampling_shift == plan.shifts[p.flow % 2];
        self.require(fate && same, "rows tell the truth", || {
            format!("{row:?}, and in truth {p:?}")
        });
        let flow = *self.flows.entry(row.flow_id).or_insert(p.flow);
        self.require(flow == p.flow, "rows tell the truth", || {
            format!("a packet of flow {} is taken for one of {flow}", p.flow)
        });
        self.joined(row, *p);
    }

    fn joined(&mut self, row: &PostcardRow, p: Packet) {
        self.tally.probed += 1;
        if matches!(row.join, Join::Sequence | Join::Time) {
            self.tally.joined += 1;
            self.tally.joined_right += u64::from(row.cwnd.abs_diff(p.cwnd) <= 1);
        }
    }

    /// At the end of a run: checks that joined packets have their sender's right window.
    pub(crate) fn joins(&mut self) {
        let t = self.tally;
        let right = t.joined_right as f64 >= JOINED_RIGHT * t.joined as f64;
        self.require(
            t.joined < LEAST_JOINED || right,
            "joined with its own sample",
            || {
                format!(
                    "of {} packets {} were joined, {} of them rightly",
                    t.probed, t.joined, t.joined_right
                )
            },
        );
    }

    /// Checks an estimate over a time without faults.
    pub(crate) fn estimate(&mut self, e: &LinkEstimate, truth: &Truth, step_ns: i64, plan: &Plan) {
        if self.forged {
            return;
        }
        let at = |told_ns: u64| told_ns.saturating_add_signed(-step_ns);
        let (mut arrivals, drops) = truth.count(at(e.from_ns), at(e.to_ns));
        // Rows from before a restart may still arrive, with times after it.
        let restarts = plan.has(|k| matches!(k, Kind::SwitchRestart));
        if plan.is_sampled() && restarts {
            arrivals = e.arrivals;
        } else if plan.is_sampled() {
            let reported = self.stands_for.range(e.from_ns..e.to_ns);
            arrivals = reported.map(|(_, times)| times).sum();
        }
        self.require(
            (e.arrivals, e.drops) == (arrivals, Some(drops)),
            "the estimate counts every packet",
            || {
                format!(
                    "{} arrivals and {} drops from {} to {} ns; in truth {arrivals} and {drops}",
                    e.arrivals,
                    e.drops.unwrap_or(0),
                    e.from_ns,
                    e.to_ns
                )
            },
        );
        let n_b = e.estimates.n_b.value;
        let share = n_b / plan.flows as f64;
        self.tally.n_b_low += u64::from(share < 1.0 / N_B_FACTOR);
        self.tally.n_b_high += u64::from(share > N_B_FACTOR);
        self.tally.estimates += 1;
    }
}
