// SPDX-License-Identifier: Apache-2.0
//! One run from its plan.

use crate::checks::{Tally, Violation};
use crate::plan::Plan;
use crate::world::World;
use anyhow::{Context as _, Result};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The invariant that did not hold; `None` when all did.
    pub violation: Option<Violation>,
    /// Of everything that happened.
    pub digest: u64,
    /// Counts of checked events.
    pub tally: Tally,
}

/// Directory for reading a run's captures at its end: in memory if possible.
fn scratch() -> Result<tempfile::TempDir> {
    let memory = std::path::Path::new("/dev/shm");
    let made = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    made.context("a directory for a run")
}

/// Runs a plan.
///
/// # Errors
/// A part that cannot start: of the simulation, no finding.
pub fn run(plan: &Plan) -> Result<Outcome> {
    let dir = scratch()?;
    let mut world = World::new(plan.clone(), dir.path().to_path_buf())?;
    world.run()?;
    Ok(Outcome {
        violation: world.checks.violation.clone(),
        digest: world.digest.value(),
        tally: world.checks.tally,
    })
}
