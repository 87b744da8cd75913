// SPDX-License-Identifier: Apache-2.0
//! Programs with swapped and replaced values.

use crate::cases::cases;
use crate::choices::Choices;
use crate::common;
use crate::frames::feed;
use p4_ir::load;
use p4_vm::Image;
use p4runtime_server::target as t;
use serde_json::Value;
use std::sync::OnceLock;
use tidemark_switch::p4runtime::{insert, set_default, set_group, set_member};
use traffic_manager::Switch;

/// Largest number of values changed in one program.
const MOST_CHANGES: usize = 4;
/// Number of frames sent through a program that loads.
const FRAMES: usize = 20;

/// A valid program, and the number of values in it.
struct Root {
    value: Value,
    values: usize,
}

fn roots() -> &'static [Root] {
    static ROOTS: OnceLock<Vec<Root>> = OnceLock::new();
    ROOTS.get_or_init(|| {
        let root = |json: &[u8]| {
            let value = serde_json::from_slice(json).unwrap();
            let values = count(&value);
            Root { value, values }
        };
        cases().iter().map(|c| root(&c.json)).collect()
    })
}

fn count(v: &Value) -> usize {
    1 + match v {
        Value::Array(a) => a.iter().map(count).sum(),
        Value::Object(o) => o.values().map(count).sum(),
        _ => 0,
    }
}

/// Returns value number `n` inside `v`, in order.
fn nth<'v>(v: &'v mut Value, n: &mut usize) -> Option<&'v mut Value> {
    if *n == 0 {
        return Some(v);
    }
    *n -= 1;
    match v {
        Value::Array(a) => a.iter_mut().find_map(|x| nth(x, n)),
        Value::Object(o) => o.values_mut().find_map(|x| nth(x, n)),
        _ => None,
    }
}

fn change(c: &mut Choices<'_>, root: &mut Value, values: usize) {
    let (mut at, mut from) = (c.below(values), c.below(values));
    let kind = c.below(9);
    let donor = nth(root, &mut from).cloned().unwrap_or_default();
    let Some(v) = nth(root, &mut at) else {
        return;
    };
    *v = match kind {
        0 => Value::Null,
        1 => Value::from(c.u64()),
        2 => Value::from(-(c.below(300) as i64)),
        3 => Value::from("0xffffffffffffffffffffffffffffffffffff"),
        4 => Value::from(c.below(2) == 0),
        5 => Value::Array(Vec::new()),
        6 => Value::from(format!("0x{:x}", c.below(300))),
        _ => donor,
    };
}

/// Adds members, a group and an entry, if the program still has places for them.
fn populate(s: &mut Switch) {
    let Some(l) = s.loaded_mut() else { return };
    let e = &mut l.engine;
    let forward = common::call("Switch.forward", &[&[0, 1], &[0, 7]]);
    let members = [t::WeightedMember {
        member: 1,
        weight: 3,
    }];
    let _ = set_member(e, "Switch.paths", 1, Some(&forward));
    let _ = set_group(e, "Switch.paths", 1, Some(&members));
    let entry = t::TableEntry {
        matches: vec![t::KeyMatch {
            bits: 48,
            value: t::MatchValue::Exact(common::mac(2).to_vec()),
        }],
        priority: 0,
        action: t::EntryAction::Group(1),
    };
    let _ = insert(e, "Switch.l2", t::EntryId(1), &entry);
    let learn = common::call("Switch.learn", &[]);
    let _ = set_default(e, "Switch.sources", Some(&learn));
}

/// Tries a damaged program: it is refused, or it loads and gets frames.
pub fn program(data: &[u8]) {
    let mut c = Choices::new(data);
    let roots = roots();
    let root = &roots[c.below(roots.len())];
    let mut v = root.value.clone();
    for _ in 0..=c.below(MOST_CHANGES) {
        change(&mut c, &mut v, root.values);
    }
    let Ok(p) = load(v.to_string().as_bytes()) else {
        return;
    };
    let mut s = Switch::new();
    s.load(Image::new(p));
    populate(&mut s);
    let mut time_ns = 0;
    for _ in 0..FRAMES {
        feed(&mut c, &mut s, &mut time_ns);
    }
}
