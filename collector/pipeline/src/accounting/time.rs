// SPDX-License-Identifier: Apache-2.0
//! A node's clock: converts the timestamps of reports to ns that do not wrap.

use super::reception::Reception;
use super::rival::{RESTART_CONFIRMATIONS, Rival, SILENCE_NS};
use super::set_back::SetBack;
use crate::config::NodeConfig;
use int_report::Report;
use tidemark_rows::Absent;

/// Reports may be this much older than the newest one.
const MAX_BACKWARD_NS: u64 = 2_000_000_000;
/// Greatest time of any clock (146 years), so that sums of times fit in 64 bits.
pub(crate) const MAX_TIME_NS: u64 = 1 << 62;
/// After a silence a report may be this much older than the time declared over meanwhile; reports
/// that lag further for long are of a restarted clock. Code that knows only the declared time takes
/// this as the age of new reports.
const MAX_LATE_AFTER_SILENCE_NS: u64 = 500_000_000;
/// While a node is silent its time follows the collector's clock. The two drift apart by less than
/// one part in this.
const DRIFT_IN_SILENCE: u64 = 1_000;
/// This many suspects count as a restart if reception times do not advance (some files).
const RESTART_WITHOUT_RECEPTION: u32 = 10_000;

/// Times of a report in ns, unwrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub ingress_ns: u64,
    /// 0 when dropped.
    pub egress_ns: u64,
    /// The node's clock restarted with this report.
    pub restarted: bool,
    /// Which of the two times is unknown; the other one takes its place.
    pub absent: Absent,
}

/// Why a report has no usable time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeError {
    /// Too far from the node's other reports.
    Implausible,
}

/// Time of a node that was declared over while the node was silent. Only a collector that was
/// running meanwhile declares it: reports that waited for a stalled collector lag for as long as
/// reading them takes, and are of the old clock.
///
/// A backlog of earlier reports passes at once, or was received before the declaration. A clock
/// that restarted unheard, and is near the old axis again, keeps sending such reports.
///
/// A clock that lags behind the floor by less than [`SILENCE_NS`] passes the floor before the lag
/// counts as lasting, and is taken for the old clock. Including the margin of the declared time, it
/// lags by less than 2 s and a thousandth of the silence: the node's telemetry looks that much
/// older from then on, never newer, and reports in intervals that the silence closed count as out
/// of window. A clock that starts at 0 lags so little only if the previous clock ran no longer than
/// that.
#[derive(Clone, Debug, Default, PartialEq)]
struct Told {
    /// Reports before this time lag, ns.
    floor_ns: u64,
    /// When the time was declared over, by the collector's clock.
    rx_ns: u64,
}

impl Told {
    /// Whether a report lags: its time is over, and it arrived after the declaration.
    fn is_over(&self, time_ns: u64, rx_ns: u64) -> bool {
        time_ns < self.floor_ns && rx_ns >= self.rx_ns
    }
}

/// The unwrapped time axis of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeTime {
    /// Mask of the timestamp clock's bits.
    mask: u64,
    tick_ns: u64,
    last_ticks: Option<u64>,
    /// Latest time seen, ns.
    pub max_ns: u64,
    /// Reports in a row that agree on another time: an implausible one, or one that was declared
    /// over.
    suspects: u32,
    suspect_ns: u64,
    /// Reception time of the first of these reports.
    suspects_since_ns: u64,
    max_forward_ns: u64,
    /// Limits how early a report may arrive.
    reception: Reception,
    told: Told,
    /// A second clock that reports as this node.
    pub(super) rival: Rival,
    set_back: SetBack,
    /// Reception time of the last report on the time axis.
    last_rx_ns: u64,
    /// Whether the current report is the first of an exporter's run, which nobody else can claim.
    begins_run: bool,
    /// Reports whose egress timestamp is before their ingress timestamp.
    pub negative_delays: u64,
}

impl NodeTime {
    pub(crate) fn new(config: &NodeConfig, max_clock_step_ms: u32) -> Self {
        Self {
            mask: if config.time_bits >= 64 {
                u64::MAX
            } else {
                (1u64 << config.time_bits) - 1
            },
            tick_ns: config.time_unit.ns(),
            max_forward_ns: u64::from(max_clock_step_ms) * 1_000_000,
            ..Self::default()
        }
    }

    /// Declares the node's time up to `told_ns` over: by the collector's clock, the node has been
    /// silent for `silent_ns` until `rx_ns`.
    pub(crate) fn tell_over(&mut self, told_ns: u64, silent_ns: u64, rx_ns: u64) {
        // For a clock that does not run in real time this means nothing. A clock heard too briefly
        // to know is treated as if it does.
        if !self.reception.is_of_other_pace() {
            let allowed_ns = MAX_LATE_AFTER_SILENCE_NS.saturating_add(silent_ns / DRIFT_IN_SILENCE);
            let floor_ns = told_ns.saturating_sub(allowed_ns);
            self.told = Told { floor_ns, rx_ns };
        }
    }

    /// Whether any report has been on the time axis.
    pub(super) fn is_known(&self) -> bool {
        self.last_ticks.is_some()
    }

    /// Returns the times of a run's first report: a time behind the old axis, or far from it,
    /// begins a new axis at once.
    #[cold]
    pub(super) fn of_new_run(&mut self, r: &Report<'_>, rx_ns: u64) -> Result<Times, TimeError> {
        self.begins_run = true;
        let times = self.times_slow(r, rx_ns);
        self.begins_run = false;
        times
    }

    /// Returns the times of a report, received at `rx_ns` of the collector's clock, on the node's
    /// unwrapped time axis.
    ///
    /// The fast path takes a packet that left after all others, on a 64-bit clock of ns: there is
    /// nothing to convert. Its plain form is [`NodeTime::times_slow`]; a property test below checks
    /// that both agree. Justified by the benchmark row "decode, flow, join, intervals".
    #[inline]
    pub(crate) fn times(&mut self, report: &Report<'_>, rx_ns: u64) -> Result<Times, TimeError> {
        if let (Some(ingress_ns), Some(egress_ns)) = (report.ingress_ts, report.egress_ts)
            && self.mask == u64::MAX
            && self.tick_ns == 1
            && !report.dropped
            && self.last_ticks.is_some()
            && (self.max_ns..=MAX_TIME_NS).contains(&egress_ns)
            && egress_ns - self.max_ns <= self.max_forward_ns
            && ingress_ns <= egress_ns
            && egress_ns > 0
            && egress_ns >= self.told.floor_ns
            && !self.set_back.is_looking()
            && self.reception.is_known(egress_ns, rx_ns)
        {
            self.suspects = 0;
            self.last_rx_ns = rx_ns;
            self.last_ticks = Some(egress_ns);
            self.max_ns = egress_ns;
            return Ok(Times {
                ingress_ns,
                egress_ns,
                restarted: false,
                absent: Absent::NOTHING,
            });
        }
        self.times_slow(report, rx_ns)
    }

    fn times_slow(&mut self, report: &Report<'_>, rx_ns: u64) -> Result<Times, TimeError> {
        let latest = if report.dropped {
            report.ingress_ts.or(report.egress_ts)
        } else {
            report.egress_ts.or(report.ingress_ts)
        };
        let latency_ns = report
            .hop_latency
            .map(|ticks| u64::from(ticks).saturating_mul(self.tick_ns));
        let Some(raw) = latest else {
            return Ok(self.by_reception(report.dropped, latency_ns, rx_ns));
        };
        let (time_ns, restarted) = self.follow(raw, rx_ns)?;
        if report.dropped {
            return Ok(Times {
                ingress_ns: time_ns,
                egress_ns: 0,
                restarted,
                absent: Absent::NOTHING,
            });
        }
        // Hop latency stands in for either time.
        let delay_ns = match (report.ingress_ts, report.egress_ts) {
            (Some(ingress), Some(egress)) => Some(self.delay_ns(ingress, egress)),
            _ => latency_ns,
        };
        let is_arrival = report.egress_ts.is_none();
        let (ingress_ns, egress_ns) = match delay_ns {
            Some(delay_ns) if is_arrival => (time_ns, time_ns.saturating_add(delay_ns)),
            _ => (time_ns.saturating_sub(delay_ns.unwrap_or(0)), time_ns),
        };
        let unknown = delay_ns.is_none();
        Ok(Times {
            ingress_ns,
            egress_ns,
            restarted,
            absent: Absent::NOTHING
                .with(Absent::EGRESS_TIME, unknown && is_arrival)
                .with(Absent::INGRESS_TIME, unknown && !is_arrival),
        })
    }

    /// Returns times for a report without any: the packet left when the report was received, by the
    /// node's clock if that is known.
    fn by_reception(&self, dropped: bool, latency_ns: Option<u64>, rx_ns: u64) -> Times {
        let time_ns = self.reception.node_ns(rx_ns);
        let ingress_ns = time_ns.saturating_sub(latency_ns.unwrap_or(0));
        let unknown = latency_ns.is_none() && !dropped;
        Times {
            ingress_ns,
            egress_ns: if dropped { 0 } else { time_ns },
            restarted: false,
            absent: Absent::NOTHING.with(Absent::INGRESS_TIME, unknown),
        }
    }

    /// Moves the time axis to a timestamp. Returns its time in ns, and whether
    /// the clock restarted.
    fn follow(&mut self, raw: u64, rx_ns: u64) -> Result<(u64, bool), TimeError> {
        let mut ticks = self.unwrap(raw, rx_ns);
        let mut time_ns = ticks.saturating_mul(self.tick_ns);
        if time_ns > MAX_TIME_NS {
            return Err(TimeError::Implausible);
        }
        let (mut restarted, mut lags) = (false, false);
        if self.last_ticks.is_some() {
            let back = self.max_ns.saturating_sub(time_ns);
            // Beyond the time that has passed since the last report.
            let silent_ns = rx_ns.saturating_sub(self.last_rx_ns);
            let forward = time_ns.saturating_sub(self.max_ns.saturating_add(silent_ns));
            let early = self.reception.is_early(time_ns, rx_ns, self.max_ns);
            let far = match self.reception.is_settled() {
                true => early,
                false => forward > self.max_forward_ns,
            };
            let is_other = self.begins_run && (back > 0 || far);
            let off_axis = back > MAX_BACKWARD_NS || far || is_other;
            lags = !off_axis && self.told.is_over(time_ns, rx_ns);
            if off_axis || lags {
                self.suspect(time_ns, rx_ns);
            }
            if off_axis && !is_other && !self.is_other_axis(rx_ns) {
                self.rival.observe(time_ns, rx_ns, self.last_rx_ns);
                return Err(TimeError::Implausible);
            }
            // For a clock of another pace, the expected time of a report is unknown.
            let ahead_ns = self.reception.ahead_ns();
            let set_back = self.reception.is_settled()
                && self.set_back.observe(time_ns, rx_ns, self.max_ns, ahead_ns);
            if off_axis || set_back || lags && self.is_lagging_on(rx_ns) {
                // A step back of the reception clock makes the same node clock look early: that is
                // no restart.
                let back_ns = if is_other { 0 } else { MAX_BACKWARD_NS };
                restarted = set_back || lags || back > back_ns || forward > self.max_forward_ns;
                lags = false;
                self.reception = Reception::default();
                self.told = Told::default();
                self.set_back = SetBack::default();
                if restarted {
                    self.max_ns = 0;
                    ticks = raw & self.mask;
                    time_ns = ticks.saturating_mul(self.tick_ns);
                }
            }
        }
        if !lags {
            self.suspects = 0;
        }
        self.last_rx_ns = rx_ns;
        self.reception.observe(time_ns, rx_ns, self.max_ns);
        if self.last_ticks.is_none_or(|last| ticks > last) || restarted {
            self.last_ticks = Some(ticks);
        }
        self.max_ns = self.max_ns.max(time_ns);
        Ok((time_ns, restarted))
    }

    /// Counts a report off the time axis, or behind it.
    fn suspect(&mut self, time_ns: u64, rx_ns: u64) {
        let agrees = self.suspects > 0 && time_ns.abs_diff(self.suspect_ns) < MAX_BACKWARD_NS;
        if agrees {
            self.suspects = self.suspects.saturating_add(1);
        } else {
            self.suspects = 1;
            self.suspects_since_ns = rx_ns;
        }
        self.suspect_ns = time_ns;
    }

    /// Whether enough reports off the axis agree, and the axis has been silent.
    fn is_other_axis(&self, rx_ns: u64) -> bool {
        // Also by the suspects' own reception: the reception clock may have been set back.
        let since_ns = self.last_rx_ns.min(self.suspects_since_ns);
        let silent = rx_ns.saturating_sub(since_ns) >= SILENCE_NS;
        let enough = if silent {
            RESTART_CONFIRMATIONS
        } else {
            RESTART_WITHOUT_RECEPTION
        };
        self.suspects >= enough
    }

    /// Whether enough reports lag, for longer than a backlog takes.
    fn is_lagging_on(&self, rx_ns: u64) -> bool {
        let lasts_ns = rx_ns.saturating_sub(self.suspects_since_ns);
        self.suspects >= RESTART_CONFIRMATIONS && lasts_ns >= SILENCE_NS
    }

    /// Unwraps a timestamp: the value nearest to the last one plus the reception time since, in
    /// which the clock may have wrapped.
    #[inline]
    fn unwrap(&self, raw: u64, rx_ns: u64) -> u64 {
        let raw = raw & self.mask;
        // 64 bits do not wrap in the life of a switch.
        let Some(last) = self.last_ticks.filter(|_| self.mask != u64::MAX) else {
            return raw;
        };
        let silent_ns = match self.reception.is_of_other_pace() {
            true => 0,
            false => rx_ns.saturating_sub(self.last_rx_ns),
        };
        let near = last.saturating_add(silent_ns / self.tick_ns);
        let forward = raw.wrapping_sub(near) & self.mask;
        if forward <= self.mask / 2 {
            near.saturating_add(forward)
        } else {
            near.saturating_sub((self.mask - forward).saturating_add(1))
        }
    }

    fn delay_ns(&mut self, ingress: u64, egress: u64) -> u64 {
        let ticks = egress.wrapping_sub(ingress) & self.mask;
        if ticks > self.mask / 2 {
            self.negative_delays += 1;
            return 0;
        }
        ticks.saturating_mul(self.tick_ns)
    }
}

#[cfg(test)]
#[path = "time_tests.rs"]
mod tests;
