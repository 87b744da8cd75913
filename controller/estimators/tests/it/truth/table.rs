// SPDX-License-Identifier: Apache-2.0
//! Judges a run in every view against the truth.

use super::coverage::{Coverage, Truths, holds};
use super::{Datagrams, Judged, LINK, Run, View, judge, seen};
use test_support::golden::Run as Recorded;
use tidemark_estimators::{Estimate, LinkEstimate};

/// A view of a run, with its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    pub name: &'static str,
    pub view: View,
}

/// Time left out in views that begin late, s.
const LATE_S: f64 = 12.0;

const LATE: View = View {
    from_s: LATE_S,
    ..View::PROBED
};
const LOSSY: View = View {
    lose_one_in: 100,
    ..View::PROBED
};

const fn passive(view: View) -> View {
    View {
        probed: false,
        ..view
    }
}

const fn mode(name: &'static str, view: View) -> Mode {
    Mode { name, view }
}

pub(crate) const MODES: [Mode; 6] = [
    mode("probed", View::PROBED),
    mode("passive", View::PASSIVE),
    mode("late probed", LATE),
    mode("late passive", passive(LATE)),
    mode("lossy probed", LOSSY),
    mode("lossy passive", passive(LOSSY)),
];

/// The views for flows of any transport.
pub(crate) const TRANSPORTS: [Mode; 6] = [
    mode("probed", View::PROBED),
    mode("passive", View::PASSIVE),
    mode("late passive", passive(LATE)),
    mode(
        "half QUIC",
        View {
            datagrams: Datagrams::Half,
            ..View::PROBED
        },
    ),
    mode(
        "all QUIC",
        View {
            datagrams: Datagrams::All,
            ..View::PASSIVE
        },
    ),
    mode(
        "1 in 8",
        View {
            sampling_shift: 3,
            ..View::PROBED
        },
    ),
];

/// Whether the capture itself begins when the flows are already running.
pub(crate) fn begins_late(recorded: &Recorded) -> bool {
    let first = recorded.reports.first();
    first.is_some_and(|r| r.captured_ns as f64 >= 0.9 * LATE_S * 1e9)
}

/// Requirements on the estimates.
struct Asked {
    probed: bool,
    late: bool,
}

impl Asked {
    /// Largest error of N_b.
    fn n_b_slack(&self, n_b: f64) -> f64 {
        if self.probed && !self.late {
            f64::max(1.0, 0.1 * n_b)
        } else {
            f64::max(2.0, 0.2 * n_b)
        }
    }

    fn t_e_holds(&self, t_e: Estimate, truth: f64) -> bool {
        let error = (t_e.value / truth - 1.0).abs();
        if self.late && !self.probed {
            error <= 0.3 || holds(t_e, truth)
        } else {
            error <= 0.1
        }
    }
}

/// Largest error of the utilisation, and relative error of the loss rate.
const UTILISATION_ERROR: f64 = 0.003;
const LOSS_ERROR: f64 = 0.1;
/// Least fraction of classes that is correct.
const CLASSES: f64 = 0.9;

/// One run in one view.
pub(crate) struct Row {
    pub run: String,
    pub mode: &'static str,
    pub judged: Judged,
    pub estimate: LinkEstimate,
    pub utilisation: f64,
    /// Requirements that are not met.
    pub failures: Vec<String>,
}

pub(crate) const HEADING: &str = "\
| run | seen | N_b | classes right | T_e ms | utilisation | drops | not as asked |
|---|---|---|---|---|---|---|---|";

impl Row {
    fn of(recorded: &Recorded, mode: &Mode, run: &Run, complete: &Run) -> Self {
        let e = run.estimate();
        let judged = judge(run, &e);
        let (utilisation, drops) = what_left(complete, &e);
        let asked = Asked {
            probed: mode.view.probed,
            late: mode.view.from_s > 0.0 || begins_late(recorded),
        };
        let mut failures = Vec::new();
        let mut ask = |right: bool, what: &str| {
            if !right {
                failures.push(what.to_owned());
            }
        };
        let x = &e.estimates;
        let error = (x.n_b.value - judged.n_b).abs();
        ask(error <= asked.n_b_slack(judged.n_b), "N_b");
        ask(
            judged.long_right as f64 >= CLASSES * judged.long as f64,
            "classes",
        );
        if judged.n_b >= 0.5 {
            let t_e = x.t_e_ms.filter(|&t| asked.t_e_holds(t, judged.t_e_ms));
            ask(t_e.is_some(), "T_e");
        }
        let mean = e.utilisation.mean.unwrap_or(f64::NAN);
        ask(
            (mean - utilisation).abs() <= UTILISATION_ERROR,
            "utilisation",
        );
        let few = (drops as f64).sqrt().max(1.0);
        let error = (e.drops.unwrap_or(0) as f64 - drops as f64).abs();
        ask(error <= LOSS_ERROR * drops as f64 + few, "drops");
        Self {
            run: recorded.name.clone(),
            mode: mode.name,
            utilisation,
            estimate: e,
            judged,
            failures,
        }
    }

    pub(crate) fn markdown(&self) -> String {
        let x = &self.estimate.estimates;
        let range = |e: Estimate, digits: usize| {
            format!(
                "{:.digits$} ({:.digits$}-{:.digits$})",
                e.value, e.low, e.high
            )
        };
        let t_e = match x.t_e_ms {
            _ if self.judged.n_b < 0.5 => "-".to_owned(),
            None => format!("{:.1} / none", self.judged.t_e_ms),
            Some(t) => format!("{:.1} / {}", self.judged.t_e_ms, range(t, 1)),
        };
        format!(
            "| {} | {} | {:.1} / {} | {}/{} | {t_e} | {:.4} / {:.4} | {} | {} |",
            self.run,
            self.mode,
            self.judged.n_b,
            range(x.n_b, 1),
            self.judged.long_right,
            self.judged.long,
            self.utilisation,
            self.estimate.utilisation.mean.unwrap_or(f64::NAN),
            self.estimate.drops.unwrap_or(0),
            self.failures.join(", "),
        )
    }
}

/// Utilisation and drops over the window of an estimate, from all packets.
fn what_left(complete: &Run, e: &LinkEstimate) -> (f64, u64) {
    let inside = |t: u64| (e.from_ns..e.to_ns).contains(&t);
    let on_link = || complete.rows.iter().filter(|p| p.port == LINK.port);
    let bytes: u64 = on_link()
        .filter(|p| !p.dropped && inside(p.egress_ns))
        .map(|p| u64::from(p.ip_bytes))
        .sum();
    let drops = on_link().filter(|p| p.dropped && inside(p.ingress_ns));
    let c = complete.truth["C_bps"].as_f64().unwrap() / 8.0;
    // Reports lost by the capture itself count as packets like the rest.
    let capture = &complete.truth["capture"];
    let count = |key: &str| capture[key].as_f64().unwrap();
    let all = count("reports_sent") / (count("reports_sent") - count("reports_lost"));
    let seconds = (e.to_ns - e.from_ns) as f64 / 1e9;
    (bytes as f64 * all / (c * seconds), drops.count() as u64)
}

/// The rows of a run for each of the modes; `coverage` counts how often the ranges contain the
/// truth.
pub(crate) fn rows(recorded: &Recorded, modes: &[Mode], coverage: &mut Coverage) -> Vec<Row> {
    let complete = seen(recorded, View::PROBED);
    let truths = Truths::of(&complete);
    modes
        .iter()
        .map(|mode| {
            let run = seen(recorded, mode.view);
            coverage.add(&recorded.name, &run, mode.name, &truths);
            Row::of(recorded, mode, &run, &complete)
        })
        .collect()
}
