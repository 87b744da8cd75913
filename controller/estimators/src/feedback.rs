// SPDX-License-Identifier: Apache-2.0
//! Estimates a flow's base RTT from how soon its sender responds to losses and marks here, if no
//! handshake was seen. The collector measures each response (`feedback_rtt_us`).

use crate::stats::quantile;
use crate::window::FlowWindow;

/// Least number of samples: a single sample may be a retransmission after a timeout.
const LEAST: usize = 3;
/// Most samples are a little too long, by the time between two packets or a delayed
/// acknowledgement; some include timeouts, or are too short because reports are missing.
const QUANTILE: f64 = 0.35;
/// Quantiles whose distance gives the uncertainty of the estimate.
const SPREAD: (f64, f64) = (0.2, 0.5);
/// Smallest relative error.
const ERROR: f64 = 0.02;

/// Returns the base RTT (s) and its relative error.
pub(crate) fn feedback(flow: &FlowWindow<'_>) -> Option<(f64, f64)> {
    let samples: Vec<f64> = flow
        .history
        .iter()
        .map(|r| r.feedback_rtt_us)
        .filter(|&us| us > 0)
        .map(|us| f64::from(us) / 1e6)
        .collect();
    if samples.len() < LEAST {
        return None;
    }
    let seconds = quantile(&samples, QUANTILE)?;
    let (low, high) = (quantile(&samples, SPREAD.0)?, quantile(&samples, SPREAD.1)?);
    Some((seconds, ERROR + (high - low) / seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::FlowInterval;

    fn told(samples_us: &[u32]) -> Option<(f64, f64)> {
        let records: Vec<FlowInterval> = samples_us
            .iter()
            .map(|&feedback_rtt_us| FlowInterval {
                packets: 1,
                feedback_rtt_us,
                ..FlowInterval::default()
            })
            .collect();
        feedback(&FlowWindow::of_records(records.iter().collect()))
    }

    /// One repair after a timeout, one sample with missing reports, and records without samples.
    #[test]
    fn odd_samples_do_not_matter() {
        let mut samples = [20_100, 20_200, 0, 20_150, 20_120, 0, 20_180, 20_110, 20_160].to_vec();
        let (seconds, error) = told(&samples).unwrap();
        assert!((seconds - 0.0201).abs() < 1e-4, "{seconds}");
        assert!(error < 0.025, "{error}");
        samples.extend([3_000, 420_000]);
        let (seconds, error) = told(&samples).unwrap();
        assert!((seconds - 0.0201).abs() < 1e-4, "{seconds}");
        assert!(error < 0.03, "{error}");
    }

    /// Samples of a flow that queues elsewhere.
    #[test]
    fn samples_that_differ_are_known_so_roughly() {
        let (_, error) = told(&[24_000, 36_000, 47_000, 58_000]).unwrap();
        assert!(error > 0.3, "{error}");
    }

    #[test]
    fn one_or_two_tell_nothing() {
        assert_eq!(told(&[20_000, 0, 20_000]), None);
        assert_eq!(told(&[]), None);
    }
}
