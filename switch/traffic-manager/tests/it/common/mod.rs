// SPDX-License-Identifier: Apache-2.0
//! Small programs, and a wire that records the frames that leave.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod senders;

use p4_ir::load;
use p4_vm::Image;
use serde_json::{Value, json};
use traffic_manager::{Switch, Wire};

/// One 3-byte header `h` {a: 8, b: 16}, forwarded to port 1 after `primitives`.
pub(crate) fn program(primitives: Value) -> Value {
    json!({
        "header_types": [
            {"name": "scalars_t", "id": 0, "fields": [["x", 32, false], ["s", 8, true], ["w", 128, false]]},
            {"name": "standard_metadata", "id": 1, "fields": [
                ["ingress_port", 9, false], ["egress_spec", 9, false], ["packet_length", 32, false]]},
            {"name": "h_t", "id": 2, "fields": [["a", 8, false], ["b", 16, false]]}
        ],
        "headers": [
            {"name": "scalars", "id": 0, "header_type": "scalars_t", "metadata": true},
            {"name": "standard_metadata", "id": 1, "header_type": "standard_metadata", "metadata": true},
            {"name": "h", "id": 2, "header_type": "h_t", "metadata": false}
        ],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [
            {"name": "start", "id": 0,
             "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
             "transitions": [{"type": "default", "value": null, "mask": null, "next_state": null}],
             "transition_key": []}]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["h"], "primitives": []}],
        "actions": [{"name": "act", "id": 7, "runtime_data": [], "primitives": primitives}],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "t", "tables": [
                {"name": "t", "id": 0, "key": [], "match_type": "exact", "type": "simple",
                 "action_ids": [7], "actions": ["act"], "next_tables": {"act": null},
                 "default_entry": {"action_id": 7, "action_const": true, "action_data": [], "action_entry_const": true}}],
             "conditionals": []},
            {"name": "egress", "id": 1, "init_table": null, "tables": [], "conditionals": []}
        ]
    })
}

pub(crate) fn assign(field: [&str; 2], value: Value) -> Value {
    json!({"op": "assign", "parameters": [{"type": "field", "value": field}, value],
           "source_info": {"filename": "x.p4", "line": 42, "column": 3, "source_fragment": "x = y"}})
}

pub(crate) fn field(h: &str, f: &str) -> Value {
    json!({"type": "field", "value": [h, f]})
}

pub(crate) fn hex(s: &str) -> Value {
    json!({"type": "hexstr", "value": s})
}

pub(crate) fn op(op: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
}

/// Frames that left: port, bytes, time in ns.
#[derive(Default)]
pub(crate) struct Out(pub Vec<(u32, Vec<u8>, u64)>);

impl Out {
    pub(crate) fn frames(&self) -> Vec<Vec<u8>> {
        self.0.iter().map(|(_, f, _)| f.clone()).collect()
    }
}

impl Wire for Out {
    fn transmit(&mut self, port: u32, frame: Vec<u8>, time_ns: u64) {
        self.0.push((port, frame, time_ns));
    }
}

/// A switch that sends every frame to port 1 after `primitives`.
pub(crate) fn switch(primitives: &Value) -> Switch {
    let mut all = vec![assign(["standard_metadata", "egress_spec"], hex("0x01"))];
    all.extend(primitives.as_array().unwrap().iter().cloned());
    let text = program(Value::Array(all)).to_string();
    let mut s = Switch::new();
    s.load(Image::new(load(text.as_bytes()).unwrap()));
    s
}

/// A switch that sends every frame to port 1 unchanged.
pub(crate) fn echo() -> Switch {
    switch(&json!([]))
}
