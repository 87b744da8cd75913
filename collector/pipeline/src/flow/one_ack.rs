// SPDX-License-Identifier: Apache-2.0
//! The round trip of single acknowledgements, of flows with a few packets in flight: a
//! receiver acknowledges a lone segment when its timer ends, and the smoothed RTT has
//! that wait.

/// Smoothed part of the acknowledgements that are of one segment, from which on the
/// timer counts.
const LONE: f32 = 0.1;
/// Gain of that part.
const LONE_GAIN: f32 = 1.0 / 32.0;
/// The kernel's srtt moves by an eighth of what a round trip differs from it.
const SRTT_GAIN: i64 = 8;
/// More segments than this may be those of two acknowledgements.
const MOST_SEGMENTS: u32 = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct OneAck {
    /// That of the sample before.
    srtt_us: u32,
    lone: f32,
    /// From the oldest acknowledged segment's coming here to the newest one's
    /// leaving; 0 where nothing, or a lone segment, was acknowledged since.
    delay_ns: u64,
}

impl OneAck {
    /// An acknowledgement of so many segments.
    #[inline]
    pub(super) fn acked(&mut self, segments: u32, delay_ns: u64) {
        let lone = if segments == 1 { 1.0 } else { 0.0 };
        self.lone += (lone - self.lone) * LONE_GAIN;
        let pair = (2..=MOST_SEGMENTS).contains(&segments);
        self.delay_ns = if pair { delay_ns } else { 0 };
    }

    /// The base RTT that the last acknowledgement tells, in us, by how it moved srtt;
    /// `None` where it had a wait, or no flow of these.
    #[inline]
    pub(super) fn base_us(&mut self, srtt_us: u32) -> Option<u32> {
        let before = i64::from(std::mem::replace(&mut self.srtt_us, srtt_us));
        let delay_ns = std::mem::take(&mut self.delay_ns);
        if self.lone < LONE || delay_ns == 0 || before == 0 {
            return None;
        }
        let moved = i64::from(srtt_us) - before;
        let base = before + SRTT_GAIN * moved - (delay_ns / 1000) as i64;
        // What did not move it at all may have been no measurement.
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
    fn a_pair_tells_the_base_rtt_beside_lone_segments_that_wait() {
        // Every third acknowledgement is of a lone segment, 40 ms late.
        let told = bases((0..300u64).map(|i| {
            let delay_us = 5_000 + i % 7 * 1_000;
            let (segments, wait) = if i % 3 == 0 { (1, 40_000) } else { (2, 0) };
            ((100_000 + wait + delay_us) as f64, segments, delay_us)
        }));
        assert!(told.len() > 150, "{}", told.len());
        assert!(told.iter().all(|b| b.abs_diff(100_000) < 20), "{told:?}");
    }

    #[test]
    fn flows_without_lone_segments_are_left_to_the_smoothed_values() {
        let told = bases((0..300u64).map(|i| ((100_000 + i % 7) as f64, 2, 5_000)));
        assert!(told.is_empty());
        // Nor does one acknowledgement tell where nothing was acknowledged since.
        let mut one = OneAck {
            lone: 1.0,
            ..OneAck::default()
        };
        one.acked(2, 1_000);
        assert_eq!(one.base_us(20_000), None);
        assert_eq!(one.base_us(20_100), None);
        one.acked(2, 1_000_000);
        assert_eq!(one.base_us(20_000), Some(20_100 - 800 - 1_000));
    }
}
