// SPDX-License-Identifier: Apache-2.0
//! What the reports of a node with a key have to show: that key, and that they
//! are no recording.

use super::refusals::RefusalReason;
use super::time::Times;
use int_report::keys::ReportKeys;
use int_report::tag::Tagged;

/// Beyond this no path reorders; within it, numbers tell a report sent again.
/// Twice as many numbers pass in it only at 4 M reports/s.
const MAX_AGE_NS: u64 = 1_000_000_000;
/// Parts of a node that number their reports: 6 bits.
const PARTS: usize = 64;

/// Keys of a node, and the newest time of each part of it.
#[derive(Debug)]
pub(super) struct TagCheck {
    keys: ReportKeys,
    newest_ns: Box<[u64; PARTS]>,
}

impl TagCheck {
    pub(super) fn new(keys: ReportKeys) -> Self {
        Self {
            keys,
            newest_ns: Box::new([0; PARTS]),
        }
    }

    #[inline(never)]
    pub(super) fn verify(&self, tagged: Option<&Tagged<'_>>) -> Result<(), RefusalReason> {
        match tagged {
            None => Err(RefusalReason::NoTag),
            Some(tagged) if self.keys.verify(tagged) => Ok(()),
            Some(_) => Err(RefusalReason::WrongTag),
        }
    }

    #[inline(never)]
    pub(super) fn is_replayed(&mut self, hw_id: u8, times: &Times) -> bool {
        if times.restarted {
            self.newest_ns.fill(0);
        }
        let time_ns = times.egress_ns.max(times.ingress_ns);
        let Some(newest_ns) = self.newest_ns.get_mut(usize::from(hw_id) % PARTS) else {
            return true;
        };
        *newest_ns = time_ns.max(*newest_ns);
        newest_ns.saturating_sub(time_ns) > MAX_AGE_NS
    }
}
