// SPDX-License-Identifier: Apache-2.0
//! Checks that every report is joined, or counted by a named counter.

use super::Checks;
use crate::collector::{Collector, MAX_FLOWS};
use crate::parts::reports::Reports;
use tidemark_pipeline::Stats;

/// Largest number of packets that wait for their sample, given the longest wait.
const MAX_WAITING: usize = 20_000;

/// Returns the number of reports that were refused, by the counters.
fn refused(s: &Stats) -> u64 {
    s.nodes_refused
        + s.reports_refused_exporter
        + s.reports_duplicate
        + s.reports_implausible_time
        + s.drop_summaries
        + s.drops_not_of_queue
}

impl Checks {
    /// Checks a running collector.
    pub(crate) fn collector(&mut self, c: &Collector, reports: &Reports) {
        let s = c.pipeline.stats();
        let (waiting, samples) = c.pipeline.waiting();
        let seen = c.seen();
        let explained = s.postcard_rows + waiting as u64 + refused(&s);
        self.require(s.reports == explained, "nothing unexplained", || {
            format!(
                "{} reports came, {explained} are explained: {} rows, {waiting} waiting, {} refused ({s:?})",
                s.reports,
                s.postcard_rows,
                refused(&s)
            )
        });
        self.require(
            seen.datagrams == reports.given,
            "nothing unexplained",
            || format!("{} datagrams given, {} seen", reports.given, seen.datagrams),
        );
        // Our program puts one report into each datagram.
        self.require(
            s.reports + seen.malformed >= seen.datagrams,
            "nothing unexplained",
            || {
                format!(
                    "{} datagrams, {} reports, {} malformed",
                    seen.datagrams, s.reports, seen.malformed
                )
            },
        );
        // A sender that forges the switch's address can cause this.
        let doubled = seen.doubled.is_some() && !self.forged;
        self.require(!doubled, "no row doubled", || format!("{:?}", seen.doubled));
        self.require(!seen.out_of_order, "rows in one order", || {
            "`order` has a gap or goes back".into()
        });
        self.require(
            seen.postcards == s.postcard_rows,
            "nothing unexplained",
            || format!("{} rows counted, {} given", s.postcard_rows, seen.postcards),
        );
        let flows = c.pipeline.flows_active();
        self.require(
            flows <= MAX_FLOWS && waiting <= MAX_WAITING && samples <= MAX_WAITING,
            "memory bounded",
            || format!("{flows} flows, {waiting} packets and {samples} samples wait"),
        );
    }

    /// Whatever datagrams come from the switch's address: while the switch reports without a break,
    /// its own times are believed, and its clock does not restart.
    fn honest_believed(&mut self, s: &Stats, clock_restarts: u64, reports: &Reports) {
        if self.restarts || self.breaks {
            return;
        }
        let (refused, forged) = (s.reports_implausible_time, reports.forged);
        self.require(
            refused <= forged && clock_restarts == 0,
            "honest times are believed",
            || {
                format!(
                    "{refused} times are refused, {forged} datagrams are not the switch's; {clock_restarts} restarts of its clock"
                )
            },
        );
    }

    /// Checks a collector that has ended; `properly` if it could finish.
    pub(crate) fn collector_ended(&mut self, c: &Collector, reports: &Reports, properly: bool) {
        self.collector(c, reports);
        let s = c.pipeline.stats();
        let seen = c.seen();
        self.tally.reports += s.reports;
        self.tally.lost += s.reports_lost;
        self.tally.refused += refused(&s);
        // The next start numbers the flows from the start.
        self.flows.clear();
        if !properly {
            return;
        }
        let (counted, rows) = (seen.arrivals + s.links_refused, seen.stand_for);
        // A changed bit can make a report stand for two thousand million packets.
        let many = self.forged && rows.max(counted) > 1 << 31;
        self.require(many || counted == rows, "intervals hold every row", || {
            format!("rows of {rows} packets, {counted} in interval records")
        });
        self.require(
            many || seen.drops == seen.postcards_dropped
                && seen.packets == rows - seen.postcards_dropped,
            "intervals hold every row",
            || {
                format!(
                    "{} packets and {} drops in interval records, {} rows of which {} are drops",
                    seen.packets, seen.drops, s.postcard_rows, seen.postcards_dropped
                )
            },
        );
        self.honest_believed(&s, seen.clock_restarts, reports);
        if self.forged || self.restarts {
            return;
        }
        self.tally.exact += 1;
        let missing: u64 = reports
            .numbers
            .values()
            .map(|n| {
                let first = n.first.unwrap_or(0);
                u64::from(n.highest + 1 - first) - n.delivered.len() as u64
            })
            .sum();
        // The number of a refused report proves nothing: the report is missing as well.
        let most = missing + s.reports_implausible_time;
        self.require(
            (missing..=most).contains(&s.reports_lost),
            "losses are counted",
            || {
                format!(
                    "{missing} reports are missing, {} are counted: {s:?}",
                    s.reports_lost
                )
            },
        );
        let distinct: u64 = reports
            .numbers
            .values()
            .map(|n| n.delivered.len() as u64)
            .sum();
        self.require(
            s.postcard_rows >= distinct,
            "no honest report refused",
            || {
                format!(
                    "{distinct} reports came, {} became rows: {s:?}",
                    s.postcard_rows
                )
            },
        );
        self.require(
            // Late reports are only subtracted from their own interval.
            s.reports_late > 0 || seen.lost_before == seen.lost as i64,
            "losses are told once",
            || {
                format!(
                    "{} lost by the rows, {} by the interval records",
                    seen.lost_before, seen.lost
                )
            },
        );
    }
}
