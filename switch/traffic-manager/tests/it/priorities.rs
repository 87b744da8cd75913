// SPDX-License-Identifier: Apache-2.0
//! Strict-priority queues of one port.
#![allow(clippy::unwrap_used)]

use crate::common::{Out, assign, field, hex, program};
use p4_ir::load;
use p4_vm::Image;
use serde_json::json;
use traffic_manager::{PortConfig, Switch};

/// A switch whose frames `[priority, 0, id]` leave by port 1 as `[enq_qdepth, deq_qdepth, qid]`
/// followed by the id, 8 ms each.
fn switch(priorities: usize, depth_packets: u32) -> Switch {
    let mut p = program(json!([
        assign(["standard_metadata", "egress_spec"], hex("0x01")),
        assign(["standard_metadata", "priority"], field("h", "a")),
    ]));
    let fields = p["header_types"][1]["fields"].as_array_mut().unwrap();
    for (name, bits) in [
        ("priority", 3),
        ("enq_timestamp", 32),
        ("enq_qdepth", 19),
        ("deq_timedelta", 32),
        ("deq_qdepth", 19),
        ("qid", 5),
    ] {
        fields.push(json!([name, bits, false]));
    }
    // Two bytes of h.b: one for each.
    p["header_types"][2]["fields"] = json!([["a", 8, false], ["d", 8, false], ["b", 8, false]]);
    let egress = json!([
        assign(["h", "a"], field("standard_metadata", "enq_qdepth")),
        assign(["h", "d"], field("standard_metadata", "deq_qdepth")),
        assign(["h", "b"], field("standard_metadata", "qid")),
    ]);
    p["actions"].as_array_mut().unwrap().push(json!({
        "name": "seen", "id": 8, "runtime_data": [], "primitives": egress,
    }));
    let mut table = p["pipelines"][0]["tables"][0].clone();
    (table["name"], table["action_ids"], table["actions"]) =
        (json!("e"), json!([8]), json!(["seen"]));
    table["next_tables"] = json!({"seen": null});
    table["default_entry"]["action_id"] = json!(8);
    p["pipelines"][1]["tables"] = json!([table]);
    p["pipelines"][1]["init_table"] = json!("e");
    let mut s = Switch::new();
    s.load(Image::new(load(p.to_string().as_bytes()).unwrap()));
    s.set_priority_queues(priorities);
    // 4 bytes and 24 bytes of overhead in 8 ms.
    let rate_bps = 28_000;
    s.configure(
        1,
        PortConfig {
            rate_bps,
            depth_packets,
            ..PortConfig::default()
        },
    );
    s
}

/// Sends frames of these priorities at once, with ids 0 to n.
fn sent(s: &mut Switch, priorities: &[u8]) -> Vec<[u8; 4]> {
    let mut out = Out::default();
    for (id, priority) in priorities.iter().enumerate() {
        s.receive(0, &[*priority, 0, 0, id as u8], 1_000);
    }
    s.run_until(1_000_000_000, &mut out);
    out.frames()
        .iter()
        .map(|f| f.as_slice().try_into().unwrap())
        .collect()
}

#[test]
fn the_highest_that_holds_a_packet_is_served() {
    // Served at the first event: all have arrived by then.
    let left = sent(&mut switch(8, 0), &[0, 3, 7, 0, 3, 7]);
    let ids: Vec<u8> = left.iter().map(|f| f[3]).collect();
    assert_eq!(ids, [2, 5, 1, 4, 0, 3]);
    // Depths are those of the packet's own queue.
    let seen: Vec<[u8; 3]> = left.iter().map(|f| [f[0], f[1], f[2]]).collect();
    let two = |queue| [[0, 1, queue], [1, 0, queue]];
    assert_eq!(seen, [two(7), two(3), two(0)].concat());
}

#[test]
fn each_queue_has_its_own_depth() {
    let mut s = switch(2, 2);
    let ids: Vec<u8> = sent(&mut s, &[0, 0, 0, 1, 1, 1])
        .iter()
        .map(|f| f[3])
        .collect();
    assert_eq!(ids, [3, 4, 0, 1]);
    assert_eq!(s.port_mut(1).tail_dropped_packets, 2);
}

#[test]
fn a_priority_without_a_queue_is_dropped_and_counted() {
    let mut s = switch(1, 0);
    assert_eq!(sent(&mut s, &[0, 1, 7]).len(), 1);
    assert_eq!(s.stats().dropped_priority, 2);
    let mut s = switch(4, 0);
    assert_eq!(sent(&mut s, &[3, 4]).len(), 1);
    assert_eq!(s.stats().dropped_priority, 1);
}

#[test]
fn fewer_queues_lose_nothing_that_waits() {
    let mut s = switch(8, 0);
    for (id, priority) in [0u8, 7, 3].into_iter().enumerate() {
        s.receive(0, &[priority, 0, 0, id as u8], 1_000);
    }
    s.set_priority_queues(1);
    let mut out = Out::default();
    s.run_until(1_000_000_000, &mut out);
    assert_eq!(out.0.len(), 3);
}

/// Returns the times at which frames left, in ms, and their ids.
fn times(s: &mut Switch, priorities: &[u8]) -> Vec<(u64, u8)> {
    let mut out = Out::default();
    for (id, priority) in priorities.iter().enumerate() {
        s.receive(0, &[*priority, 0, 0, id as u8], 0);
    }
    s.run_until(1_000_000_000, &mut out);
    out.0
        .iter()
        .map(|(_, f, t)| (t / 1_000_000, f[3]))
        .collect()
}

#[test]
fn packets_per_second_are_of_each_queue() {
    let unlimited = PortConfig {
        depth_packets: 0,
        ..PortConfig::default()
    };
    let mut s = switch(1, 0);
    s.configure(1, unlimited);
    s.port_mut(1).set_rate_pps(100);
    // The first frame leaves when its service ends.
    assert_eq!(times(&mut s, &[0, 0, 0]), [(10, 0), (20, 1), (30, 2)]);

    let mut s = switch(2, 0);
    s.configure(1, unlimited);
    s.port_mut(1).set_queue_rate_pps(1, 100);
    // The lower queue, without a rate, does not wait for the higher, nor the other way round.
    let left = times(&mut s, &[0, 1, 1, 0, 1]);
    assert_eq!(left, [(0, 1), (0, 0), (0, 3), (10, 2), (20, 4)]);

    let mut s = switch(2, 0);
    s.configure(1, unlimited);
    s.port_mut(1).set_rate_pps(100);
    let left = times(&mut s, &[0, 0, 1, 1]);
    assert_eq!(left, [(0, 2), (0, 0), (10, 3), (10, 1)]);
    // A packet that arrives while the others wait for their rate.
    let mut out = Out::default();
    s.receive(0, &[0, 0, 0, 7], 2_000_000_000);
    s.receive(0, &[0, 0, 0, 8], 2_001_000_000);
    s.run_until(2_002_000_000, &mut out);
    s.receive(0, &[1, 0, 0, 9], 2_003_000_000);
    s.run_until(3_000_000_000, &mut out);
    let left: Vec<_> = out
        .0
        .iter()
        .map(|(_, f, t)| (t / 1_000_000, f[3]))
        .collect();
    assert_eq!(left, [(2000, 7), (2003, 9), (2010, 8)]);
}

#[test]
fn a_queue_can_have_a_depth_of_its_own() {
    let mut s = switch(2, 0);
    s.port_mut(1).set_depth(3);
    s.port_mut(1).set_queue_depth(1, 1);
    s.port_mut(1).set_queue_depth(9, 1);
    let ids: Vec<u8> = sent(&mut s, &[0, 0, 0, 0, 1, 1])
        .iter()
        .map(|f| f[3])
        .collect();
    assert_eq!(ids, [4, 0, 1, 2]);
}
