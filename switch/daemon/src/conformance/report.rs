// SPDX-License-Identifier: Apache-2.0
//! The result: counts of each kind, and each difference.

use anyhow::Result;
use daemon_kit::cli::print;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tally {
    Program,
    Frame,
    MustLoad,
    Stf,
}

const KINDS: [(Tally, &str, &str); 4] = [
    (Tally::Program, "recorded programs", "load"),
    (Tally::Frame, "frames", "leave as BMv2 sent them"),
    (Tally::MustLoad, "programs BMv2 accepts", "load"),
    (Tally::Stf, "packet tests", "pass"),
];

#[derive(Default)]
pub(super) struct Report {
    counts: Vec<(usize, usize)>,
    /// Writes of the recordings; the number BMv2 refused is not recorded.
    writes: usize,
    refused: usize,
    /// Frames that depend on `random()` or the time.
    varying: usize,
    /// Frames that a recording has in a later step, or misses because it ended too early.
    late: usize,
    differences: Vec<String>,
}

impl Report {
    /// Adds a result of a kind.
    pub(super) fn add(&mut self, kind: Tally, what: &str, result: Result<()>) {
        self.counts.resize(KINDS.len(), (0, 0));
        let Some((good, all)) = self.counts.get_mut(kind as usize) else {
            return;
        };
        *all += 1;
        match result {
            Ok(()) => *good += 1,
            Err(e) => {
                let (_, kind, _) = KINDS[kind as usize];
                self.differences.push(format!("{kind}: {what}: {e:#}"));
            }
        }
    }

    /// Adds a frame that depends on `random()` or the time, compared without such bytes.
    pub(super) fn varies(&mut self, what: &str, result: Result<()>) {
        self.varying += usize::from(result.is_ok());
        self.add(Tally::Frame, what, result);
    }

    /// Adds a frame that BMv2 sent after the recording had gone on.
    pub(super) fn late(&mut self, what: &str) {
        self.late += 1;
        self.add(Tally::Frame, what, Ok(()));
    }

    pub(super) fn writes(&mut self, accepted: &[bool]) {
        self.writes += accepted.len();
        self.refused += accepted.iter().filter(|a| !**a).count();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub(super) fn differences(&self) -> usize {
        self.differences.len()
    }

    pub(super) fn print(&self) -> Result<()> {
        for d in &self.differences {
            print(format_args!("difference: {d}"))?;
        }
        for ((_, what, how), (good, all)) in KINDS.iter().zip(&self.counts) {
            if *all > 0 {
                print(format_args!("{what}: {good} of {all} {how}"))?;
            }
        }
        if self.writes > 0 {
            print(format_args!(
                "{} writes, {} refused (recordings do not say which BMv2 refused)",
                self.writes, self.refused
            ))?;
        }
        if self.late > 0 {
            print(format_args!(
                "{} of these frames were sent late by BMv2: with a later frame, or after the end of the recording",
                self.late
            ))?;
        }
        if self.varying > 0 {
            print(format_args!(
                "{} of these frames depend on random() or the time: compared without the bytes that do",
                self.varying
            ))?;
        }
        Ok(())
    }
}
