// SPDX-License-Identifier: Apache-2.0
//! A switch in virtual time with the real program, and frames to feed it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use p4_ir::load;
use p4_vm::Image;
use p4runtime_server::target::{ActionCall, EntryId, KeyMatch, MatchValue, TableEntry};
use tidemark_switch::p4runtime::{insert, set_default};
use traffic_manager::super_frame::{Gso, VnetHeader};
use traffic_manager::{CloneSession, PortConfig, Replica, Switch, Wire};

pub(crate) const REPORT_PORT: u32 = 9;

#[derive(Default)]
pub(crate) struct Captured(pub Vec<(u32, u64, Vec<u8>)>);

impl Wire for Captured {
    fn transmit(&mut self, port: u32, frame: Vec<u8>, time_ns: u64) {
        self.0.push((port, time_ns, frame));
    }
}

impl Captured {
    pub(crate) fn on(&self, port: u32) -> Vec<&(u32, u64, Vec<u8>)> {
        self.0.iter().filter(|f| f.0 == port).collect()
    }
}

pub(crate) fn program() -> Vec<u8> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../p4src/build/tidemark.json"
    );
    std::fs::read(path).unwrap()
}

pub(crate) fn mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}

/// Hosts 1, 2, 3 on ports 1, 2, 3; the collector on port 9; every TCP and UDP
/// packet watched.
pub(crate) fn tidemark() -> Switch {
    let mut s = Switch::new();
    s.load(Image::new(load(&program()).unwrap()));
    for p in [1, 2, 3, REPORT_PORT] {
        s.configure(p, PortConfig::default());
    }
    let e = &mut s.loaded_mut().unwrap().engine;
    for host in 1..=3u8 {
        let entry = TableEntry {
            matches: vec![KeyMatch {
                bits: 48,
                value: MatchValue::Exact(mac(host).to_vec()),
            }],
            priority: 0,
            action: call("Ingress.forward", &[&[0, host]]).into(),
        };
        insert(e, "Ingress.l2_forward", EntryId(u64::from(host)), &entry).unwrap();
    }
    let any = |bits: u32| KeyMatch {
        bits,
        value: MatchValue::Ternary {
            value: vec![0; bits.div_ceil(8) as usize],
            mask: vec![0; bits.div_ceil(8) as usize],
        },
    };
    let watch = TableEntry {
        // Addresses, protocol, ports, ingress and egress port.
        matches: [32, 32, 8, 16, 16, 9, 9].map(any).into(),
        priority: 1,
        action: call("Ingress.report", &[&[0]]).into(),
    };
    insert(e, "Ingress.watch", EntryId(1), &watch).unwrap();
    let to = call(
        "Egress.set_destination",
        &[
            &mac(0x51),
            &mac(0x52),
            &[10, 9, 0, 1],
            &[10, 9, 0, 2],
            &32766u16.to_be_bytes(),
            &3u16.to_be_bytes(),
            &10u32.to_be_bytes(),
        ],
    );
    set_default(e, "Egress.report_to", Some(&to)).unwrap();
    s.loaded_mut().unwrap().sessions.insert(
        1,
        CloneSession {
            replicas: vec![Replica {
                port: REPORT_PORT,
                rid: 1,
            }],
            length_bytes: None,
        },
    );
    s.loaded_mut().unwrap().groups.insert(
        1,
        (1..=3)
            .map(|p| Replica {
                port: p,
                rid: p as u16,
            })
            .collect(),
    );
    s
}

pub(crate) fn limit(s: &mut Switch, port: u16, bytes: u32) {
    let entry = TableEntry {
        matches: vec![KeyMatch {
            bits: 9,
            value: MatchValue::Exact(port.to_be_bytes().to_vec()),
        }],
        priority: 0,
        action: call("Ingress.drop_tail", &[&bytes.to_be_bytes()]).into(),
    };
    let e = &mut s.loaded_mut().unwrap().engine;
    insert(e, "Ingress.queue_limit", EntryId(u64::from(port)), &entry).unwrap();
}

pub(crate) fn call(name: &str, params: &[&[u8]]) -> ActionCall {
    ActionCall {
        name: name.into(),
        params: params.iter().map(|p| p.to_vec()).collect(),
    }
}

/// A TCP segment from host to host, `bytes` long without FCS.
pub(crate) fn tcp(from: u8, to: u8, sequence: u32, bytes: usize) -> Vec<u8> {
    let mut f = Vec::with_capacity(bytes);
    f.extend(mac(to));
    f.extend(mac(from));
    f.extend([8, 0]);
    f.extend([0x45, 0]);
    f.extend(((bytes - 14) as u16).to_be_bytes());
    f.extend([0, 7, 0x40, 0, 64, 6, 0, 0]);
    f.extend([10, 0, 0, from]);
    f.extend([10, 0, 0, to]);
    let sum = internet_checksum(&f[14..34]);
    f[24..26].copy_from_slice(&sum.to_be_bytes());
    f.extend(5001u16.to_be_bytes());
    f.extend(80u16.to_be_bytes());
    f.extend(sequence.to_be_bytes());
    f.extend([0, 0, 0, 9, 0x50, 0x10, 0x20, 0, 0xbe, 0xef, 0, 0]);
    f.resize(bytes, 0xa5);
    f
}

/// A super-frame of `segments` of [`tcp`]'s flow, each with this many bytes of payload.
pub(crate) fn bulk(segments: usize, segment_bytes: usize) -> (Vec<u8>, VnetHeader) {
    let payload = segments * segment_bytes;
    let mut f = tcp(1, 2, 0, 54 + payload);
    let length = (20 + payload) as u16;
    let mut pseudo = f[26..34].to_vec();
    pseudo.extend([0, 6]);
    pseudo.extend(length.to_be_bytes());
    f[50..52].copy_from_slice(&(!internet_checksum(&pseudo)).to_be_bytes());
    let vnet = VnetHeader {
        needs_checksum: true,
        gso: Gso::TcpV4,
        header_bytes: 54,
        segment_bytes: segment_bytes as u16,
        checksum_start: 34,
        checksum_offset: 16,
        ..VnetHeader::NONE
    };
    (f, vnet)
}

pub(crate) fn internet_checksum(data: &[u8]) -> u16 {
    let mut s = 0u32;
    for c in data.chunks(2) {
        s += (u32::from(c[0]) << 8) | u32::from(c.get(1).copied().unwrap_or(0));
    }
    while s >> 16 != 0 {
        s = (s & 0xffff) + (s >> 16);
    }
    !(s as u16)
}
