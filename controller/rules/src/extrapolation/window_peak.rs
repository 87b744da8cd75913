// SPDX-License-Identifier: Apache-2.0
//! The peak of the aggregate window at the limit in force.

use crate::traffic::Traffic;

/// Utilisation that counts as full; the rest is fluctuation of the measurement.
pub(super) const FULL: f64 = 0.999;

/// Lowest window over the peak when all flows lose at once; also taken for
/// CUBIC, since a flow may lose again in the same event.
pub(super) const ALL_AT_ONCE: f64 = 0.5;
/// The peak of the aggregate window at the limit in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peak {
    pub bdp_bytes: f64,
    pub limit_bytes: f64,
}

impl Peak {
    pub fn of(m: &Traffic, t_e_s: f64) -> Option<Self> {
        let bdp_bytes = m.drain_bytes_per_s() * t_e_s;
        let limit_bytes = m.limit_bytes?;
        (bdp_bytes.is_finite() && bdp_bytes > 0.0 && limit_bytes.is_finite() && limit_bytes > 0.0)
            .then_some(Self {
                bdp_bytes,
                limit_bytes,
            })
    }

    /// Largest aggregate window over C·Tₑ.
    pub fn over_bdp(self) -> f64 {
        1.0 + self.limit_bytes / self.bdp_bytes
    }

    pub fn scale(self, buffer_bytes: f64) -> f64 {
        (self.bdp_bytes + buffer_bytes) / (self.bdp_bytes + self.limit_bytes)
    }
}
