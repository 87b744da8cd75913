// SPDX-License-Identifier: Apache-2.0
//! Action profiles, selectors, meters, digests and value sets in virtual time: the program
//! reports in a header what it saw.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{Captured, call, mac};
use p4_ir::load;
use p4_vm::Image;
use p4_vm::MeterRates;
use p4runtime_server::target::{
    EntryAction, EntryId, KeyMatch, MatchValue, TableEntry, WeightedMember,
};
use tidemark_switch::p4runtime::{insert, modify, set_default, set_group, set_member};
use traffic_manager::{PortConfig, Switch};

const MARK: u16 = 0x88b5;
const L2: EntryId = EntryId(1);

fn switch() -> Switch {
    let mut s = Switch::new();
    s.load(Image::new(
        load(include_bytes!("../data/entities/entities.json")).unwrap(),
    ));
    for port in 1..=3 {
        s.configure(port, PortConfig::default());
    }
    for (id, port) in [(30, 1), (10, 2), (20, 3)] {
        let to = call("Switch.forward", &[&[0, port], &[0, id]]);
        set_member(
            &mut s.loaded_mut().unwrap().engine,
            "Switch.paths",
            id.into(),
            Some(&to),
        )
        .unwrap();
    }
    let e = &mut s.loaded_mut().unwrap().engine;
    insert(
        e,
        "Switch.l2",
        L2,
        &exact(48, &mac(1), EntryAction::Member(30)),
    )
    .unwrap();
    s
}

fn exact(bits: u32, value: &[u8], action: EntryAction) -> TableEntry {
    TableEntry {
        matches: vec![KeyMatch {
            bits,
            value: MatchValue::Exact(value.to_vec()),
        }],
        priority: 0,
        action,
    }
}

fn frame(source: u8, kind: u16) -> Vec<u8> {
    let mut f = mac(1).to_vec();
    // Spread out, so that hashes differ.
    f.extend([2, 0]);
    f.extend(u32::from(source).wrapping_mul(0x9E37_79B1).to_be_bytes());
    f.extend(kind.to_be_bytes());
    f.extend([0; 60]);
    f
}

struct Mark {
    port: u32,
    meter: u8,
    direct: u8,
    class: u16,
    path: u16,
}

/// Returns the program's mark on a frame into port 2; `None` if the program drops it.
fn mark(s: &mut Switch, source: u8, time_ns: u64) -> Option<Mark> {
    let mut out = Captured::default();
    s.run_until(time_ns, &mut out);
    s.receive(2, &frame(source, MARK), time_ns);
    s.run_until(time_ns, &mut out);
    let (port, _, f) = out.0.pop()?;
    assert!(out.0.is_empty());
    let two = |i: usize| u16::from_be_bytes([f[i], f[i + 1]]);
    Some(Mark {
        port,
        meter: f[14],
        direct: f[15],
        class: two(16),
        path: two(18),
    })
}

#[test]
fn members_and_groups() {
    let mut s = switch();
    let m = mark(&mut s, 9, 0).unwrap();
    assert_eq!((m.port, m.path), (1, 30));
    let e = &mut s.loaded_mut().unwrap().engine;
    let members =
        [(10, 1), (20, 2), (30, 1)].map(|(member, weight)| WeightedMember { member, weight });
    set_group(e, "Switch.paths", 7, Some(&members)).unwrap();
    modify(e, "Switch.l2", L2, &EntryAction::Group(7)).unwrap();
    let chosen: Vec<u16> = (0..=255)
        .map(|source| mark(&mut s, source, 0).unwrap().path)
        .collect();
    let again: Vec<u16> = (0..=255)
        .map(|source| mark(&mut s, source, 0).unwrap().path)
        .collect();
    assert_eq!(chosen, again, "the hash decides");
    let count = |path| chosen.iter().filter(|p| **p == path).count();
    assert!(count(20) > 90 && count(20) < 170, "{}", count(20));
    assert!(count(10) > 35 && count(30) > 35);
    // Empty group: no action, so nothing undoes the drop.
    let e = &mut s.loaded_mut().unwrap().engine;
    set_group(e, "Switch.paths", 7, Some(&[])).unwrap();
    assert!(mark(&mut s, 9, 0).is_none());
    // A member that does not exist does nothing either.
    let e = &mut s.loaded_mut().unwrap().engine;
    modify(e, "Switch.l2", L2, &EntryAction::Member(99)).unwrap();
    assert!(mark(&mut s, 9, 0).is_none());
    let e = &mut s.loaded_mut().unwrap().engine;
    let wrong = call("Switch.set_class", &[&[0, 1]]);
    assert!(set_member(e, "Switch.paths", 1, Some(&wrong)).is_err());
    assert!(set_member(e, "Switch.other", 1, None).is_err());
    let of_plain = exact(9, &[0, 1], EntryAction::Member(30));
    assert!(insert(e, "Switch.police", EntryId(9), &of_plain).is_err());
}

#[test]
fn action_profile_without_selector() {
    let mut s = switch();
    let e = &mut s.loaded_mut().unwrap().engine;
    let class = call("Switch.set_class", &[&[1, 44]]);
    set_member(e, "Switch.classes", 1, Some(&class)).unwrap();
    let mut entry = exact(16, &[], EntryAction::Member(1));
    entry.matches[0].value = MatchValue::Ternary {
        value: MARK.to_be_bytes().to_vec(),
        mask: vec![0xff, 0xff],
    };
    entry.priority = 1;
    insert(e, "Switch.classify", EntryId(1), &entry).unwrap();
    assert_eq!(mark(&mut s, 9, 0).unwrap().class, 300);
}

#[test]
fn meters_refill_in_virtual_time() {
    let mut s = switch();
    let e = &mut s.loaded_mut().unwrap().engine;
    // Committed: one packet per second; peak: two.
    let rates = MeterRates {
        committed_rate: 1e-6,
        committed_burst: 1.0,
        peak_rate: 2e-6,
        peak_burst: 2.0,
    };
    e.meter_mut("Switch.rate").unwrap()[2].set(Some(rates));
    let second = 1_000_000_000u64;
    let mut at = |t: u64| mark(&mut s, 9, t).unwrap().meter;
    let colours = [0, 0, 0].map(|_| at(10 * second));
    assert_eq!(colours, [0, 1, 2]);
    assert_eq!(
        at(10 * second + second / 2),
        1,
        "half a second: one at the peak"
    );
    assert_eq!([at(11 * second), at(11 * second)], [0, 2]);
}

#[test]
fn direct_meters_count_bytes() {
    let mut s = switch();
    let e = &mut s.loaded_mut().unwrap().engine;
    let permit = EntryAction::Call(call("Switch.police_permit", &[]));
    let entry = exact(9, &[0, 2], permit);
    insert(e, "Switch.police", EntryId(5), &entry).unwrap();
    let (_, state) = e.table_mut("Switch.police").unwrap();
    let bytes = frame(9, MARK).len() as f64;
    state
        .entry_mut(p4_vm::EntryId::Added(5))
        .unwrap()
        .meter
        .set(Some(MeterRates {
            committed_rate: 0.0,
            committed_burst: bytes,
            peak_rate: 0.0,
            peak_burst: 2.5 * bytes,
        }));
    let colours = [0; 4].map(|_| mark(&mut s, 9, 0).unwrap().direct);
    assert_eq!(colours, [0, 1, 2, 2]);
    let e = &mut s.loaded_mut().unwrap().engine;
    let (_, state) = e.table_mut("Switch.police").unwrap();
    assert_eq!(
        state.entry(p4_vm::EntryId::Added(5)).unwrap().count.packets,
        4
    );
}

#[test]
fn digests_hold_the_fields() {
    let mut s = switch();
    let e = &mut s.loaded_mut().unwrap().engine;
    set_default(e, "Switch.sources", Some(&call("Switch.learn", &[]))).unwrap();
    mark(&mut s, 9, 0).unwrap();
    let (name, data) = s.loaded_mut().unwrap().digests.pop_front().unwrap();
    assert_eq!(&*name, "learned_t");
    let mut want = frame(9, MARK)[6..12].to_vec();
    want.extend([0, 2, 0, 0]);
    assert_eq!(data, want);
    // Digests that are not fetched do not pile up.
    for source in 0..5_000u32 {
        mark(&mut s, source as u8, 0);
    }
    assert!(s.loaded_mut().unwrap().digests.len() <= 1024);
    assert!(s.stats().dropped_digests > 3_000);
}

#[test]
fn value_sets_select_parser_states() {
    let mut s = switch();
    let send = |s: &mut Switch| {
        let mut out = Captured::default();
        s.receive(2, &frame(9, 0x88b9), 0);
        s.run_until(0, &mut out);
        out.0.pop().unwrap().2.len()
    };
    let plain = send(&mut s);
    *s.loaded_mut()
        .unwrap()
        .engine
        .value_set_mut("Parse.kinds")
        .unwrap() = vec![vec![0x88b9]];
    assert_eq!(send(&mut s), plain + 11, "the program added a mark");
}
