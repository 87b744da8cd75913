// SPDX-License-Identifier: Apache-2.0
//! Targets on the command line.

use super::units;
use crate::config::check_targets;
use clap::{Args, ValueEnum};
use tidemark_rules::{Goal, Targets};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum GoalArg {
    Utilisation,
    Loss,
    Delay,
}

/// What the operator wants.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Smallest utilisation, e.g. 98%.
    #[arg(long, default_value = "98%", value_parser = units::fraction)]
    utilisation: f64,
    /// Largest loss rate, e.g. 1%; "none" for no bound.
    #[arg(long, default_value = "1%")]
    loss: String,
    /// Largest queueing delay, e.g. 30ms.
    #[arg(long, value_parser = units::time)]
    delay: Option<f64>,
    /// Which to keep where not all can be, most important first.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "utilisation,loss,delay"
    )]
    priority: Vec<GoalArg>,
}

impl TargetArgs {
    /// The targets.
    ///
    /// # Errors
    /// A value that makes no sense.
    pub fn targets(&self) -> anyhow::Result<Targets> {
        let loss_rate = match self.loss.as_str() {
            "none" => None,
            text => Some(units::fraction(text).map_err(|e| anyhow::anyhow!("--loss: {e}"))?),
        };
        let goal = |g: &GoalArg| match g {
            GoalArg::Utilisation => Goal::Utilisation,
            GoalArg::Loss => Goal::Loss,
            GoalArg::Delay => Goal::Delay,
        };
        let targets = Targets {
            utilisation: self.utilisation,
            loss_rate,
            delay_ms: self.delay.map(|s| s * 1e3),
            priority: self.priority.iter().map(goal).collect(),
        };
        check_targets("targets", &targets)?;
        Ok(targets)
    }
}
