// SPDX-License-Identifier: Apache-2.0
//! Distributions of transfer sizes.

use rand::Rng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, Exp, Pareto};
use serde::{Deserialize, Serialize};

/// Bytes per transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "snake_case", deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the doc of each variant says what its fields are"
)]
pub enum Size {
    /// Equal sizes.
    Fixed { bytes: u64 },
    /// Uniform from `min_bytes` to `max_bytes`, inclusive.
    Uniform { min_bytes: u64, max_bytes: u64 },
    /// Exponential, truncated at `max_bytes`.
    Exponential { mean_bytes: f64, max_bytes: u64 },
    /// Pareto, truncated at `max_bytes`.
    Pareto {
        min_bytes: u64,
        shape: f64,
        max_bytes: u64,
    },
    /// Mixture of exponentials, chosen in proportion to their weights, truncated at `max_bytes`
    /// (the three of OI §4.2).
    Mix { parts: Vec<MixPart>, max_bytes: u64 },
}

/// One exponential of a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixPart {
    /// Weight relative to the other parts'.
    pub weight: f64,
    /// Mean of the exponential.
    pub mean_bytes: f64,
}

impl Size {
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let mean = |m: f64| m.is_finite() && m >= 1.0;
        match self {
            Self::Fixed { bytes: 0 } => Err("bytes must be above 0"),
            Self::Uniform {
                min_bytes,
                max_bytes,
            } if *min_bytes == 0 || max_bytes < min_bytes => {
                Err("needs min_bytes above 0 and max_bytes not below it")
            }
            Self::Exponential {
                mean_bytes,
                max_bytes,
            } if !mean(*mean_bytes) || *max_bytes == 0 => {
                Err("mean_bytes must be at least 1 and max_bytes above 0")
            }
            Self::Pareto {
                min_bytes,
                shape,
                max_bytes,
            } if *min_bytes == 0
                || !(shape.is_finite() && *shape > 0.0)
                || max_bytes < min_bytes =>
            {
                Err("needs min_bytes above 0, shape above 0, max_bytes not below min_bytes")
            }
            Self::Mix { parts, max_bytes }
                if parts.is_empty()
                    || *max_bytes == 0
                    || parts.iter().any(|p| {
                        !mean(p.mean_bytes) || !p.weight.is_finite() || p.weight <= 0.0
                    }) =>
            {
                Err("needs parts of mean_bytes from 1 on and weight above 0, max_bytes above 0")
            }
            _ => Ok(()),
        }
    }

    /// Draws one size, at least 1.
    pub(crate) fn draw(&self, random: &mut StdRng) -> u64 {
        let (value, most) = match self {
            Self::Fixed { bytes } => return *bytes,
            Self::Uniform {
                min_bytes,
                max_bytes,
            } => return random.random_range(*min_bytes..=*max_bytes),
            Self::Exponential {
                mean_bytes,
                max_bytes,
            } => (exponential(*mean_bytes, random), *max_bytes),
            Self::Pareto {
                min_bytes,
                shape,
                max_bytes,
            } => (
                Pareto::new(*min_bytes as f64, *shape)
                    .map_or(*min_bytes as f64, |d| d.sample(random)),
                *max_bytes,
            ),
            Self::Mix { parts, max_bytes } => {
                let total: f64 = parts.iter().map(|p| p.weight).sum();
                let mut left = random.random::<f64>() * total;
                let chosen = (parts.iter())
                    .find(|p| {
                        left -= p.weight;
                        left < 0.0
                    })
                    .or(parts.last());
                let mean = chosen.map_or(1.0, |p| p.mean_bytes);
                (exponential(mean, random), *max_bytes)
            }
        };
        (value.round() as u64).clamp(1, most)
    }
}

fn exponential(mean: f64, random: &mut StdRng) -> f64 {
    Exp::new(1.0 / mean).map_or(mean, |d| d.sample(random))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn draws(size: &Size) -> Vec<u64> {
        let mut random = StdRng::seed_from_u64(1);
        (0..20_000).map(|_| size.draw(&mut random)).collect()
    }

    #[test]
    fn a_mix_has_the_mean_of_its_parts() {
        let part = |weight, mean_bytes| MixPart { weight, mean_bytes };
        let size = Size::Mix {
            parts: vec![part(3.0, 1000.0), part(1.0, 20_000.0)],
            max_bytes: 1_000_000,
        };
        let all = draws(&size);
        let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
        // 5750 expected, standard deviation of the mean 89.
        assert!((mean - 5750.0).abs() < 450.0, "{mean}");
    }

    #[test]
    fn uniform_sizes_reach_both_ends() {
        let all = draws(&Size::Uniform {
            min_bytes: 3,
            max_bytes: 25,
        });
        assert_eq!(all.iter().min(), Some(&3));
        assert_eq!(all.iter().max(), Some(&25));
    }

    #[test]
    fn bad_sizes_are_refused() {
        for size in [
            Size::Uniform {
                min_bytes: 5,
                max_bytes: 4,
            },
            Size::Mix {
                parts: vec![],
                max_bytes: 9,
            },
            Size::Mix {
                parts: vec![MixPart {
                    weight: 0.0,
                    mean_bytes: 9.0,
                }],
                max_bytes: 9,
            },
        ] {
            assert!(size.check().is_err(), "{size:?}");
        }
    }
}
