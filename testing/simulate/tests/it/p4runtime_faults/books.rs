// SPDX-License-Identifier: Apache-2.0
//! Limits that may be in force, by the requests and their answers.

use std::collections::BTreeSet;

/// The limits that may be in force at the port.
#[derive(Default)]
pub(crate) struct Books {
    /// Start of the switch that they are about.
    start: u64,
    /// The last that was answered with success; none before the first.
    certain: Option<u64>,
    /// Asked for, and not answered with success: it may have been carried out, and
    /// may still be where its connection stood still.
    open: BTreeSet<u64>,
    /// The limit of the program's entries, where provisioning wrote it.
    planned: u64,
    /// Bytes were changed on their way: any limit may be in force.
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

    /// Somebody begins to ask for a limit.
    pub(crate) fn asked(&mut self, bytes: u64) {
        self.open.insert(bytes);
    }

    /// A limit was answered with success.
    pub(crate) fn written(&mut self, bytes: u64) {
        self.certain = Some(bytes);
    }

    /// No call is under way, and no connection holds one back.
    pub(crate) fn settled(&mut self, found: Option<u64>) {
        self.open.clear();
        self.certain = found;
    }

    /// # Errors
    /// A limit is in force that nobody can have written.
    pub(crate) fn hold(&mut self, start: u64, found: Option<u64>) -> Result<(), String> {
        if start != self.start {
            // Its connections broke, and its tables are gone.
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
