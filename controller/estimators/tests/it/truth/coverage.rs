// SPDX-License-Identifier: Apache-2.0
//! How often the ranges contain the truth.

use super::reference::{Basis, Reference, by_definition, mean};
use super::{LINK, Run, active, flow_of, true_n_b_and_t_e};
use crate::training::TRAINING;
use std::collections::BTreeSet;
use std::fmt::Write;
use tidemark_estimators::{Estimate, FlowEstimate};

pub(crate) fn holds(e: Estimate, truth: f64) -> bool {
    e.low <= truth && truth <= e.high
}

/// A range and the true value.
pub(crate) struct Case {
    pub quantity: &'static str,
    pub run: String,
    pub mode: &'static str,
    /// Start of the window, s of the run.
    pub from_s: f64,
    pub range: Estimate,
    pub truth: f64,
}

impl Case {
    fn held(&self) -> bool {
        holds(self.range, self.truth)
    }

    /// Whether the run is one to which numbers of the estimators were fitted.
    pub(crate) fn in_training(&self) -> bool {
        TRAINING.contains(&self.run.as_str())
    }

    pub(crate) fn csv(&self) -> String {
        let e = self.range;
        format!(
            "{},{},{},{:.1},{},{},{},{},{}",
            self.quantity,
            self.run,
            self.mode,
            self.from_s,
            self.truth,
            e.value,
            e.low,
            e.high,
            u8::from(self.held())
        )
    }
}

/// Ranges of each quantity with the true value, window by window.
#[derive(Default)]
pub(crate) struct Coverage(Vec<Case>);

pub(crate) const CASES_HEADING: &str = "quantity,run,mode,from_s,truth,value,low,high,held";

/// Length of the windows whose ranges are checked, s.
const WINDOW_S: f64 = 10.0;

impl Coverage {
    pub(crate) fn cases(&self) -> &[Case] {
        &self.0
    }

    /// Adds consecutive windows after the warm-up, each with the long-run truth: that of the
    /// stretch of the run around it with the same long flows, so that a window's random deviation
    /// must be in its range. For a window with a step there is no long run: its own truth is used.
    pub(super) fn add(&mut self, name: &str, run: &Run, mode: &'static str, truths: &Truths<'_>) {
        let (_, end) = run.estimator.span(LINK).unwrap();
        let length = (WINDOW_S * 1e9) as u64;
        let mut from = run.from_ns;
        while from + length <= end {
            let e = run.estimator.estimate(LINK, from, from + length);
            let from_s = (from - run.zero_ns) as f64 / 1e9;
            let truth = truths.about(from, from + length);
            let (n_b, t_e_ms) = true_n_b_and_t_e(run, from, from + length);
            from += length;
            let mut count = |quantity, range: Option<Estimate>, truth: f64| {
                let range = range.filter(|_| truth.is_finite());
                self.0.extend(range.map(|range| Case {
                    quantity,
                    run: name.to_owned(),
                    mode,
                    from_s,
                    range,
                    truth,
                }));
            };
            let x = &e.estimates;
            count("N_b", Some(x.n_b), n_b);
            let Some(t) = truth.as_ref() else { continue };
            count("T_e", x.t_e_ms, t_e_ms);
            let of = |v: Option<f64>| v.unwrap_or(f64::NAN);
            let burst = of(mean(&t.loss_bursts));
            count("C_e/C", Some(x.c_e_share), t.c_e_share);
            count("load", Some(x.rho), t.rho);
            count("load of others", Some(x.rho_other), t.rho_other);
            count("L", x.mean_loss_burst, burst);
            count("alpha", Some(x.alpha), of(t.alpha));
            count("q", x.q, of(t.q));
            let delta = t.delta_low.max(t.delta_high).max(1.0);
            count("Delta", x.delta, delta);
            count("D", x.d_mean, of(mean(&t.d)));
            count("s", x.s, of(t.s_mean));
            let fraction = of(t.condition_fraction);
            count("condition", x.condition_fraction, fraction);
        }
    }

    /// Ranges of a quantity that contain the truth, and all, over the cases that `of` selects.
    pub(crate) fn share(&self, quantity: &str, of: impl Fn(&Case) -> bool) -> (u32, u32) {
        let cases = self.0.iter();
        let cases = cases.filter(|c| c.quantity == quantity && of(c));
        cases.fold((0, 0), |(held, all), c| {
            (held + u32::from(c.held()), all + 1)
        })
    }

    /// Median of the ranges' widths, relative to their values.
    fn median_width(&self, quantity: &str) -> f64 {
        let cases = self.0.iter().filter(|c| c.quantity == quantity);
        let positive = cases.filter(|c| c.range.value > 0.0);
        let mut widths: Vec<f64> = positive
            .map(|c| (c.range.high - c.range.low) / c.range.value)
            .collect();
        widths.sort_by(f64::total_cmp);
        widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn quantities(&self) -> Vec<&'static str> {
        let names: BTreeSet<_> = self.0.iter().map(|c| c.quantity).collect();
        names.into_iter().collect()
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text =
            "| quantity | all | probed | passive | training runs | test runs | relative width |\n\
            |---|---|---|---|---|---|---|\n"
                .to_owned();
        for quantity in self.quantities() {
            let cell = |of: fn(&Case) -> bool| {
                let (held, all) = self.share(quantity, of);
                let part = 100.0 * f64::from(held) / f64::from(all.max(1));
                format!("{held}/{all} ({part:.0} %)")
            };
            writeln!(
                text,
                "| {quantity} | {} | {} | {} | {} | {} | {:.2} |",
                cell(|_| true),
                cell(|c| c.mode.ends_with("probed")),
                cell(|c| c.mode.ends_with("passive")),
                cell(Case::in_training),
                cell(|c| !c.in_training()),
                self.median_width(quantity),
            )
            .unwrap();
        }
        text
    }
}

/// Steps of long flows closer than this count as one, s.
const ONE_STEP_S: f64 = 2.0;

/// The truth by the definitions, for all parts of a run.
pub(crate) struct Truths<'a> {
    complete: &'a Run,
    flows: Vec<FlowEstimate>,
    /// Start and end of the stretches with the same long flows, with the truth over each.
    stretches: Vec<(u64, u64, Option<Reference>)>,
}

impl<'a> Truths<'a> {
    pub(crate) fn of(complete: &'a Run) -> Self {
        let e = complete.estimate();
        let mut all = Self {
            complete,
            flows: e.flows,
            stretches: Vec::new(),
        };
        let mut from = e.from_ns;
        for (first, last) in steps_ns(complete, e.from_ns, e.to_ns) {
            all.stretches.push((from, first, all.over(from, first)));
            from = last;
        }
        let rest = all.over(from, e.to_ns);
        all.stretches.push((from, e.to_ns, rest));
        all
    }

    /// The long-run truth for a window.
    fn about(&self, from_ns: u64, to_ns: u64) -> Option<Reference> {
        let around = |s: &&(u64, u64, _)| s.0 <= from_ns && to_ns <= s.1;
        match self.stretches.iter().find(around) {
            Some(stretch) => stretch.2.clone(),
            None => self.over(from_ns, to_ns),
        }
    }

    /// The truth over a part; `None` if no flow is bottlenecked.
    fn over(&self, from_ns: u64, to_ns: u64) -> Option<Reference> {
        let complete = self.complete;
        let (n_b, t_e_ms) = true_n_b_and_t_e(complete, from_ns, to_ns);
        let at = |ns: u64| ns.saturating_sub(complete.zero_ns) as f64 / 1e9;
        let bottlenecked = |f: &&FlowEstimate| {
            flow_of(&complete.truth, f).is_some_and(|t| active(t, at(from_ns), at(to_ns)) > 0.0)
        };
        (n_b >= 0.5).then(|| {
            let lbp = self.flows.iter().filter(bottlenecked).map(|f| f.flow);
            by_definition(
                complete,
                &Basis {
                    from_ns,
                    to_ns,
                    lbp: lbp.collect(),
                    n_b,
                    t_e_ns: (t_e_ms * 1e6) as u64,
                },
            )
        })
    }
}

/// Times of the first and last start or end of long flows in each step within a part of the run.
fn steps_ns(run: &Run, from_ns: u64, to_ns: u64) -> Vec<(u64, u64)> {
    let flows = run.truth["flows"].as_array().unwrap();
    let long = flows.iter().filter(|f| f["kind"] == "lbp");
    let mut times: Vec<u64> = long
        .flat_map(|f| [f["start_s"].as_f64(), f["stop_s"].as_f64()])
        .flatten()
        .map(|s| run.zero_ns + (s * 1e9) as u64)
        .filter(|t| (from_ns + 1..to_ns).contains(t))
        .collect();
    times.sort_unstable();
    let mut steps: Vec<(u64, u64)> = Vec::new();
    for t in times {
        match steps.last_mut() {
            Some(step) if t - step.1 < (ONE_STEP_S * 1e9) as u64 => step.1 = t,
            _ => steps.push((t, t)),
        }
    }
    steps
}
