// SPDX-License-Identifier: Apache-2.0
//! Targets on the command line.

use super::{one_of, units};
use clap::Args;
use daemon_kit::cli::Usage;
use tidemark_rules::{Goal, Targets};

#[derive(Clone, Copy, Debug)]
struct Bound(Option<f64>);

fn bound(text: &str) -> Result<Bound, String> {
    match text {
        "none" => Ok(Bound(None)),
        text => Ok(Bound(Some(units::fraction(text)?))),
    }
}

/// The operator's targets.
#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// Minimum utilisation, e.g. 98% (the default, unless the run has its own target); "none" for
    /// no bound.
    #[arg(long, value_parser = bound)]
    utilisation: Option<Bound>,
    /// Maximum loss rate, e.g. 1% (the default, unless the run has its own); "none" for no bound.
    #[arg(long, value_parser = bound)]
    loss: Option<Bound>,
    /// Maximum queueing delay, e.g. 30ms.
    #[arg(long, value_parser = units::time)]
    delay: Option<f64>,
    /// Targets to keep if not all can be met, most important first.
    #[arg(
        long,
        value_parser = one_of::<Goal>(&["utilisation", "loss", "delay"]),
        value_delimiter = ','
    )]
    priority: Option<Vec<Goal>>,
    /// Probability with which each target must be met at the advised limit; by default 90% if
    /// something was measured, else 50%.
    #[arg(long, value_parser = units::fraction)]
    confidence: Option<f64>,
    /// Aim this fraction inside the bounds, e.g. 10%.
    #[arg(long, value_parser = units::fraction)]
    margin: Option<f64>,
}

impl TargetArgs {
    pub(super) fn targets(&self) -> Result<Targets, Usage> {
        self.targets_over(Targets::default())
    }

    /// Returns the targets of the flags; the others are those of the run.
    pub(super) fn targets_over(&self, of_run: Targets) -> Result<Targets, Usage> {
        let asked = !matches!(self.utilisation, Some(Bound(Some(u))) if u <= 0.0);
        Usage::unless(asked, "--utilisation: must be above 0, or \"none\"")?;
        let targets = Targets {
            utilisation: self
                .utilisation
                .map_or(of_run.utilisation, |u| u.0.unwrap_or(0.0)),
            loss_rate: self.loss.map_or(of_run.loss_rate, |p| p.0),
            delay_ms: self.delay.map(|s| s * 1e3).or(of_run.delay_ms),
            priority: self.priority.clone().unwrap_or(of_run.priority),
            confidence: self.confidence.unwrap_or(of_run.confidence),
            margin: self.margin.unwrap_or(of_run.margin),
        };
        targets.check("targets.").map_err(Usage::new)?;
        Ok(targets)
    }
}
