// SPDX-License-Identifier: Apache-2.0
//! Hostile input, generated: mutated programs, frames and P4Runtime messages.
//! Nothing may panic, hang or grow. `fuzz program|frame|write SECONDS [SEED]`
//! prints executions; a panic names the seed that repeats it.

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use p4_ir::load;
use p4_vm::Image;
use p4runtime_server::{Options, Server};
use prost::Message as _;
use serde_json::Value;
use tidemark_proto::p4::v1::{ForwardingPipelineConfig, WriteRequest};
use tidemark_switch::data_plane;
use tidemark_switch::p4runtime::EmbeddedTarget;
use traffic_manager::{Switch, Wire};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }
}

struct Nowhere;

impl Wire for Nowhere {
    fn transmit(&mut self, _: u32, _: Vec<u8>, _: u64) {}
}

fn damage(r: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=r.below(4) {
        let at = r.below(bytes.len());
        match r.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), r.next() as u8),
            2 if !bytes.is_empty() => {
                bytes.remove(at);
            }
            _ => {
                if let Some(b) = bytes.get_mut(at) {
                    *b = r.next() as u8;
                }
            }
        }
    }
}

fn count(v: &Value) -> usize {
    1 + match v {
        Value::Array(a) => a.iter().map(count).sum(),
        Value::Object(o) => o.values().map(count).sum(),
        _ => 0,
    }
}

/// Number `n` of the values inside `v`, in order.
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

fn mutate(r: &mut Random, root: &mut Value, values: usize) {
    for _ in 0..=r.below(3) {
        let donor = nth(root, &mut r.below(values)).cloned().unwrap_or_default();
        let kind = r.below(9);
        let Some(v) = nth(root, &mut r.below(values)) else {
            continue;
        };
        *v = match kind {
            0 => Value::Null,
            1 => Value::from(r.next() >> r.below(64)),
            2 => Value::from(-(r.below(300) as i64)),
            3 => Value::from("0xffffffffffffffffffffffffffffffffffff"),
            4 => Value::from(r.below(2) == 0),
            5 => Value::Array(Vec::new()),
            6 => Value::from(format!("0x{:x}", r.below(300))),
            _ => donor,
        };
    }
}

fn feed(r: &mut Random, s: &mut Switch, time_ns: &mut u64) {
    let mut f = common::tcp(1, 2, r.next() as u32, 54 + r.below(200));
    if r.below(2) == 0 {
        f[12..14].copy_from_slice([[0x86, 0xdd], [0x81, 0], [8, 6], [8, 0]][r.below(4)].as_slice());
    }
    damage(r, &mut f);
    *time_ns += 1_000;
    s.receive(r.below(12) as u32, &f, *time_ns);
    s.run_until(*time_ns, &mut Nowhere);
}

/// A program, its P4Info, and what to write to it.
struct Case {
    json: Vec<u8>,
    info: &'static str,
    writes: &'static str,
}

fn cases() -> [Case; 2] {
    [
        Case {
            json: common::program(),
            info: include_str!("../../../../p4src/build/tidemark.p4info.txtpb"),
            writes: include_str!("../tests/data/forward-and-report.txtpb"),
        },
        Case {
            json: include_bytes!("../tests/data/entities/entities.json").to_vec(),
            info: include_str!("../tests/data/entities/entities.p4info.txtpb"),
            writes: include_str!("../tests/data/entities/writes.txtpb"),
        },
    ]
}

fn program(r: &mut Random, until: Instant) -> u64 {
    let roots: Vec<(Value, usize)> = cases()
        .iter()
        .map(|c| {
            let root: Value = serde_json::from_slice(&c.json).unwrap_or_default();
            let values = count(&root);
            (root, values)
        })
        .collect();
    let (mut executions, mut loaded) = (0, 0u64);
    while Instant::now() < until {
        executions += 1;
        let (root, values) = &roots[r.below(roots.len())];
        let mut v = root.clone();
        mutate(r, &mut v, *values);
        let bytes = v.to_string().into_bytes();
        if let Ok(p) = load(&bytes) {
            loaded += 1;
            let mut s = Switch::new();
            s.load(Image::new(p));
            populate(&mut s);
            let mut time_ns = 0;
            for _ in 0..20 {
                feed(r, &mut s, &mut time_ns);
            }
        }
    }
    println!("{loaded} of them loaded and ran 20 frames each");
    executions
}

/// Members, a group and an entry, as far as the program still has a place for
/// them.
fn populate(s: &mut Switch) {
    use p4runtime_server::target as t;
    use tidemark_switch::p4runtime::{insert, set_default, set_group, set_member};
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
            name: "h.ethernet.dst".into(),
            bits: 48,
            value: t::MatchValue::Exact(common::mac(2).to_vec()),
        }],
        priority: 0,
        action: t::EntryAction::Group(1),
    };
    let _ = insert(e, "Switch.l2", t::EntryId(1), &entry);
    let _ = set_default(
        e,
        "Switch.sources",
        Some(&common::call("Switch.learn", &[])),
    );
}

fn frame(r: &mut Random, until: Instant) -> u64 {
    let mut s = common::tidemark();
    let (mut executions, mut time_ns) = (0, 0);
    while Instant::now() < until {
        for _ in 0..1000 {
            feed(r, &mut s, &mut time_ns);
        }
        executions += 1000;
    }
    executions
}

#[allow(clippy::unwrap_used)]
fn write(r: &mut Random, until: Instant) -> u64 {
    let half = until.duration_since(Instant::now()) / 2;
    let [one, other] = cases();
    write_case(r, &one, Instant::now() + half) + write_case(r, &other, until)
}

#[allow(clippy::unwrap_used)]
fn write_case(r: &mut Random, case: &Case, until: Instant) -> u64 {
    let whole = tidemark_switch::offline::entries::parse(case.writes.as_bytes()).unwrap();
    let seed = whole.encode_to_vec();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (handle, thread) = data_plane::start(Switch::new(), BTreeMap::new(), None).unwrap();
    let executions = runtime.block_on(async {
        let server = Server::new(
            Arc::new(EmbeddedTarget::new(handle.clone())),
            Options::default(),
        );
        let config = ForwardingPipelineConfig {
            p4info: Some(tidemark_proto::p4info::parse(case.info.as_bytes()).unwrap()),
            p4_device_config: case.json.clone(),
            cookie: None,
        };
        server.load(config).await.unwrap();
        server.write(&whole.updates).await.unwrap();
        let mut executions = 0u64;
        while Instant::now() < until {
            let mut bytes = seed.clone();
            damage(r, &mut bytes);
            if let Ok(mut request) = WriteRequest::decode(bytes.as_slice()) {
                for u in &mut request.updates {
                    // Each of INSERT, MODIFY, DELETE now and then.
                    if r.below(3) == 0 {
                        u.r#type = r.below(4) as i32;
                    }
                }
                let _ = server.write(&request.updates).await;
            }
            executions += 1;
        }
        executions
    });
    handle.stop();
    thread.join().unwrap();
    executions
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize| args.get(i).and_then(|a| a.parse::<u64>().ok());
    let target = args.get(1).map_or("", String::as_str);
    let (Some(seconds), seed) = (number(2), number(3).unwrap_or(1)) else {
        eprintln!("usage: fuzz program|frame|write SECONDS [SEED]");
        std::process::exit(2);
    };
    println!("{target}, seed {seed}");
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut r = Random(seed | 1);
    let executions = match target {
        "program" => program(&mut r, until),
        "frame" => frame(&mut r, until),
        "write" => write(&mut r, until),
        other => {
            eprintln!("no target {other}: program, frame or write");
            std::process::exit(2);
        }
    };
    println!("{executions} executions in {seconds} s, no panic");
}
