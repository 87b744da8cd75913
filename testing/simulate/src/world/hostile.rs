// SPDX-License-Identifier: Apache-2.0
//! Datagrams that no honest sender sends.

use super::state::{Event, World};
use crate::fault::{Hostile, Kind};
use crate::frame::EXPORTER;
use crate::parts::reports::Datagram;
use std::net::{IpAddr, Ipv4Addr};

/// Offsets of the egress and ingress times in a report, bytes.
const TIMES: [usize; 2] = [28, 36];
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 66));

impl World {
    pub(super) fn hostile(&mut self, i: usize) {
        let Kind::Hostile(how, per_second) = self.plan.faults[i].kind else {
            return;
        };
        if !self.active[i] {
            return;
        }
        self.schedule(
            1_000_000_000 / u64::from(per_second.max(1)),
            Event::Hostile(i),
        );
        let r = &mut self.fault_rngs[i];
        let kept = r.index(self.reports.kept.len());
        let Some(mut payload) = self.reports.kept.get(kept).cloned() else {
            return;
        };
        let mut exporter = IpAddr::V4(EXPORTER);
        match how {
            Hostile::UnknownNode => {
                let node = r.next_u64() as u32 | 0x100;
                payload[4..8].copy_from_slice(&node.to_be_bytes());
            }
            Hostile::WrongExporter => exporter = STRANGER,
            Hostile::Replay => {}
            Hostile::Mutated => {
                for _ in 0..r.between(1, 6) {
                    let at = r.index(payload.len());
                    payload[at] ^= 1 << r.index(8);
                }
            }
            Hostile::Future => {
                let ahead = r.between(1, 100_000) * 1_000_000;
                for at in TIMES {
                    shift_time(&mut payload, at, ahead);
                }
            }
            Hostile::Ahead => {
                let number = r.next_u64() as u32 & 0x3f_ffff;
                let word = u32::from_be_bytes([payload[0], payload[1], payload[2], payload[3]]);
                let word = (word & !0x3f_ffff) | number;
                payload[..4].copy_from_slice(&word.to_be_bytes());
            }
        }
        self.at_collector(Datagram {
            exporter,
            payload,
            // A repeated datagram is one that the switch sent, whether or not it was lost.
            honest: (how == Hostile::Replay).then_some(self.switch.epoch),
        });
    }
}

fn shift_time(payload: &mut [u8], at: usize, ahead_ns: u64) {
    if let Some(bytes) = payload.get_mut(at..at + 8)
        && let Ok(time) = <[u8; 8]>::try_from(&*bytes)
    {
        let time = u64::from_be_bytes(time).wrapping_add(ahead_ns);
        bytes.copy_from_slice(&time.to_be_bytes());
    }
}
