// SPDX-License-Identifier: Apache-2.0
//! Arrival times and sizes of short flows.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, Exp};

use crate::spec::{Poisson, Size};

/// Arrivals of one Poisson source: equal for equal seed and index, independent of the run's timing.
#[derive(Debug)]
pub(crate) struct Arrivals {
    random: StdRng,
    gap: Exp<f64>,
    size: Size,
    time_s: f64,
    stop_s: f64,
}

/// A future short flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Arrival {
    /// Seconds since the start of the run.
    pub at_s: f64,
    pub bytes: u64,
}

impl Arrivals {
    /// Makes the arrivals of a source; `index` is the source's in the spec. `None` if the rate is
    /// invalid (never in a checked spec).
    pub(crate) fn new(poisson: &Poisson, seed: u64, index: usize) -> Option<Self> {
        // Odd multiplier: distinct streams for distinct indices.
        let own = seed ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Some(Self {
            random: StdRng::seed_from_u64(own),
            gap: Exp::new(poisson.arrivals_per_s).ok()?,
            size: poisson.size.clone(),
            time_s: poisson.start_s,
            stop_s: poisson.stop_s.unwrap_or(f64::INFINITY),
        })
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        self.time_s += self.gap.sample(&mut self.random);
        let bytes = self.size.draw(&mut self.random);
        (self.time_s < self.stop_s).then_some(Arrival {
            at_s: self.time_s,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(size: Size) -> Poisson {
        Poisson {
            name: "s".into(),
            destination: "127.0.0.1:1".parse().unwrap(),
            source: None,
            netns: None,
            transport: crate::spec::Transport::Tcp,
            congestion_control: None,
            arrivals_per_s: 50.0,
            size,
            start_s: 2.0,
            stop_s: Some(402.0),
            max_open: 10,
            base_rtt_ms: None,
        }
    }

    fn arrivals(size: Size, seed: u64, index: usize) -> Vec<Arrival> {
        Arrivals::new(&source(size), seed, index).unwrap().collect()
    }

    const EXPONENTIAL: Size = Size::Exponential {
        mean_bytes: 20_000.0,
        max_bytes: 1_000_000,
    };

    #[test]
    fn rate_and_mean_are_as_asked() {
        let all = arrivals(EXPONENTIAL, 1, 0);
        // 20 000 expected, standard deviation 141.
        assert!(all.len().abs_diff(20_000) < 1000, "{}", all.len());
        let mean = all.iter().map(|a| a.bytes as f64).sum::<f64>() / all.len() as f64;
        assert!((mean / 20_000.0 - 1.0).abs() < 0.05, "{mean}");
        assert!(all[0].at_s >= 2.0 && all.last().unwrap().at_s < 402.0);
        assert!(all.windows(2).all(|w| w[0].at_s <= w[1].at_s));
    }

    #[test]
    fn the_seed_alone_decides() {
        assert_eq!(arrivals(EXPONENTIAL, 7, 1), arrivals(EXPONENTIAL, 7, 1));
        assert_ne!(arrivals(EXPONENTIAL, 7, 1), arrivals(EXPONENTIAL, 8, 1));
        assert_ne!(arrivals(EXPONENTIAL, 7, 1), arrivals(EXPONENTIAL, 7, 2));
    }

    #[test]
    fn sizes_stay_within_their_bounds() {
        let pareto = Size::Pareto {
            min_bytes: 1000,
            shape: 1.1,
            max_bytes: 50_000,
        };
        let all = arrivals(pareto, 1, 0);
        assert!(all.iter().all(|a| (1000..=50_000).contains(&a.bytes)));
        assert!(all.iter().any(|a| a.bytes == 50_000), "the tail is cut");
        assert!(
            arrivals(Size::Fixed { bytes: 9 }, 1, 0)
                .iter()
                .all(|a| a.bytes == 9)
        );
    }
}
