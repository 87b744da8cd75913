// SPDX-License-Identifier: Apache-2.0
use super::*;
use tidemark_proto::telemetry::ProbeInterval;

fn interval(ms: u64, flow_id: u64, cwnd: Option<u32>) -> FlowInterval {
    FlowInterval {
        flow_id,
        start_ns: ms * 1_000_000,
        duration_ns: 10_000_000,
        packets: 10,
        ip_bytes: 15_000,
        payload_bytes: 14_000,
        drops: u32::from(ms.is_multiple_of(500)),
        probe: cwnd.map(|cwnd_last| ProbeInterval {
            samples: 1,
            cwnd_last,
            inflight_last_bytes: cwnd_last * 1400,
            srtt_last_us: 150_000,
            ..ProbeInterval::default()
        }),
        ..FlowInterval::default()
    }
}

fn filled() -> FlowWindows {
    let mut w = FlowWindows::keeping(10, 1);
    for ms in (0..3000).step_by(10) {
        w.push(&interval(ms, 1, Some(10 + (ms / 100) as u32)));
        w.push(&interval(ms, 2, (ms < 500).then_some(7)));
        w.push(&interval(ms, 3, None));
    }
    w
}

#[test]
fn a_step_has_the_last_window_and_all_drops() {
    let a = filled().query(0, 1_000_000_000, 100, &[1, 9], 0);
    assert_eq!((a.step_ns, a.steps.len()), (STEP_NS, 10));
    assert_eq!(a.flows[0].cwnd_pkts[3], Some(13));
    assert_eq!(a.flows[0].drops, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    // Unknown flows have empty columns of the same length.
    assert_eq!(a.flows[1].cwnd_pkts, vec![None; 10]);
    // 15000 bytes in the queue carry 14000 of payload.
    let in_flight = a.flows[0].in_flight_bytes[0].unwrap();
    assert!((in_flight - 15_000.0).abs() < 1e-6, "{in_flight}");
}

#[test]
fn the_sum_forgets_who_is_silent() {
    let a = filled().query(0, 3_000_000_000, 100, &[], 0);
    assert_eq!(a.steps[0].cwnd_sum_pkts, Some(17.0));
    // Flow 2 was sampled until 0.5 s; it counts until 2.4 s.
    assert_eq!((a.steps[20].probed_flows, a.steps[20].data_flows), (2, 3));
    assert_eq!(a.steps[26].probed_flows, 1);
    assert_eq!(a.steps[26].cwnd_sum_pkts, Some(36.0));
    // Its packets in flight were acknowledged within its RTT of 150 ms.
    let in_flight = |step: usize| a.steps[step].in_flight_sum_bytes.unwrap() / 1500.0;
    assert!((in_flight(5) - 15.0 - 7.0).abs() < 0.1, "{}", in_flight(5));
    assert!((in_flight(6) - 16.0).abs() < 0.1, "{}", in_flight(6));
    // Also if the span begins later than that.
    let later = filled().query(2_000_000_000, 2_100_000_000, 100, &[], 0);
    assert_eq!(later.steps[0].probed_flows, 2);
}

#[test]
fn merged_steps_end_with_the_last() {
    let a = filled().query(0, 2_000_000_000, 5, &[1], 0);
    assert_eq!((a.step_ns, a.steps.len()), (4 * STEP_NS, 5));
    assert_eq!(a.flows[0].cwnd_pkts[0], Some(13));
    assert_eq!(a.flows[0].drops.iter().sum::<u32>(), 4);
}

/// Of 20 unacknowledged segments of a sender that recovers from a loss, six were lost, four were
/// acknowledged selectively, and ten are in flight, as its window says.
#[test]
fn lost_and_selectively_acknowledged_segments_are_not_in_flight() {
    let mut w = FlowWindows::keeping(10, 1);
    for ms in (0..400).step_by(10) {
        let mut recovers = interval(ms, 1, Some(10));
        recovers.probe.as_mut().unwrap().inflight_last_bytes = 20 * 1400;
        // The last segments of a message are short.
        recovers.payload_bytes -= if ms < 100 { 700 } else { 0 };
        w.push(&recovers);
        // A flow that does not fill its window.
        let mut slow = interval(ms, 2, Some(10));
        slow.probe.as_mut().unwrap().inflight_last_bytes = 3 * 1400;
        w.push(&slow);
    }
    let a = w.query(0, 1_000_000_000, 100, &[1, 2], 0);
    let on_the_way = f64::from(14_000) * 15.0 / 14.0;
    for step in 1..3 {
        let seen = a.flows[0].in_flight_bytes[step].unwrap();
        assert!((seen / on_the_way - 1.0).abs() < 0.02, "{seen}");
        let sum = a.steps[step].in_flight_sum_bytes.unwrap();
        assert!((sum / (1.3 * on_the_way) - 1.0).abs() < 0.02, "{sum}");
    }
}

#[test]
fn memory_is_bounded() {
    let mut w = FlowWindows::keeping(10, 1);
    for ms in (0..20_000).step_by(100) {
        for flow in 0..1000 {
            w.push(&interval(ms, flow, Some(1)));
        }
    }
    assert_eq!(w.rows.len(), MOST_ROWS);
    let newest = w.rows.back().map(|r| r.start_ns);
    w.bound(Share::among(1_000_000));
    assert_eq!(w.rows.len(), LEAST_ROWS);
    assert_eq!(w.rows.back().map(|r| r.start_ns), newest);
    assert!(w.query(0, 1_000_000_000, 10, &[], 0).steps.is_empty());
}
