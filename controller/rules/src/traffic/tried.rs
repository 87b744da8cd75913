// SPDX-License-Identifier: Apache-2.0
//! Result of a limit that was in force earlier, under the same traffic.

use super::{FlowMix, Observed, Traffic};
use serde::{Deserialize, Serialize};

/// The outcome of one limit: evidence of how loss and utilisation respond to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedLimit {
    /// The limit, bytes as the queue counts them.
    pub limit_bytes: f64,
    /// Drops over arrivals.
    pub loss_rate: f64,
    /// Number of drops behind `loss_rate`.
    pub drops: u64,
    /// Loss events in which these drops occurred.
    pub loss_events: f64,
    /// Mean utilisation, fraction.
    pub utilisation: f64,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: f64,
    /// N_b during the measurement.
    pub n_b: f64,
    /// Congestion controls of the flows during the measurement; `None` matches any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_mix: Option<FlowMix>,
    /// Time of the last measurement, Unix ms.
    pub unix_ms: u64,
}

impl TriedLimit {
    /// Returns the result of the limit in force from `traffic`; `None` if nothing was measured.
    pub fn of(traffic: &Traffic, unix_ms: u64) -> Option<Self> {
        let Observed {
            utilisation,
            loss_rate,
            drops,
            delay_mean_ms,
            ..
        } = traffic.observed?;
        Some(Self {
            limit_bytes: traffic.limit_bytes.filter(|&b| b > 0.0)?,
            loss_rate,
            drops,
            loss_events: traffic.loss_events(),
            utilisation,
            delay_mean_ms,
            n_b: traffic.n_b.value,
            flow_mix: Some(traffic.flow_mix()),
            unix_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records without a flow mix (they had shares of bytes and drops) match any flows.
    #[test]
    fn one_saved_before_is_of_any_flows() {
        let saved = r#"{"limit_bytes": 150000.0, "loss_rate": 0.07, "drops": 7773,
            "loss_events": 176.0, "utilisation": 0.99, "delay_mean_ms": 50.4, "n_b": 15.0,
            "model_based_share": 0.77, "cubic_share": 0.32, "unix_ms": 1795646440221}"#;
        let tried: TriedLimit = serde_json::from_str(saved).unwrap();
        assert_eq!((tried.flow_mix, tried.n_b), (None, 15.0));
    }
}
