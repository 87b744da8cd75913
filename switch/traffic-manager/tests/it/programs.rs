// SPDX-License-Identifier: Apache-2.0
//! Small programs, loaded and run in a switch.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Out, assign, field, hex, op, program, switch};
use p4_ir::load;
use p4_vm::Image;
use serde_json::{Value, json};
use traffic_manager::Switch;

fn run(primitives: Value, frame: &[u8]) -> Vec<Vec<u8>> {
    let mut s = switch(&primitives);
    let mut out = Out::default();
    s.receive(0, frame, 1_000);
    s.run_until(1_000_000, &mut out);
    out.frames()
}

/// Returns `h.b` after `h.b = e` with h.a = 0xf0, h.b = 0x1234.
fn b_after(e: Value) -> u16 {
    let out = run(json!([assign(["h", "b"], e)]), &[0xf0, 0x12, 0x34, 9]);
    assert_eq!((out[0][0], out[0][3]), (0xf0, 9));
    u16::from_be_bytes([out[0][1], out[0][2]])
}

#[test]
fn arithmetic_is_unbounded_until_stored() {
    let (a, b) = (|| field("h", "a"), || field("h", "b"));
    assert_eq!(b_after(op("-", hex("0x0"), a())), 0u16.wrapping_sub(0xf0));
    assert_eq!(b_after(op("~", Value::Null, a())), !0xf0);
    // (a - 0x1000) is negative: smaller than 1 and not a large number.
    let negative = || op("-", a(), hex("0x1000"));
    let cond = json!({"type": "expression", "value":
        {"op": "?", "cond": op("<", negative(), hex("0x1")), "left": hex("0x7"), "right": hex("0x8")}});
    assert_eq!(b_after(cond), 7);
    assert_eq!(
        b_after(op(
            ">>",
            op("*", b(), hex("0x100000000000000")),
            hex("0x38")
        )),
        0x1234
    );
    assert_eq!(b_after(op("usat_cast", negative(), hex("0x8"))), 0);
    assert_eq!(
        b_after(op("usat_cast", op("+", b(), a()), hex("0x8"))),
        0xff
    );
    assert_eq!(b_after(op("two_comp_mod", a(), hex("0x8"))), 0xfff0);
    assert_eq!(b_after(op("sat_cast", b(), hex("0x8"))), 0x7f);
    // A shift by a field is unbounded: 0x1234 << 0xf0, back by 0xe8.
    assert_eq!(b_after(op(">>", op("<<", b(), a()), hex("0xe8"))), 0x3400);
    assert_eq!(b_after(op("/", b(), hex("0x0"))), 0);
    assert_eq!(b_after(op("%", b(), hex("0x100"))), 0x34);
}

#[test]
fn masks_are_dropped_only_where_they_do_nothing() {
    let sum = || op("+", field("h", "b"), hex("0xffff"));
    assert_eq!(b_after(op("&", sum(), hex("0xffff"))), 0x1233);
    assert_eq!(
        b_after(op(">>", op("&", sum(), hex("0xffff")), hex("0x4"))),
        0x123
    );
    assert_eq!(b_after(op(">>", sum(), hex("0x4"))), 0x1123);
    assert_eq!(b_after(op("&", field("h", "b"), hex("0xff"))), 0x34);
}

#[test]
fn wide_and_signed_fields() {
    let w = hex("0xffeeddccbbaa99887766554433221100");
    let out = run(
        json!([
            assign(["scalars", "w"], w.clone()),
            assign(
                ["h", "b"],
                op(
                    "&",
                    op(">>", field("scalars", "w"), hex("0x40")),
                    hex("0xffff")
                )
            ),
            assign(["scalars", "s"], hex("0x80")),
            assign(["h", "a"], op("==", field("scalars", "w"), w)),
        ]),
        &[1, 2, 3],
    );
    assert_eq!(out[0], [1, 0x99, 0x88]);
    assert_eq!(
        run(
            json!([
                assign(["scalars", "s"], hex("0x80")),
                assign(["h", "b"], field("scalars", "s")),
            ]),
            &[1, 2, 3]
        )[0],
        [1, 0xff, 0x80]
    );
}

#[test]
fn jumps() {
    let jump = |cond: &str| {
        json!([
            {"op": "_jump_if_zero", "parameters": [hex(cond), hex("0x4")]},
            assign(["h", "a"], hex("0x11")),
            {"op": "_jump", "parameters": [hex("0x5")]},
            assign(["h", "a"], hex("0x22")),
        ])
    };
    assert_eq!(run(jump("0x1"), &[0, 0, 0])[0][0], 0x11);
    assert_eq!(run(jump("0x0"), &[0, 0, 0])[0][0], 0x22);
    // An endless loop does not hang the switch.
    let out = run(
        json!([{"op": "_jump", "parameters": [hex("0x1")]}]),
        &[5, 6, 7],
    );
    assert_eq!(out[0], [5, 6, 7]);
}

#[test]
fn short_packet_goes_on_unparsed() {
    assert_eq!(run(json!([]), &[1, 2])[0], [1, 2]);
    assert_eq!(run(json!([]), &[])[0], [0u8; 0]);
}

#[test]
fn unsupported_is_named_with_its_line() {
    let e = |p: Value| {
        load(program(json!([p])).to_string().as_bytes())
            .unwrap_err()
            .to_string()
    };
    let mut union = assign(["h", "a"], hex("0x1"));
    union["op"] = json!("assign_union");
    let text = e(union);
    assert!(
        text.contains("action act: \"field\" where a header union is needed"),
        "{text}"
    );
    assert!(text.ends_with("at x.p4(42): x = y"), "{text}");
    let text = e(assign(["h", "a"], op("sqrt", Value::Null, hex("0x1"))));
    assert!(
        text.contains("operator \"sqrt\"") && text.contains("x.p4(42)"),
        "{text}"
    );
    let text = e(assign(["h", "nope"], hex("0x1")));
    assert!(text.contains("no field \"h.nope\""), "{text}");
    let text = e(json!({"op": "_jump", "parameters": [hex("0x99")]}));
    assert!(text.contains("jumps to 153"), "{text}");
}

#[test]
fn malformed_json_is_refused() {
    for bad in ["", "[]", "{}", "{\"pipelines\":[],\"parsers\":[]}"] {
        assert!(load(bad.as_bytes()).is_err(), "{bad}");
    }
    let mut p = program(json!([]));
    p["__meta__"] = json!({"version": [3, 0]});
    assert!(
        load(p.to_string().as_bytes())
            .unwrap_err()
            .to_string()
            .contains("version")
    );
    let mut p = program(json!([]));
    p["header_unions"] = json!([{"name": "u", "id": 0, "header_ids": [99]}]);
    let e = load(p.to_string().as_bytes()).unwrap_err().to_string();
    assert_eq!(e, "header union \"u\" has an unknown member");
}

#[test]
fn any_damage_to_the_json_is_an_error_or_harmless() {
    // Replaces each value of a program in turn with something else.
    let whole = program(json!([assign(
        ["h", "a"],
        op("+", field("h", "a"), hex("0x1"))
    )]));
    damage(&whole, &[1, 2, 3, 4], 1);
}

/// Unions, stacks of them, elements selected at run time. All values with `TIDEMARK_DAMAGE=1`.
#[test]
fn any_damage_to_unions_and_stacks_is_an_error_or_harmless() {
    let every = std::env::var("TIDEMARK_DAMAGE").map_or(11, |n| n.parse().unwrap());
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../daemon/tests/data/conformance/stf"
    );
    for (name, frame) in [
        ("union", &[4, 3, 0, 1, 2, 3, 4, 5][..]),
        (
            "union-stack",
            &[3, 1, 0, 1, 0xa1, 2, 0xb1, 0xb2, 0xb3, 1, 0xa3],
        ),
        ("stack-index", &[3, 1, 0, 1, 0xa1, 0, 0xa2]),
    ] {
        let json = std::fs::read(format!("{folder}/{name}.json")).unwrap();
        damage(&serde_json::from_slice(&json).unwrap(), frame, every);
    }
}

/// Replaces one value in `every`.
fn damage(whole: &Value, frame: &[u8], every: usize) {
    let mut paths = Vec::new();
    collect(whole, String::new(), &mut paths);
    for path in paths.into_iter().step_by(every) {
        for junk in [
            json!(null),
            json!(-1),
            json!("x"),
            json!([]),
            json!({}),
            json!(1u64 << 40),
        ] {
            let mut p = whole.clone();
            if let Some(v) = p.pointer_mut(&path) {
                *v = junk;
            }
            if let Ok(program) = load(p.to_string().as_bytes()) {
                let mut s = Switch::new();
                s.load(Image::new(program));
                let mut out = Out::default();
                s.receive(0, frame, 0);
                s.run_until(1, &mut out);
            }
        }
    }
}

fn collect(v: &Value, path: String, out: &mut Vec<String>) {
    match v {
        Value::Array(a) => {
            for (i, x) in a.iter().enumerate() {
                collect(x, format!("{path}/{i}"), out);
            }
        }
        Value::Object(o) => {
            for (k, x) in o {
                collect(x, format!("{path}/{k}"), out);
            }
        }
        _ => {}
    }
    out.push(path);
}

/// As in BMv2, where the copy for the next pass is made from the whole packet.
#[test]
fn a_packet_that_is_truncated_and_recirculated_is_whole() {
    let mut p = program(json!([assign(
        ["standard_metadata", "egress_spec"],
        hex("0x01")
    )]));
    // The first pass, identified by `a`, ends with 2 bytes of the frame and another pass.
    p["actions"].as_array_mut().unwrap().push(json!({
        "name": "again", "id": 8, "runtime_data": [], "primitives": [
            {"op": "_jump_if_zero", "parameters": [field("h", "a"), hex("0x4")]},
            assign(["h", "a"], hex("0x0")),
            {"op": "truncate", "parameters": [hex("0x2")]},
            {"op": "recirculate", "parameters": [hex("0x1")]},
        ],
    }));
    p["field_lists"] = json!([{"id": 1, "name": "none", "elements": []}]);
    let mut table = p["pipelines"][0]["tables"][0].clone();
    (table["name"], table["action_ids"], table["actions"]) =
        (json!("e"), json!([8]), json!(["again"]));
    table["next_tables"] = json!({"again": null});
    table["default_entry"]["action_id"] = json!(8);
    p["pipelines"][1]["tables"] = json!([table]);
    p["pipelines"][1]["init_table"] = json!("e");
    let mut s = Switch::new();
    s.load(Image::new(load(p.to_string().as_bytes()).unwrap()));
    let mut out = Out::default();
    s.receive(0, &[1, 2, 3, 4, 5], 0);
    s.run_until(1_000_000, &mut out);
    assert_eq!(out.frames(), [[0, 2, 3, 4, 5]]);
}
