// SPDX-License-Identifier: Apache-2.0
//! Finds frames that BMv2 sent late. A recording waits for BMv2's frames, but not for ever: on a
//! busy machine they may leave after the next frames have come, or after the recording's end.

use std::collections::BTreeSet;

use super::recording::{Sent, Step};

/// Most silent steps at the end of a recording that may have ended too early.
const LAST: usize = 3;

/// Steps that differ only in the time at which frames left.
pub(super) struct Late(BTreeSet<usize>);

impl Late {
    pub(super) fn find(steps: &[Step], sent: &[Sent]) -> Self {
        let mut late = BTreeSet::new();
        // Frames of this switch that BMv2 has not sent yet.
        let mut missing: Vec<(usize, u32, &Vec<u8>)> = Vec::new();
        for (n, (step, have)) in steps.iter().zip(sent).enumerate() {
            let mut have = flat(have);
            let mut want = flat(&step.sent);
            want.retain(|w| match have.iter().position(|h| h == w) {
                Some(i) => {
                    have.remove(i);
                    false
                }
                None => true,
            });
            want.retain(|(port, frame)| {
                let of = missing.iter().position(|(_, p, f)| p == port && f == frame);
                let Some(i) = of else { return true };
                late.extend([missing.remove(i).0, n]);
                false
            });
            // A frame that only BMv2 sent is a difference, and so is the one that it replaces.
            if want.is_empty() {
                missing.extend(have.into_iter().map(|(p, f)| (n, p, f)));
            } else {
                late.remove(&n);
            }
        }
        let silent = steps.iter().rev().take_while(|s| s.sent.is_empty()).count();
        for (n, ..) in missing {
            if silent <= LAST && n >= steps.len() - silent {
                late.insert(n);
            } else {
                late.remove(&n);
            }
        }
        Self(late)
    }

    pub(super) fn explains(&self, step: usize) -> bool {
        self.0.contains(&step)
    }
}

fn flat(s: &Sent) -> Vec<(u32, &Vec<u8>)> {
    let port = |(p, frames): (&u32, _)| std::iter::repeat(*p).zip(frames);
    s.iter().flat_map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(frames: &[u8]) -> Sent {
        let frames: Vec<Vec<u8>> = frames.iter().map(|f| vec![*f]).collect();
        let some = !frames.is_empty();
        some.then_some((1, frames)).into_iter().collect()
    }

    fn late(bmv2: &[&[u8]], ours: &[&[u8]]) -> Vec<usize> {
        let step = |s: &&[u8]| Step {
            port: 0,
            frames: Vec::new(),
            sent: sent(s),
        };
        let steps: Vec<Step> = bmv2.iter().map(step).collect();
        let ours: Vec<Sent> = ours.iter().map(|s| sent(s)).collect();
        Late::find(&steps, &ours).0.into_iter().collect()
    }

    #[test]
    fn a_frame_that_comes_with_a_later_one_is_late() {
        assert_eq!(late(&[&[1], &[], &[2, 3]], &[&[1], &[2], &[3]]), [1, 2]);
        assert_eq!(late(&[&[1], &[], &[]], &[&[1], &[2], &[3]]), [1, 2]);
    }

    #[test]
    fn what_bmv2_never_sends_is_a_difference() {
        // Missing in the middle, throughout a long recording, or replaced by another frame.
        assert_eq!(late(&[&[1], &[], &[3]], &[&[1], &[2], &[3]]), [0; 0]);
        assert_eq!(late(&[&[][..]; 5], &[&[1][..]; 5]), [0; 0]);
        assert_eq!(late(&[&[1], &[9], &[3]], &[&[1], &[2], &[3]]), [0; 0]);
        // One frame too many is a difference as well.
        assert_eq!(late(&[&[1, 1], &[]], &[&[1], &[]]), [0; 0]);
    }
}
