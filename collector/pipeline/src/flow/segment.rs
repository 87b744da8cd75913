// SPDX-License-Identifier: Apache-2.0
//! A segment that has come to a port: it may wait for the sample that shows the
//! state it was sent under, and for its acknowledgement.
//!
//! Packed for speed. The plain form is a struct of what [`Segment`] returns: number, end, times,
//! position, two flags; the property test `keeps_what_it_is_told` below checks that the two agree.
//! Justified by the benchmark rows "decode, flow, join, intervals" of `make bench-collector`, with
//! 1000 flows and more.

/// One segment in 32 bytes, two in a cache line: there are as many as packets
/// in flight, and not all fit the core's caches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    pub seq: u64,
    /// When it left, or when it came if it has not left.
    time_ns: u64,
    /// Length in the lower bits, delay in ns (up to three days) above.
    length_delay: u64,
    /// Position in the pipeline's queue, and two flag bits.
    place: u64,
}

const LENGTH_BITS: u32 = 16;
const MAX_LENGTH: u64 = (1 << LENGTH_BITS) - 1;
const MAX_DELAY_NS: u64 = (1 << (64 - LENGTH_BITS)) - 1;
const WAITS: u64 = 1;
const PASSED: u64 = 2;

impl Segment {
    /// Creates a segment that came at `ingress_ns` and whose packet is at `position` of the queue.
    #[inline]
    pub(crate) fn new(seq: u64, end: u64, ingress_ns: u64, position: u64) -> Self {
        Self {
            seq,
            time_ns: ingress_ns,
            // An IP packet holds no more.
            length_delay: end.saturating_sub(seq).min(MAX_LENGTH),
            place: position << 2,
        }
    }

    /// Returns the segment as it is after leaving at `egress_ns`.
    #[inline]
    pub(crate) fn left(self, egress_ns: u64) -> Self {
        let delay_ns = egress_ns.saturating_sub(self.time_ns).min(MAX_DELAY_NS);
        Self {
            time_ns: egress_ns,
            length_delay: delay_ns << LENGTH_BITS | self.length_delay,
            place: self.place | PASSED,
            ..self
        }
    }

    /// Sets whether the segment waits for a sample.
    #[inline]
    pub(crate) fn waiting(self, waits: bool) -> Self {
        Self {
            place: self.place | (u64::from(waits) * WAITS),
            ..self
        }
    }

    /// Whether it was added as waiting for a sample.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.place & WAITS != 0
    }

    /// Whether it left towards the receiver, which acknowledges it.
    #[inline]
    pub(crate) fn passed(&self) -> bool {
        self.place & PASSED != 0
    }

    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.place >> 2
    }

    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.seq.saturating_add(self.length_delay & MAX_LENGTH)
    }

    #[inline]
    pub(crate) fn delay_ns(&self) -> u64 {
        self.length_delay >> LENGTH_BITS
    }

    /// When it left, if it passed.
    #[inline]
    pub(crate) fn egress_ns(&self) -> u64 {
        self.time_ns
    }

    /// When it came; later if it stayed for more than three days.
    #[inline]
    pub(crate) fn ingress_ns(&self) -> u64 {
        self.time_ns - self.delay_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_what_it_is_told(
            seq in 0u64..1 << 60, length in 0u64..1 << 16, ingress in 0u64..1 << 62,
            delay in prop::option::of(0u64..1 << 47), position in 0u64..1 << 60, waits in any::<bool>(),
        ) {
            let mut s = Segment::new(seq, seq + length, ingress, position).waiting(waits);
            if let Some(delay) = delay {
                s = s.left(ingress + delay);
                prop_assert_eq!((s.egress_ns(), s.delay_ns()), (ingress + delay, delay));
            }
            prop_assert_eq!((s.seq, s.end(), s.ingress_ns(), s.position()), (seq, seq + length, ingress, position));
            prop_assert_eq!((s.passed(), s.waits()), (delay.is_some(), waits));
        }
    }
}
