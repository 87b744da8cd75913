// SPDX-License-Identifier: Apache-2.0
//! Sampled and unsampled flows on one link: watch entries select by address.

use tidemark_estimators::{Estimator, EstimatorConfig, LinkId, LinkInfo};
use tidemark_proto::telemetry::{FlowInterval, LinkInterval, Update};

const INTERVAL_NS: u64 = 10_000_000;
const INTERVALS: u64 = 1000;
const PACKET_BYTES: u64 = 1500;
const CAPACITY_BPS: u64 = 100_000_000;

/// Each flow reports 5 packets per interval, each of which stands for `stand_for` packets.
fn estimated(stand_for: [u32; 2]) -> tidemark_estimators::LinkEstimate {
    let mut estimator = Estimator::new(EstimatorConfig::default());
    let info = LinkInfo {
        capacity_bps: CAPACITY_BPS,
        wire_overhead_bytes: 0,
        ..LinkInfo::default()
    };
    estimator.set_port((1, 2), info);
    let least = stand_for[0].min(stand_for[1]);
    let packets = 5 * (stand_for[0] + stand_for[1]) / least;
    for n in 0..INTERVALS {
        let start_ns = n * INTERVAL_NS;
        let flow = |i: usize| FlowInterval {
            flow_id: 1 + i as u64,
            node_id: 1,
            port: 2,
            start_ns,
            duration_ns: INTERVAL_NS,
            packets: 5,
            ip_bytes: 5 * PACKET_BYTES,
            wire_bytes: 5 * PACKET_BYTES,
            stands_for: stand_for[i],
            ..FlowInterval::default()
        };
        let link = LinkInterval {
            node_id: 1,
            port: 2,
            start_ns,
            duration_ns: INTERVAL_NS,
            packets,
            arrivals: packets,
            ip_bytes: u64::from(packets) * PACKET_BYTES,
            wire_bytes: u64::from(packets) * PACKET_BYTES,
            arrival_ip_bytes: u64::from(packets) * PACKET_BYTES,
            sampling_shift: least.ilog2(),
            most_sampling_shift: stand_for[0].max(stand_for[1]).ilog2(),
            reported_packets: 10,
            ..LinkInterval::default()
        };
        estimator.push(&Update {
            link_intervals: vec![link],
            flow_intervals: vec![flow(0), flow(1)],
            ..Update::default()
        });
    }
    estimator.estimate(LinkId::new(1, 2, 0), 0, INTERVALS * INTERVAL_NS)
}

#[test]
fn each_flow_has_the_rate_that_its_own_sampling_gives() {
    // 6 Mb/s for each packet that a reported packet stands for.
    for stand_for in [[1, 8], [8, 1], [2, 2], [1, 1], [4, 8]] {
        let e = estimated(stand_for);
        let rate = |flow| e.flows.iter().find(|f| f.flow == flow).unwrap().rate_bps / 6e6;
        assert!(
            (rate(1) - f64::from(stand_for[0])).abs() < 1e-6,
            "{stand_for:?}"
        );
        assert!(
            (rate(2) - f64::from(stand_for[1])).abs() < 1e-6,
            "{stand_for:?}"
        );
        let used = f64::from(stand_for[0] + stand_for[1]) * 6e6 / CAPACITY_BPS as f64;
        assert!(
            (e.utilisation.mean.unwrap() - used).abs() < 1e-6,
            "{stand_for:?}"
        );
        let load = e.estimates.rho.value;
        assert!(
            (load - used).abs() < 1e-6,
            "{stand_for:?}: {load} for {used}"
        );
        assert_eq!(e.utilisation.sampling_error.is_some(), stand_for != [1, 1]);
    }
}
