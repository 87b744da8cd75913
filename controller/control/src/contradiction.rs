// SPDX-License-Identifier: Apache-2.0
//! Detects delay and occupancy that contradict each other.
//!
//! A packet that meets an occupancy waits for it to drain. If packets wait much longer, they wait
//! elsewhere than in the counted queue: in the input buffer of a software switch that gets too
//! little processor time, or behind a capacity that the port does not have. Neither loss nor delay
//! then follows from the limit, and no advice should be applied.

use tidemark_estimators::LinkEstimate;

/// Ratio of delay to the drain time of the occupancy from which they contradict each other: a third
/// of the delay was then spent outside the queue. (A starved switch at a ratio of 2.3 had N_b 0 for
/// 6 flows, and its advice cost a quarter of the utilisation; a switch that keeps up is at 1.)
const OCCUPANCY_FACTOR: f64 = 1.5;
/// Ratio of the longest delays to the drain time of the whole limit; higher, because few packets
/// determine these delays.
const LIMIT_FACTOR: f64 = 2.0;
/// Additional delay of a software switch that is tolerated, ms.
const SLACK_MS: f64 = 5.0;
/// Segment size of a port where no data packet was seen, bytes.
const SEGMENT_BYTES: f64 = 1514.0;

/// Returns the name of the contradiction in an estimate and its evidence; `None` if there is no
/// contradiction or it cannot be determined.
pub fn contradiction(e: &LinkEstimate) -> Option<String> {
    if e.two_clocks {
        return Some("two_clocks: two exporters, or a recording, report as this node".to_owned());
    }
    if e.queue_drain_bps <= 0.0 {
        return None;
    }
    let segment = if e.segment_bytes > 0.0 {
        e.segment_bytes
    } else {
        SEGMENT_BYTES
    };
    let drains_in_ms = |bytes: f64| (bytes + segment) * 8e3 / e.queue_drain_bps;
    let too_long =
        |factor: f64, delay_ms: f64, bytes: f64| delay_ms > factor * drains_in_ms(bytes) + SLACK_MS;
    // If the queue drains at its rate, delay and occupancy have the same distribution.
    for (what, delay_ms, bytes) in [
        ("mean", e.delay_ms.mean, e.occupancy_bytes.mean),
        ("median", e.delay_ms.p50, e.occupancy_bytes.p50),
    ] {
        if let (Some(delay_ms), Some(bytes)) = (delay_ms, bytes)
            && too_long(OCCUPANCY_FACTOR, delay_ms, bytes)
        {
            return Some(format!(
                "delay_above_occupancy: the {what} delay is {delay_ms:.1} ms, and the {what} occupancy drains in {:.1} ms: packets wait outside the queue that is counted",
                drains_in_ms(bytes)
            ));
        }
    }
    // The queue of a port that marks exceeds its threshold.
    let limit = e.limit_bytes.filter(|_| e.ce_marked == 0);
    if let (Some(delay_ms), Some(limit)) = (e.delay_ms.p99, limit)
        && too_long(LIMIT_FACTOR, delay_ms, limit as f64)
    {
        return Some(format!(
            "delay_above_limit: the 99th percentile of delay is {delay_ms:.1} ms, and the limit drains in {:.1} ms: the switch holds more packets than its limit allows",
            drains_in_ms(limit as f64)
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_estimators::{Estimator, EstimatorConfig, LinkId};

    /// 100 Mb/s with an occupancy of 125 kB: 10 ms.
    fn estimate(mean_ms: f64, p99_ms: f64) -> LinkEstimate {
        let id = LinkId {
            node_id: 10,
            port: 5,
            queue: 0,
        };
        let mut e = Estimator::new(EstimatorConfig::default()).estimate(id, 0, 1);
        e.queue_drain_bps = 100e6;
        e.segment_bytes = 1514.0;
        e.limit_bytes = Some(250_000);
        e.occupancy_bytes.mean = Some(125_000.0);
        (e.delay_ms.mean, e.delay_ms.p99) = (Some(mean_ms), Some(p99_ms));
        e
    }

    #[test]
    fn a_queue_that_drains_as_it_should() {
        assert_eq!(contradiction(&estimate(10.0, 20.0)), None);
        assert_eq!(contradiction(&estimate(14.0, 30.0)), None);
        let mut unknown = estimate(500.0, 500.0);
        unknown.queue_drain_bps = 0.0;
        assert_eq!(contradiction(&unknown), None);
    }

    /// Measured on a software switch at more packets per second than it can carry: half of the
    /// packets waited 43 ms, while half met an occupancy that drains in 19 ms.
    #[test]
    fn packets_that_wait_as_long_elsewhere_as_in_the_queue() {
        let mut starved = estimate(12.0, 30.0);
        starved.occupancy_bytes.p50 = Some(19.0 * 12_500.0 - 1514.0);
        starved.delay_ms.p50 = Some(43.0);
        let said = contradiction(&starved).unwrap();
        assert!(said.contains("the median delay is 43.0 ms"), "{said}");
        assert!(said.contains("drains in 19.0 ms"), "{said}");
        starved.delay_ms.p50 = Some(33.0);
        assert_eq!(contradiction(&starved), None);
    }

    #[test]
    fn packets_that_wait_elsewhere() {
        let said = |e| contradiction(&e).unwrap();
        assert!(said(estimate(90.0, 100.0)).starts_with("delay_above_occupancy"));
        assert!(said(estimate(12.0, 100.0)).starts_with("delay_above_limit"));
        let mut marks = estimate(12.0, 100.0);
        marks.ce_marked = 1;
        assert_eq!(contradiction(&marks), None);
        // The queue is nearly empty in a switch that is starved.
        let mut starved = estimate(40.0, 60.0);
        starved.occupancy_bytes.mean = Some(0.0);
        assert!(said(starved).contains("40.0 ms"));
    }
}
