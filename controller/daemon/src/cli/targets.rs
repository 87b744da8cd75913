// SPDX-License-Identifier: Apache-2.0
//! Targets on the command line.

use super::{one_of, units};
use crate::config::check_targets;
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

/// What the operator wants.
#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// Smallest utilisation, e.g. 98%; "none" where none is asked for.
    #[arg(long, default_value = "98%", value_parser = bound)]
    utilisation: Bound,
    /// Largest loss rate, e.g. 1%; "none" for no bound.
    #[arg(long, default_value = "1%", value_parser = bound)]
    loss: Bound,
    /// Largest queueing delay, e.g. 30ms.
    #[arg(long, value_parser = units::time)]
    delay: Option<f64>,
    /// Which to keep where not all can be, most important first.
    #[arg(
        long,
        value_parser = one_of::<Goal>(&["utilisation", "loss", "delay"]),
        value_delimiter = ',',
        default_value = "utilisation,loss,delay"
    )]
    priority: Vec<Goal>,
}

impl TargetArgs {
    pub(super) fn targets(&self) -> Result<Targets, Usage> {
        let Bound(utilisation) = self.utilisation;
        let asked = utilisation.is_none_or(|u| u > 0.0);
        Usage::unless(asked, "--utilisation: must be above 0, or \"none\"")?;
        let targets = Targets {
            utilisation: utilisation.unwrap_or(0.0),
            loss_rate: self.loss.0,
            delay_ms: self.delay.map(|s| s * 1e3),
            priority: self.priority.clone(),
        };
        check_targets("targets", &targets).map_err(|e| Usage::of(&e))?;
        Ok(targets)
    }
}
