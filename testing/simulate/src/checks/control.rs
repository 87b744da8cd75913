// SPDX-License-Identifier: Apache-2.0
//! Checks that limits are written within their range, tried one at a time, rolled back when worse,
//! and always recorded.

use super::Checks;
use crate::controller::{Controller, LINK};
use tidemark_control::{Change, Limit, Origin, Outcome, Settings};
use tidemark_controller::core::State;
use tidemark_rules::{Observed, Targets};

/// Clearly worse: beyond both the bound and the previous value by this factor, more than the noise
/// that a verdict allows.
const CLEARLY: f64 = 1.12;
/// A trial is observed until at least this long after it began: it settles for 1 s and is observed
/// for 3 s.
const OBSERVED_NS: u64 = 3_500_000_000;
const MS: u64 = 1_000_000;
/// Largest gap in the reports of an observed trial.
const MOST_UNHEARD_NS: u64 = 300 * MS;
/// An intent is among this many of the last records when its write arrives.
const LAST_RECORDS: usize = 8;
/// Largest number of links that a controller may know: there is one switch with few ports.
const MAX_LINKS: usize = 64;
/// Part of the reason in a record of the outcome of another controller's write.
const CUT_SHORT: &str = "ended during this write";
/// Memory for 30 s of records, series and windows: at most 7.1 MB in seeds 100000 to 100900.
const MAX_MEMORY_BYTES: usize = 8_000_000;

impl Checks {
    /// Somebody else wrote a limit; `news` if it differs from the previous one.
    pub(crate) fn others_wrote(&mut self, limit: Limit, news: bool, now_ns: u64) {
        self.control.ours = false;
        self.control.others_ns = now_ns;
        self.control.untold = news.then_some(limit);
        self.control.lost_ours = false;
        // The limit on trial is no longer in force: it need not be rolled back.
        self.control.owed = None;
        self.control.cut = None;
    }

    pub(crate) fn switch_restarted(&mut self) {
        self.control.ours = false;
        self.control.untold = None;
        self.control.lost_ours = self.control.has_set;
        self.control.owed = None;
        self.control.cut = None;
    }

    /// A write by the controller was carried out.
    pub(crate) fn written(&mut self) {
        self.control.ours = true;
        self.control.untold = None;
        self.control.lost_ours = false;
    }

    /// A write by the controller reached the switch.
    pub(crate) fn asked(&mut self, limit: Limit, now_ns: u64) {
        self.now_ns = now_ns;
        self.tally.writes += 1;
        let (low, high) = self.control.range;
        let within = limit.bytes().is_some_and(|b| (low..=high).contains(&b));
        self.require(within, "limit inside its range", || {
            format!("{limit} is written; the range is {low} to {high} bytes")
        });
    }

    /// The controller was killed: its limit is in force, but it got no answer.
    pub(crate) fn cut_short(&mut self, limit: Limit) {
        self.control.cut = Some(limit);
    }

    /// The loop starts a write. Advice must not be followed without recent reports.
    pub(crate) fn decided(&mut self, origin: Origin, limit: Limit, silent_ns: u64) {
        let silent_s = silent_ns as f64 / 1e9;
        let fresh = silent_s <= Settings::default().max_telemetry_age_s;
        self.require(
            origin != Origin::Auto || fresh,
            "no advice on old telemetry",
            || format!("{limit} is wanted {silent_s:.1} s after the last report came"),
        );
    }

    pub(crate) fn controller_started(&mut self, c: &Controller) {
        // A saved trial continues; an unsaved one is gone.
        let trial = c.core.link(LINK).and_then(|l| l.trial);
        self.control.open_trials = usize::from(trial.is_some());
        self.control.set_records = 0;
        self.control.initial_records = 0;
        self.control.failed_records = 0;
        self.control.cut_short = 0;
        self.control.has_set = false;
        self.control.owed = None;
        self.control.lost_ours = false;
        let ours = |s: &State| s.links.get(&LINK).and_then(|l| l.set_limit());
        if c.core.read(ours).is_none() {
            // The new controller cannot know earlier limits than the first it reads.
            self.control.untold = None;
        }
    }

    /// Checks that every finished write has its record.
    pub(crate) fn audited(&mut self, c: &Controller) {
        let (set, failed, initial) = {
            let channel = c.channel.lock();
            (channel.set, channel.failed, channel.initial_ended)
        };
        let recorded = self.control.initial_records;
        self.require(recorded >= initial, "every write in the log", || {
            format!("{initial} initial limits have an outcome; the log has {recorded}")
        });
        let (sets, fails) = (self.control.set_records, self.control.failed_records);
        self.require(
            sets == set && fails >= failed,
            "every write in the log",
            || {
                format!(
                    "{set} writes succeeded and {failed} failed; the log has {sets} and {fails}"
                )
            },
        );
    }

    pub(crate) fn controller(&mut self, c: &Controller) {
        self.audited(c);
        let trial = usize::from(c.core.link(LINK).is_some_and(|l| l.trial.is_some()));
        let open = self.control.open_trials;
        self.require(trial == open, "never two trials", || {
            format!("{open} trials without a verdict in the log, {trial} under way")
        });
        let owed = self.control.owed;
        let late = self.now_ns > self.control.owed_since_ns + self.control.paid_within_ns;
        self.require(owed.is_none() || !late, "a rollback when worse", || {
            format!("{owed:?} should have been written again by now")
        });
        let links = c.core.known_links().len();
        let (series, bytes) = c.core.read(|s| {
            let feeds = s.feeds.iter();
            let all = feeds.map(|f| (f.series.len(), f.memory_bytes()));
            all.fold((0, 0), |(n, b), (series, bytes)| (n + series, b + bytes))
        });
        self.tally.most_memory_bytes = self.tally.most_memory_bytes.max(bytes as u64);
        self.require(
            links <= MAX_LINKS && series <= MAX_LINKS && bytes <= MAX_MEMORY_BYTES,
            "memory bounded",
            || format!("{links} links, {series} series, {bytes} bytes of records"),
        );
    }

    /// Checks a record of the log. Returns whether a trial begins with it.
    pub(crate) fn recorded(&mut self, change: &Change, now_ns: u64) -> bool {
        let before = self.tally.trials;
        self.now_ns = now_ns;
        if change.origin == Origin::Provision {
            self.control.initial_records += u64::from(change.outcome.ends_write());
            return false;
        }
        // A write ends with the controller that began it. If one was in progress then, the next
        // controller reads its outcome.
        let cut_short = change.reason.contains(CUT_SHORT);
        if cut_short {
            self.control.cut_short += 1;
            let n = self.control.cut_short;
            self.require(n == 1, "every write in the log", || {
                format!("{n} writes of the controller before were under way: {change:?}")
            });
        }
        if cut_short && let Some(limit) = self.control.cut.take_if(|l| Some(*l) == change.limit) {
            let named = change.outcome != Outcome::Failed;
            self.require(named, "no limit in force is called failed", || {
                format!("{limit} was written before the controller ended: {change:?}")
            });
        }
        self.told(change, cut_short);
        let advised = matches!(change.origin, Origin::Auto | Origin::Confirmed);
        match change.outcome {
            Outcome::Set => {
                self.control.set_records += u64::from(!cut_short);
                self.control.has_set = true;
                self.settle_debt(change);
                if advised && change.measured_before.is_some() {
                    let open = self.control.open_trials;
                    self.require(open == 0, "never two trials", || {
                        format!("a limit is set by advice while another is on trial: {change:?}")
                    });
                    self.control.open_trials += 1;
                    self.control.trial_since_ns = now_ns;
                    self.tally.trials += 1;
                }
            }
            Outcome::Failed => {
                self.tally.failed += 1;
                self.control.failed_records += u64::from(!cut_short);
                self.settle_debt(change);
            }
            Outcome::Kept | Outcome::Worse | Outcome::Unclear => self.verdict(change),
            _ => {}
        }
        self.tally.trials > before
    }

    fn told(&mut self, change: &Change, cut_short: bool) {
        match change.origin {
            Origin::External => {
                let lost = std::mem::take(&mut self.control.lost_ours);
                self.require(!lost, "our limit is written again", || {
                    format!("the switch had lost it, and nobody else wrote: {change:?}")
                });
                self.control.untold = None;
            }
            // If one failed, it must come again.
            Origin::Restore if change.outcome == Outcome::Set => self.control.lost_ours = false,
            _ if cut_short => self.control.untold = None,
            _ => {}
        }
    }

    /// Long after the faults: no limit of somebody else may be in force unrecorded.
    pub(crate) fn nothing_untold(&mut self) {
        let untold = self.control.untold;
        self.require(untold.is_none(), "a limit of others is told", || {
            format!("{untold:?} stands, and the log does not know it")
        });
    }

    /// A write reached the switch; `log` is the audit log, oldest record first.
    pub(crate) fn intended(&mut self, limit: Limit, log: &str) {
        let intent = |c: &Change| c.outcome == Outcome::Intended && c.limit == Some(limit);
        let lines = log.lines().rev();
        let mut records = lines.filter_map(|l| serde_json::from_str::<Change>(l).ok());
        let mut last = records.by_ref().take(LAST_RECORDS);
        // The intent of an initial limit stays open until a switch has answered.
        let initial = |c: &Change| c.origin == Origin::Provision;
        let intended =
            last.any(|c| intent(&c)) || records.find(initial).is_some_and(|c| intent(&c));
        self.require(intended, "the intent before the write", || {
            format!("{limit} reaches the switch, and the log has no intent of it")
        });
    }

    /// After a worse trial, the first write must be the previous limit.
    fn settle_debt(&mut self, change: &Change) {
        let Some(owed) = self.control.owed.take() else {
            return;
        };
        let paid = change.origin != Origin::Auto
            && (change.origin != Origin::Rollback || change.limit == Some(owed));
        self.tally.rollbacks += u64::from(change.origin == Origin::Rollback);
        self.require(paid, "a rollback when worse", || {
            format!("{owed} should be written again, and there is {change:?}")
        });
    }

    fn verdict(&mut self, change: &Change) {
        let open = self.control.open_trials;
        self.require(open == 1, "never two trials", || {
            format!("a verdict while {open} trials are under way: {change:?}")
        });
        self.control.open_trials = open.saturating_sub(1);
        let on_trial_ns = self.control.trial_since_ns;
        let observed_ns = on_trial_ns..on_trial_ns + OBSERVED_NS;
        let others = !self.control.ours && observed_ns.contains(&self.control.others_ns);
        self.require(
            !others || change.outcome == Outcome::Unclear,
            "judged by its own limit",
            || format!("another limit was in force when it was measured: {change:?}"),
        );
        // A trial is observed from 1 s to 4 s after it began.
        let (from_ns, to_ns) = (on_trial_ns + 1_200 * MS, on_trial_ns + 3_800 * MS);
        let within_ns = |&(a, b): &(u64, u64)| b.min(to_ns).saturating_sub(a.max(from_ns));
        let unheard_ns = self.control.unheard_ns.iter().map(within_ns).max();
        self.require(
            unheard_ns < Some(MOST_UNHEARD_NS) || change.outcome == Outcome::Unclear,
            "judged by all of its reports",
            || format!("{unheard_ns:?} ns of it were not heard: {change:?}"),
        );
        let clearly = match (&change.measured_before, &change.measured_after) {
            (Some(before), Some(after)) => clearly_worse(&self.control.targets, before, after),
            _ => false,
        };
        match change.outcome {
            Outcome::Kept => {
                self.tally.kept += 1;
                self.require(!clearly, "a rollback when worse", || {
                    format!("kept although it is clearly worse: {change:?}")
                });
            }
            Outcome::Worse => {
                self.tally.worse += 1;
                self.worse_ns = Some(self.now_ns);
                let (since_ns, now_ns) = (self.control.trial_since_ns, self.now_ns);
                let spans = &self.control.disturbed_ns;
                self.approaches |= spans.iter().any(|&(a, b)| a <= now_ns && b >= since_ns);
                // A limit of somebody else stays.
                let back = change.before.filter(|_| self.control.ours);
                let back = back.map(|l| nearest(&l, self.control.range));
                self.control.owed_since_ns = self.now_ns;
                self.control.owed = back.filter(|l| change.limit != Some(*l));
            }
            _ => self.tally.unclear += 1,
        }
    }
}

/// Returns the nearest limit that may be written: somebody else's may be outside the range.
fn nearest(limit: &Limit, (low, high): (u64, u64)) -> Limit {
    match limit.bytes() {
        Some(bytes) => limit.with_bytes(bytes.clamp(low, high), None),
        None => *limit,
    }
}

/// Whether the delay, which is checked first, is clearly worse than both its bound and before.
fn clearly_worse(t: &Targets, before: &Observed, after: &Observed) -> bool {
    t.delay_ms.is_some_and(|bound| {
        after.delay_p99_ms > CLEARLY * bound && after.delay_p99_ms > CLEARLY * before.delay_p99_ms
    })
}
