// SPDX-License-Identifier: Apache-2.0
//! Runs a plan.

use crate::checks::{Tally, Violation};
use crate::plan::Plan;
use crate::world::World;
use anyhow::{Context as _, Result};

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The violated invariant; `None` if all held.
    pub violation: Option<Violation>,
    /// Digest of everything that happened.
    pub digest: u64,
    /// Counts of the events checked.
    pub tally: Tally,
}

/// Makes a directory for reading a run's captures at its end: in memory if possible.
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
/// A part of the simulation cannot start: this is not a finding.
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
