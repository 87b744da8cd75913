// SPDX-License-Identifier: Apache-2.0
//! Offset and drift between a node's clock and a host's clock.
//!
//! Every observation is an inequality, because nothing arrives before it was
//! sent. With `f` the mapping from node time to host time:
//!
//! * a segment that a sample proves unsent, left after it: `f(ingress) >= t`;
//! * a segment that a sample shows acknowledged, left the switch before it:
//!   `f(egress) <= t`;
//! * a report is received after its packet left: `f(egress) <= t_rx`, if the collector's clock is
//!   the host's.
//!
//! Network delay makes each bound loose by a varying amount but never wrong, so the line that
//! touches the bounds from their own side is the estimate (Moon, Skelly, Towsley, *Estimation and
//! Removal of Clock Skew from Network Delay Measurements*, INFOCOM 1999). If only the two bounds
//! through the network exist, the middle between them is taken, as in NTP: the remaining error is
//! half the difference of the two paths' delays.

use super::envelope::{Envelope, Line, signed_difference};

/// By how much bounds may contradict each other before clocks count as different.
const TOLERANCE_NS: f64 = 1e6;
/// Pairs needed before a contradiction is believed.
const MIN_PAIRS: u64 = 20;

/// Conversion from a node's clock to a host's: `host = node + offset + (node - reference) * drift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mapping {
    pub reference_ns: u64,
    pub offset_ns: i64,
    /// Dimensionless (1e-6 = 1 ppm).
    pub drift: f64,
    pub matched_pairs: u64,
}

impl Mapping {
    #[inline]
    pub(crate) fn to_host(self, node_ns: u64) -> u64 {
        let correction = (signed_difference(node_ns, self.reference_ns) * self.drift) as i64;
        node_ns
            .wrapping_add_signed(self.offset_ns)
            .wrapping_add_signed(correction)
    }

    #[inline]
    pub(crate) fn to_node(self, host_ns: u64) -> u64 {
        let raw = host_ns.wrapping_add_signed(self.offset_ns.wrapping_neg());
        let elapsed = signed_difference(raw, self.reference_ns);
        let correction = (elapsed * self.drift / (1.0 + self.drift)) as i64;
        raw.wrapping_add_signed(correction.wrapping_neg())
    }
}

/// Bounds from pairs of a node's packets and a host's samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    /// `t - x` of upper bounds.
    upper: Envelope,
    /// `x - t` of lower bounds.
    lower: Envelope,
    count: u64,
    /// The mapping as last computed.
    pub mapping: Option<Mapping>,
}

impl Pairs {
    /// Notes that a segment that came at `ingress_ns` had not left its host at `host_ns`.
    #[inline]
    pub(super) fn sent_after(&mut self, ingress_ns: u64, host_ns: u64) {
        self.lower
            .add(ingress_ns, ingress_ns.wrapping_sub(host_ns) as i64);
        self.count += 1;
    }

    /// Notes that a segment that left at `egress_ns` was known to be acknowledged at `host_ns`.
    #[inline]
    pub(super) fn acked_before(&mut self, egress_ns: u64, host_ns: u64) {
        self.upper
            .add(egress_ns, host_ns.wrapping_sub(egress_ns) as i64);
        self.count += 1;
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            upper: self.upper.line(),
            lower: self.lower.line().map(|l| Line {
                at_x0_ns: -l.at_x0_ns,
                slope: -l.slope,
                ..l
            }),
            pairs: self.count,
        }
    }
}

/// Lines that bound host time minus node time.
struct Bounds {
    upper: Option<Line>,
    lower: Option<Line>,
    pairs: u64,
}

impl Bounds {
    /// Whether enough pairs show that a line is not between the bounds.
    fn contradict(&self, line: &Line) -> bool {
        let below = self
            .lower
            .is_some_and(|l| line.at(l.x0_ns) < l.at(l.x0_ns) - TOLERANCE_NS);
        let above = self
            .upper
            .is_some_and(|u| line.at(u.x0_ns) > u.at(u.x0_ns) + TOLERANCE_NS);
        (below || above) && self.pairs >= MIN_PAIRS
    }
}

/// Observations of one node's clock, and its mappings to the hosts' clocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeClock {
    reference_ns: Option<u64>,
    received: Envelope,
    hosts: Vec<Pairs>,
    local: Option<usize>,
}

impl NodeClock {
    /// Creates an unmapped clock; `local` is the index of the host whose clock also stamps reports.
    pub(super) fn new(local: Option<u16>) -> Self {
        Self {
            local: local.map(usize::from),
            ..Self::default()
        }
    }

    #[inline]
    pub(super) fn pairs(&mut self, host: u16) -> &mut Pairs {
        let i = usize::from(host);
        if self.hosts.len() <= i {
            self.hosts.resize_with(i + 1, Pairs::default);
        }
        &mut self.hosts[i]
    }

    /// Forgets the pairs of a host.
    pub(super) fn forget_host(&mut self, host: u16) {
        if let Some(pairs) = self.hosts.get_mut(usize::from(host)) {
            *pairs = Pairs::default();
        }
    }

    /// Notes that a packet left at `egress_ns` and that its report was received at `rx_ns`.
    #[inline]
    pub(super) fn received(&mut self, egress_ns: u64, rx_ns: u64) {
        self.reference_ns.get_or_insert(egress_ns);
        if self.local.is_some() {
            self.received
                .add(egress_ns, rx_ns.wrapping_sub(egress_ns) as i64);
        }
    }

    /// Whether the collector's own clock is not mapped yet: reports can do that at once.
    #[inline]
    pub(super) fn lacks_local(&self) -> bool {
        self.local
            .is_some_and(|i| self.hosts.get(i).is_none_or(|p| p.mapping.is_none()))
    }

    /// The mapping as last computed.
    #[inline]
    pub(super) fn mapping(&self, host: u16) -> Option<Mapping> {
        self.hosts.get(usize::from(host))?.mapping
    }

    /// Recomputes the mappings.
    pub(super) fn update(&mut self) {
        let Some(reference_ns) = self.reference_ns else {
            return;
        };
        if let Some(local) = self.local {
            self.pairs(local as u16);
        }
        let received = self.received.line();
        for (i, pairs) in self.hosts.iter_mut().enumerate() {
            let bounds = pairs.bounds();
            let by_reception = received.filter(|r| self.local == Some(i) && !bounds.contradict(r));
            let estimate = match (by_reception, bounds.upper, bounds.lower) {
                (Some(r), ..) => Some((r.at(reference_ns), r.slope)),
                (None, Some(u), Some(l)) => Some((
                    (u.at(reference_ns) + l.at(reference_ns)) / 2.0,
                    (u.slope + l.slope) / 2.0,
                )),
                _ => None,
            };
            pairs.mapping = estimate.map(|(offset, drift)| Mapping {
                reference_ns,
                offset_ns: offset.round() as i64,
                drift,
                matched_pairs: pairs.count,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl NodeClock {
        /// Whether the bounds through the network contradict that the collector's
        /// clock is the local host's.
        fn local_refuted(&self) -> bool {
            let local = self.local.and_then(|i| self.hosts.get(i));
            match (local, self.received.line()) {
                (Some(pairs), Some(received)) => pairs.bounds().contradict(&received),
                _ => false,
            }
        }
    }

    const SECOND: u64 = 1_000_000_000;

    fn host_of(x: u64, offset: i64, ppm: f64) -> u64 {
        x.wrapping_add_signed(offset + (x as f64 * ppm * 1e-6) as i64)
    }

    /// A cheap, repeatable jitter in 0..scale.
    fn jitter(i: u64, scale: u64) -> u64 {
        (i.wrapping_mul(6_364_136_223_846_793_005) >> 33) % scale
    }

    #[test]
    fn reception_gives_offset_and_drift() {
        let mut c = NodeClock::new(Some(0));
        for i in 0..40_000u64 {
            let x = 5 * SECOND + i * 1_000_000;
            c.received(
                x,
                host_of(x, -3_000_000_000, 12.0) + 30_000 + jitter(i, 5_000_000),
            );
        }
        c.update();
        let m = c.mapping(0).unwrap();
        assert!((m.drift * 1e6 - 12.0).abs() < 0.5, "{m:?}");
        let x = 25 * SECOND;
        let error = signed_difference(m.to_host(x), host_of(x, -3_000_000_000, 12.0));
        assert!(error.abs() < 100_000.0, "{error}");
    }

    #[test]
    fn symmetric_paths_give_the_middle() {
        let mut c = NodeClock::new(None);
        for i in 0..20_000u64 {
            let x = SECOND + i * 1_000_000;
            let y = host_of(x, 7 * SECOND as i64, -31.0);
            c.received(x, 0);
            c.pairs(0)
                .sent_after(x, y - 10_000_000 - jitter(i, 3_000_000));
            c.pairs(0)
                .acked_before(x, y + 10_000_000 + jitter(i * 7, 3_000_000));
        }
        c.update();
        let m = c.mapping(0).unwrap();
        assert!((m.drift * 1e6 + 31.0).abs() < 1.0, "{m:?}");
        let error = signed_difference(
            m.to_host(10 * SECOND),
            host_of(10 * SECOND, 7 * SECOND as i64, -31.0),
        );
        assert!(error.abs() < 300_000.0, "{error}");
    }

    #[test]
    fn a_foreign_collector_clock_is_found_out() {
        let mut c = NodeClock::new(Some(0));
        for i in 0..8_000u64 {
            let x = SECOND + i * 1_000_000;
            let y = host_of(x, 0, 0.0);
            c.received(x, y + 3600 * SECOND);
            c.pairs(0).sent_after(x, y - 5_000_000);
            c.pairs(0).acked_before(x, y + 5_000_000);
        }
        c.update();
        assert!(c.local_refuted());
        assert!(c.mapping(0).unwrap().offset_ns.abs() < 100_000);
    }

    proptest! {
        #[test]
        fn mapping_and_inverse_agree(
            offset in -1_000_000_000_000i64..1_000_000_000_000,
            ppm in -200.0f64..200.0,
            x in 1_000_000_000_000u64..1_000_000_000_000_000,
        ) {
            let m = Mapping { reference_ns: 1_000_000_000_000, offset_ns: offset, drift: ppm * 1e-6, matched_pairs: 0 };
            let back = m.to_node(m.to_host(x));
            prop_assert!(signed_difference(back, x).abs() < 1_000.0);
        }

        #[test]
        fn any_observation_is_survived(points in prop::collection::vec((any::<u64>(), any::<u64>()), 0..60)) {
            let mut c = NodeClock::new(Some(0));
            for (a, b) in points {
                c.received(a, b);
                c.pairs(0).sent_after(a, b);
                c.pairs(1).acked_before(b, a);
                c.update();
            }
        }
    }
}
