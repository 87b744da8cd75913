// SPDX-License-Identifier: Apache-2.0
use super::*;

const MS: u64 = 1_000_000;
/// Queueing delay of packets here.
const DELAY: u64 = 7 * MS;

fn packet(seq: u32, ingress_ns: u64) -> Observed {
    Observed {
        node: 0,
        port: 1,
        queue: 0,
        seq,
        ingress_ns,
        egress_ns: ingress_ns + DELAY,
        dropped: false,
        ce_marked: false,
        cwr: false,
        again: false,
    }
}

fn dropped(seq: u32, ingress_ns: u64) -> Observed {
    Observed {
        dropped: true,
        egress_ns: 0,
        ..packet(seq, ingress_ns)
    }
}

fn repair(seq: u32, ingress_ns: u64) -> Observed {
    Observed {
        again: true,
        ..packet(seq, ingress_ns)
    }
}

/// Returns the feedback time of each packet, us; 0 if it is no answer.
fn answers(packets: &[Observed]) -> Vec<u32> {
    let mut feedback = Feedback::default();
    packets.iter().map(|p| feedback.packet(p)).collect()
}

#[test]
fn a_repair_comes_a_base_rtt_after_the_third_packet_behind_the_loss_has_left() {
    let base = 20 * MS;
    let third_left = 13 * MS + DELAY;
    let told = answers(&[
        dropped(1000, 10 * MS),
        // In the queue before the drop, but reported after it.
        packet(0, 9 * MS),
        packet(2000, 11 * MS),
        packet(3000, 12 * MS),
        packet(4000, 13 * MS),
        packet(5000, 14 * MS),
        repair(1000, third_left + base),
        packet(6000, third_left + base + MS),
    ]);
    assert_eq!(told, [0, 0, 0, 0, 0, 0, 20_000, 0]);
}

#[test]
fn numbers_wrap() {
    let seq = |n: u32| 0xffff_fc00u32.wrapping_add(n * 1000);
    let told = answers(&[
        dropped(seq(0), 10 * MS),
        packet(seq(1), 11 * MS),
        packet(seq(2), 12 * MS),
        packet(seq(3), 13 * MS),
        repair(seq(0), 50 * MS),
    ]);
    assert_eq!(told, [0, 0, 0, 0, 30_000]);
}

#[test]
fn what_is_found_otherwise_tells_nothing() {
    // By a timeout: too few packets came after the loss.
    let told = answers(&[
        dropped(1000, 10 * MS),
        packet(2000, 11 * MS),
        packet(3000, 12 * MS),
        repair(1000, 250 * MS),
    ]);
    assert_eq!(told, [0; 4]);
    // Packets behind the loss were also lost.
    let told = answers(&[
        dropped(1000, 10 * MS),
        dropped(2000, 11 * MS),
        dropped(3000, 12 * MS),
        packet(4000, 13 * MS),
        repair(1000, 250 * MS),
    ]);
    assert_eq!(told, [0; 5]);
    // At another port.
    let elsewhere = |p| Observed { port: 2, ..p };
    let told = answers(&[
        dropped(1000, 10 * MS),
        elsewhere(packet(2000, 11 * MS)),
        elsewhere(packet(3000, 12 * MS)),
        elsewhere(packet(4000, 13 * MS)),
        repair(1000, 50 * MS),
    ]);
    assert_eq!(told, [0; 5]);
    // Long after.
    let told = answers(&[
        dropped(1000, 10 * MS),
        packet(2000, 11 * MS),
        packet(3000, 12 * MS),
        packet(4000, 13 * MS),
        repair(1000, 4000 * MS),
    ]);
    assert_eq!(told, [0; 5]);
}

/// A sender in recovery repairs on the first acknowledgement that shows another loss.
#[test]
fn losses_during_a_recovery_tell_nothing() {
    let loss = |seq: u32, at: u64| {
        [
            dropped(seq, at),
            packet(seq + 1000, at + MS),
            packet(seq + 2000, at + 2 * MS),
            packet(seq + 3000, at + 3 * MS),
        ]
    };
    let mut feedback = Feedback::default();
    let mut told =
        |packets: &[Observed]| -> Vec<u32> { packets.iter().map(|p| feedback.packet(p)).collect() };
    assert_eq!(told(&loss(1000, 500 * MS)), [0; 4]);
    assert_eq!(told(&[repair(1000, 530 * MS)]), [20_000]);
    // Within a round trip of 27 ms after the repair.
    assert_eq!(told(&loss(9000, 550 * MS)), [0; 4]);
    assert_eq!(told(&[repair(9000, 565 * MS)]), [0]);
    assert_eq!(told(&loss(19_000, 600 * MS)), [0; 4]);
    assert_eq!(told(&[repair(19_000, 631 * MS)]), [21_000]);
}

#[test]
fn cwr_answers_the_first_mark_since_the_last_one() {
    let marked = |seq, at| Observed {
        ce_marked: true,
        ..packet(seq, at)
    };
    let cwr = |seq, at| Observed {
        cwr: true,
        ..packet(seq, at)
    };
    let told = answers(&[
        cwr(0, MS),
        marked(1000, 10 * MS),
        marked(2000, 12 * MS),
        packet(3000, 14 * MS),
        cwr(4000, 10 * MS + DELAY + 30 * MS),
        cwr(5000, 90 * MS),
        marked(6000, 100 * MS),
        // It came before the marked packet had left.
        cwr(7000, 104 * MS),
        packet(8000, 120 * MS),
    ]);
    assert_eq!(told, [0, 0, 0, 0, 30_000, 0, 0, 0, 0]);
}

#[test]
fn nothing_is_awaited_once_it_was_answered_or_forgotten() {
    let mut feedback = Feedback::default();
    feedback.packet(&packet(0, MS));
    assert!(!feedback.is_awaited());
    feedback.packet(&dropped(1000, 10 * MS));
    assert!(feedback.is_awaited());
    feedback.packet(&repair(1000, 90 * MS));
    assert!(!feedback.is_awaited());
    feedback.packet(&Observed {
        ce_marked: true,
        ..packet(2000, 500 * MS)
    });
    assert!(feedback.is_awaited());
    feedback.packet(&packet(3000, 9_000 * MS));
    assert!(!feedback.is_awaited());
}

proptest::proptest! {
    /// Any sequence of packets causes neither a panic nor a time beyond what is remembered.
    #[test]
    fn any_order_of_packets_is_taken(
        packets in proptest::collection::vec(
            (proptest::num::u32::ANY, 0u64..20_000_000_000, 0u64..100_000_000, 0u8..32, 0u32..3),
            0..200,
        )
    ) {
        let mut feedback = Feedback::default();
        for (seq, ingress_ns, delay_ns, bits, port) in packets {
            let us = feedback.packet(&Observed {
                node: 0,
                port,
                queue: 0,
                seq: seq % 8 * 1000,
                ingress_ns,
                egress_ns: ingress_ns + delay_ns,
                dropped: bits & 1 != 0,
                ce_marked: bits & 2 != 0,
                cwr: bits & 4 != 0,
                again: bits & 8 != 0,
            });
            proptest::prop_assert!(u64::from(us) * 1000 <= FORGOTTEN_NS + MS);
        }
    }
}
