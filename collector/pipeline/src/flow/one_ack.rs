// SPDX-License-Identifier: Apache-2.0
//! Base RTT from single acknowledgements, for flows with a few packets in flight: a receiver
//! acknowledges a lone segment when its timer ends, and the smoothed RTT includes that wait.

/// All acknowledgements, in the units of `single_share`.
const ALL: i32 = u16::MAX as i32;
/// Smoothed share of acknowledgements of one segment from which the timer matters.
const SINGLE_SHARE: u16 = (ALL / 10) as u16;
/// The gain of that share is 1/32.
const SINGLE_SHARE_GAIN_BITS: u32 = 5;
/// Delays are kept in units of 2^14 ns, so that a flow at a port fits two cache lines; delays
/// longer than 1.07 s are ignored.
const DELAY_BITS: u32 = 14;
/// The kernel's srtt moves by an eighth of the difference of a round trip from it.
const SRTT_GAIN: i64 = 8;
/// More segments than this may belong to two acknowledgements.
const MOST_SEGMENTS: u32 = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct OneAck {
    /// Smoothed RTT of the previous sample.
    srtt_us: u32,
    /// Smoothed share of acknowledgements of one segment, out of [`ALL`].
    single_share: u16,
    /// Time from the arrival of the oldest acknowledged segment to the departure of the newest,
    /// plus one unit; 0 if nothing, or a single segment, was acknowledged since.
    delay: u16,
}

impl OneAck {
    /// Takes an acknowledgement of `segments` segments.
    #[inline]
    pub(super) fn acked(&mut self, segments: u32, delay_ns: u64) {
        let single = if segments == 1 { ALL } else { 0 };
        let before = i32::from(self.single_share);
        self.single_share = (before + ((single - before) >> SINGLE_SHARE_GAIN_BITS)) as u16;
        let pair = (2..=MOST_SEGMENTS).contains(&segments);
        let units = (delay_ns + (1 << (DELAY_BITS - 1))) >> DELAY_BITS;
        self.delay = match u16::try_from(units + 1) {
            Ok(delay) if pair => delay,
            _ => 0,
        };
    }

    /// Returns the base RTT, in us, that the last acknowledgement shows by how it moved srtt;
    /// `None` if it included a wait, or if the receiver's timer does not matter.
    #[inline]
    pub(super) fn base_us(&mut self, srtt_us: u32) -> Option<u32> {
        let before = i64::from(std::mem::replace(&mut self.srtt_us, srtt_us));
        let delay = std::mem::take(&mut self.delay);
        if self.single_share < SINGLE_SHARE || delay == 0 || before == 0 {
            return None;
        }
        let delay_ns = i64::from(delay - 1) << DELAY_BITS;
        let moved = i64::from(srtt_us) - before;
        let base = before + SRTT_GAIN * moved - delay_ns / 1000;
        // An acknowledgement that did not move srtt at all may have been no measurement.
        (moved != 0 && base > 0).then(|| u32::try_from(base).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the base RTTs of round trips (us), each with its segments and delay (us).
    fn bases(round_trips: impl Iterator<Item = (f64, u32, u64)>) -> Vec<u32> {
        let (mut one, mut srtt) = (OneAck::default(), 0.0);
        let base = |(rtt, segments, delay_us)| {
            srtt += (rtt - srtt) / if srtt == 0.0 { 1.0 } else { 8.0 };
            one.acked(segments, delay_us * 1000);
            one.base_us(srtt as u32)
        };
        round_trips.filter_map(base).collect()
    }

    #[test]
    fn a_pair_tells_the_base_rtt_beside_single_segments_that_wait() {
        // Every third acknowledgement is of a single segment, 40 ms late.
        let told = bases((0..300u64).map(|i| {
            let delay_us = 5_000 + i % 7 * 1_000;
            let (segments, wait) = if i % 3 == 0 { (1, 40_000) } else { (2, 0) };
            ((100_000 + wait + delay_us) as f64, segments, delay_us)
        }));
        assert!(told.len() > 150, "{}", told.len());
        assert!(told.iter().all(|b| b.abs_diff(100_000) < 20), "{told:?}");
    }

    #[test]
    fn flows_without_single_segments_are_left_to_the_smoothed_values() {
        let told = bases((0..300u64).map(|i| ((100_000 + i % 7) as f64, 2, 5_000)));
        assert!(told.is_empty());
        // Nor does an acknowledgement give a value if nothing was acknowledged since.
        let mut one = OneAck {
            single_share: u16::MAX,
            ..OneAck::default()
        };
        one.acked(2, 1_000);
        assert_eq!(one.base_us(20_000), None);
        assert_eq!(one.base_us(20_100), None);
        one.acked(2, 1_000_000);
        let base = one.base_us(20_000).unwrap();
        assert!(base.abs_diff(20_100 - 800 - 1_000) <= 8, "{base}");
    }
}
