// SPDX-License-Identifier: Apache-2.0
//! The round trip of single acknowledgements, of flows with a few packets in flight: a
//! receiver acknowledges a single segment when its timer ends, and the smoothed RTT has
//! that wait.

/// All acknowledgements, in the units of `single_share`.
const ALL: i32 = u16::MAX as i32;
/// Smoothed part of the acknowledgements that are of one segment, from which on the
/// timer counts.
const SINGLE_SHARE: u16 = (ALL / 10) as u16;
/// The gain of that part is 1/32.
const SINGLE_SHARE_GAIN_BITS: u32 = 5;
/// Delays are kept in units of 2^14 ns, so that a flow at a port fits two cache lines;
/// longer ones than 1.07 s tell nothing.
const DELAY_BITS: u32 = 14;
/// The kernel's srtt moves by an eighth of what a round trip differs from it.
const SRTT_GAIN: i64 = 8;
/// More segments than this may be those of two acknowledgements.
const MOST_SEGMENTS: u32 = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct OneAck {
    /// That of the sample before.
    srtt_us: u32,
    /// Part of [`ALL`].
    single_share: u16,
    /// From the oldest acknowledged segment's coming here to the newest one's
    /// leaving, and one unit more; 0 where nothing, or a single segment, was acknowledged
    /// since.
    delay: u16,
}

impl OneAck {
    /// An acknowledgement of so many segments.
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

    /// The base RTT that the last acknowledgement tells, in us, by how it moved srtt;
    /// `None` where it had a wait, or no flow of these.
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

    /// Round trips (us) with the segments and the delay (us) of each; the bases told.
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
        // Nor does one acknowledgement tell where nothing was acknowledged since.
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
