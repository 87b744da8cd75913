// SPDX-License-Identifier: Apache-2.0
//! Every primitive and parser operation reads each of its parameters or rejects it.

use serde_json::{Value, json};

use super::load;
use crate::primitive::Primitive;
use crate::program::Program;

fn of(kind: &str, value: &str) -> Value {
    json!({"type": kind, "value": value})
}

fn hex(value: &str) -> Value {
    of("hexstr", value)
}

fn field(header: &str, field: &str) -> Value {
    json!({"type": "field", "value": [header, field]})
}

fn element(index: &str) -> Value {
    let stack = of("header_stack", "s");
    let op = json!({"op": "dereference_header_stack", "left": stack, "right": hex(index)});
    json!({"type": "expression", "value": {"type": "expression", "value": op}})
}

/// A program with two of everything that a parameter can name.
fn program(primitives: &[Value], parser_ops: &[Value]) -> Value {
    let metadata = ["standard_metadata", "copy"];
    let headers = [
        "h", "v", "a", "b", "s[0]", "s[1]", "t[0]", "t[1]", "w.a", "w.b",
    ];
    let headers = headers.map(|n| (n, if n == "v" { "var" } else { "plain" }, false));
    let all = metadata
        .map(|n| (n, "std", true))
        .into_iter()
        .chain(headers);
    let headers: Vec<Value> = all
        .enumerate()
        .map(|(id, (name, kind, metadata))| {
            json!({"name": name, "id": id, "header_type": kind, "metadata": metadata})
        })
        .collect();
    let id = |name: &str| headers.iter().position(|h| h["name"] == name).unwrap();
    let two = |key: &str, value: Value| {
        let named = |n: &str| {
            let mut o = value.clone();
            o["name"] = format!("{key}{n}").into();
            o
        };
        json!([named("1"), named("2")])
    };
    let state = json!({"name": "start", "parser_ops": parser_ops, "transitions": [],
                       "transition_key": []});
    json!({
        "header_types": [
            {"name": "plain", "fields": [["x", 8, false], ["y", 16, false]]},
            {"name": "var", "max_length": 9,
             "fields": [["x", 8, false], ["z", "*", false]]},
            {"name": "std", "fields": [["egress_spec", 9, false], ["mcast_grp", 16, false],
                                       ["_padding", 7, false]]},
        ],
        "headers": headers,
        "header_stacks": [
            {"name": "s", "header_ids": [id("s[0]"), id("s[1]")]},
            {"name": "t", "header_ids": [id("t[0]"), id("t[1]")]},
        ],
        "header_union_types": [{"name": "U", "headers": [["a", "plain"], ["b", "plain"]]}],
        "header_unions": [
            {"name": "u", "id": 0, "union_type": "U", "header_ids": [id("a"), id("b")]},
            {"name": "w", "id": 1, "union_type": "U", "header_ids": [id("w.a"), id("w.b")]},
        ],
        "header_union_stacks": [
            {"name": "us", "union_type": "U", "header_union_ids": [0]},
            {"name": "ws", "union_type": "U", "header_union_ids": [1]},
        ],
        "register_arrays": two("register", json!({"size": 4, "bitwidth": 8})),
        "counter_arrays": two("counter", json!({"size": 4})),
        "meter_arrays": two("meter", json!({"size": 4})),
        "calculations": two("calculation", json!({"algo": "crc16", "input": []})),
        "actions": [{"name": "act", "id": 0, "runtime_data": [], "primitives": primitives}],
        "parsers": [{"init_state": "start", "parse_states": [state]}],
        "pipelines": [],
        "deparsers": [{"order": []}],
    })
}

fn loaded(primitives: &[Value], parser_ops: &[Value]) -> Result<Program, String> {
    let json = program(primitives, parser_ops).to_string();
    load(json.as_bytes()).map_err(|e| e.to_string())
}

fn primitive(op: &str, parameters: &[Value]) -> Result<Primitive, String> {
    let list = [json!({"op": op, "parameters": parameters})];
    Ok(loaded(&list, &[])?.actions[0].primitives[0].clone())
}

/// Parameters, each with another one to put in its place.
type Parameters = Vec<(Value, Value)>;

fn primitives() -> Vec<(&'static str, Parameters)> {
    let dst = || (field("h", "x"), field("h", "y"));
    let other = || (field("a", "x"), field("b", "x"));
    let number = || (hex("0x1"), hex("0x2"));
    let variable = || (field("v", "z"), field("h", "x"));
    let header = || (of("header", "h"), of("header", "a"));
    let at = || (element("0x0"), element("0x1"));
    let two = |kind: &str, names: (&str, &str)| (of(kind, names.0), of(kind, names.1));
    let numbered = |kind: &str, name: &str| {
        let (one, two) = (format!("{name}1"), format!("{name}2"));
        (of(kind, &one), of(kind, &two))
    };
    let std = || two("header", ("standard_metadata", "copy"));
    let vector = |n: &str| json!({"type": "parameters_vector", "value": [hex(n)]});
    vec![
        ("assign", vec![dst(), number()]),
        ("modify_field", vec![dst(), number()]),
        ("add_to_field", vec![dst(), number()]),
        ("subtract_from_field", vec![dst(), number()]),
        ("add", vec![dst(), other(), number()]),
        ("subtract", vec![dst(), other(), number()]),
        ("bit_and", vec![dst(), other(), number()]),
        ("bit_or", vec![dst(), other(), number()]),
        ("bit_xor", vec![dst(), other(), number()]),
        ("shift_left", vec![dst(), other(), number()]),
        ("shift_right", vec![dst(), other(), number()]),
        ("no_op", vec![]),
        ("copy_header", vec![header(), at()]),
        ("assign_VL", vec![variable(), variable()]),
        ("assign_header", vec![header(), at()]),
        ("assign_header", vec![at(), header()]),
        (
            "assign_header_stack",
            vec![
                two("header_stack", ("s", "t")),
                two("header_stack", ("t", "s")),
            ],
        ),
        (
            "assign_union",
            vec![
                two("header_union", ("u", "w")),
                two("header_union", ("w", "u")),
            ],
        ),
        (
            "assign_union_stack",
            vec![
                two("header_union_stack", ("us", "ws")),
                two("header_union_stack", ("ws", "us")),
            ],
        ),
        ("add_header", vec![header()]),
        ("add_header", vec![at()]),
        ("remove_header", vec![header()]),
        ("remove_header", vec![at()]),
        ("push", vec![two("header_stack", ("s", "t")), number()]),
        (
            "pop",
            vec![two("header_union_stack", ("us", "ws")), number()],
        ),
        ("exit", vec![]),
        ("_jump", vec![(hex("0x0"), hex("0x1"))]),
        ("_jump_if_zero", vec![number(), (hex("0x0"), hex("0x1"))]),
        ("mark_to_drop", vec![std()]),
        ("mark_to_drop", vec![]),
        ("drop", vec![]),
        ("clone_ingress_pkt_to_egress", vec![number(), number()]),
        ("clone_egress_pkt_to_egress", vec![number(), number()]),
        ("resubmit", vec![number()]),
        ("recirculate", vec![number()]),
        ("truncate", vec![number()]),
        (
            "modify_field_with_hash_based_offset",
            vec![
                dst(),
                number(),
                numbered("calculation", "calculation"),
                number(),
            ],
        ),
        ("modify_field_rng_uniform", vec![dst(), number(), number()]),
        (
            "count",
            vec![numbered("counter_array", "counter"), number()],
        ),
        (
            "execute_meter",
            vec![numbered("meter_array", "meter"), number(), dst()],
        ),
        (
            "register_read",
            vec![dst(), numbered("register_array", "register"), number()],
        ),
        (
            "register_write",
            vec![numbered("register_array", "register"), number(), number()],
        ),
        ("assert", vec![number()]),
        ("assume", vec![number()]),
        (
            "log_msg",
            vec![
                (of("string", "a"), of("string", "b")),
                (vector("0x1"), vector("0x2")),
            ],
        ),
        // The first, the receiver, has no meaning: there is one controller.
        ("generate_digest", vec![number(), number()]),
    ]
}

#[test]
fn every_primitive_reads_its_parameters() {
    for (op, parameters) in primitives() {
        let given: Vec<Value> = parameters.iter().map(|p| p.0.clone()).collect();
        let read = primitive(op, &given).unwrap_or_else(|e| panic!("{op}: {e}"));
        let mut more = given.clone();
        more.push(hex("0x1"));
        // Older p4c passed none to mark_to_drop.
        if op != "mark_to_drop" || !given.is_empty() {
            primitive(op, &more).expect_err(op);
        }
        for (i, (_, other)) in parameters.iter().enumerate() {
            let what = format!("{op}, parameter {i}");
            let mut changed = given.clone();
            changed[i] = of("nonsense", "nonsense");
            primitive(op, &changed).expect_err(&what);
            changed[i] = other.clone();
            let receiver = op == "generate_digest" && i == 0;
            let same = primitive(op, &changed).is_ok_and(|p| p == read);
            assert_eq!(same, receiver, "{what}");
        }
        if !given.is_empty() && op != "mark_to_drop" {
            primitive(op, &given[1..]).expect_err(op);
        }
    }
}

/// The list contains every primitive that the loader knows.
#[test]
fn the_list_of_primitives_is_whole() {
    let source = include_str!("actions.rs");
    let arms = source.split("let primitive = match op {").nth(1).unwrap();
    let arms = arms.split("other => bail!").next().unwrap();
    let listed = primitives();
    for line in arms.lines().filter(|l| l.starts_with("            \"")) {
        let names = line.split("=>").next().unwrap();
        for name in names.split('|') {
            let name = name.trim().trim_matches('"');
            assert!(listed.iter().any(|(op, _)| *op == name), "{name}");
        }
    }
}

#[test]
fn every_parser_operation_reads_its_parameters() {
    let inner = |op: &str| json!({"op": op, "parameters": [of("header", "h")]});
    let list = [
        ("extract", vec![of("regular", "h")]),
        ("extract", vec![of("stack", "s")]),
        (
            "extract",
            vec![json!({"type": "union_stack", "value": ["us", "a"]})],
        ),
        ("extract_VL", vec![of("regular", "v"), hex("0x8")]),
        ("set", vec![field("h", "x"), hex("0x1")]),
        ("verify", vec![hex("0x1"), hex("0x2")]),
        ("advance", vec![hex("0x8")]),
        ("shift", vec![json!(1)]),
        ("primitive", vec![inner("add_header")]),
    ];
    for (op, parameters) in list {
        let run = |parameters: &[Value]| {
            loaded(&[], &[json!({"op": op, "parameters": parameters})]).map(|_| ())
        };
        run(&parameters).unwrap_or_else(|e| panic!("{op}: {e}"));
        let mut more = parameters.clone();
        more.push(hex("0x1"));
        run(&more).expect_err(op);
        run(&parameters[1..]).expect_err(op);
        for i in 0..parameters.len() {
            let mut changed = parameters.clone();
            changed[i] = of("nonsense", "nonsense");
            run(&changed).expect_err(op);
        }
    }
}

#[test]
fn sizes_are_those_that_memory_holds() {
    let sized = |size: u64| {
        let mut p = program(&[], &[]);
        p["register_arrays"][0]["size"] = size.into();
        p["register_arrays"][0]["source_info"] = json!({"filename": "x.p4", "line": 7});
        load(p.to_string().as_bytes())
    };
    let p = sized(1 << 22).unwrap();
    assert_eq!(p.registers[0].size, 1 << 22);
    let e = sized(1 << 50).unwrap_err().to_string();
    let named = "register1: not enough memory for its 1125899906842624 cells at x.p4(7)";
    assert!(e.starts_with(named), "{e}");
}

#[test]
fn json_of_older_compilers() {
    let mut p = program(&[json!({"op": "drop", "parameters": []})], &[]);
    // Transitions without a type, and tables without ids of their actions and with a profile
    // that is not declared anywhere else.
    p["parsers"][0]["parse_states"][0] = json!({
        "name": "start", "parser_ops": [],
        "transition_key": [field("h", "x")],
        "transitions": [
            {"value": "0x07", "mask": null, "next_state": "start"},
            {"value": "default", "mask": null, "next_state": null},
        ],
    });
    let table = json!({
        "name": "t", "type": "indirect", "act_prof_name": "members",
        "key": [], "actions": ["act"],
        "next_tables": {"act": null}, "base_default_next": null,
    });
    p["pipelines"] = json!([{"name": "ingress", "init_table": "t", "tables": [table],
                             "conditionals": []}]);
    let p = load(p.to_string().as_bytes()).unwrap();
    assert_eq!(p.tables[0].action_ids, [0]);
    assert_eq!(p.profiles[0].name, "members");
    let cases = &p.parse_states[0].transitions;
    let expected = "[Transition { case: Value { value: [7], mask: [255] }, next: 0 }, \
                    Transition { case: Default, next: 4294967295 }]";
    assert_eq!(format!("{cases:?}"), expected);
}
