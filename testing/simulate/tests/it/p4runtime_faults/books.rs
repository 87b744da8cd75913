// SPDX-License-Identifier: Apache-2.0
//! Possible limits in force, by the requests and their answers.

use std::collections::BTreeSet;

/// The possible limits in force at the port.
#[derive(Default)]
pub(crate) struct Books {
    /// Start of the switch that they refer to.
    start: u64,
    /// The last limit answered with success; `None` before the first.
    certain: Option<u64>,
    /// Limits requested but not answered with success: they may have been written, or still be, if
    /// their connection stalled.
    open: BTreeSet<u64>,
    /// The limit in the program's entries, if provisioning wrote it.
    planned: u64,
    /// Whether bytes were changed in transit: any limit may be in force.
    pub(crate) flipped: bool,
    digest: u64,
}

impl Books {
    pub(crate) fn new(planned: u64) -> Self {
        Self {
            planned,
            digest: 0xcbf2_9ce4_8422_2325,
            ..Self::default()
        }
    }

    /// Digest of all events.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    pub(crate) fn note(&mut self, text: &str) {
        for b in text.bytes() {
            self.digest = (self.digest ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Records that somebody requests a limit.
    pub(crate) fn asked(&mut self, bytes: u64) {
        self.open.insert(bytes);
    }

    /// Records a limit that was answered with success.
    pub(crate) fn written(&mut self, bytes: u64) {
        self.certain = Some(bytes);
    }

    /// Records the limit while no call is in progress and no connection is stalled.
    pub(crate) fn settled(&mut self, found: Option<u64>) {
        self.open.clear();
        self.certain = found;
    }

    /// # Errors
    /// A limit is in force that nobody can have written.
    pub(crate) fn hold(&mut self, start: u64, found: Option<u64>) -> Result<(), String> {
        if start != self.start {
            // The connections broke, and the tables are gone.
            self.start = start;
            self.certain = None;
        }
        let expected = match found {
            None => self.certain.is_none(),
            Some(bytes) => {
                self.certain == Some(bytes)
                    || self.open.contains(&bytes)
                    || self.certain.is_none() && bytes == self.planned
            }
        };
        if expected || self.flipped {
            return Ok(());
        }
        Err(format!(
            "{found:?} is in force; {:?} was written, {:?} asked for",
            self.certain, self.open
        ))
    }
}
