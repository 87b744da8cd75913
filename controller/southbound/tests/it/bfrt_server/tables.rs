// SPDX-License-Identifier: Apache-2.0
//! The tables, in the form that p4c and the switch daemon write.

use serde_json::{Value as Json, json};

fn field(id: u32, name: &str, kind: &str, width: Option<u32>) -> Json {
    let mut t = json!({"type": kind});
    if let Some(w) = width {
        t["width"] = json!(w);
    }
    json!({"id": id, "name": name, "repeated": false, "mandatory": true, "type": t})
}

fn key(id: u32, name: &str, match_type: &str, width: u32) -> Json {
    let mut f = field(id, name, "bytes", Some(width));
    f["match_type"] = json!(match_type);
    f
}

fn action(id: u32, name: &str, data: &[Json]) -> Json {
    json!({"id": id, "name": name, "action_scope": "TableAndDefault", "data": data})
}

/// The Tidemark program's tables, in the form that p4c writes.
pub(super) fn program() -> Json {
    let number = |id, name, width| field(id, name, "bytes", Some(width));
    let limit = number(1, "limit_cells", 32);
    let both = [
        number(1, "threshold_cells", 32),
        number(2, "limit_cells", 32),
    ];
    json!({"schema_version": "1.0.0", "tables": [
        {"name": "pipe.Ingress.queue_limit", "id": 100, "table_type": "MatchAction_Direct",
         "size": 512, "key": [key(1, "egress_port", "Exact", 9)],
         "action_specs": [action(11, "Ingress.drop_tail", &[limit]),
                          action(12, "Ingress.mark_ce", &both),
                          action(13, "Ingress.unlimited", &[])], "data": []},
        {"name": "pipe.Ingress.l2_forward", "id": 101, "size": 4096,
         "key": [key(1, "hdr.ethernet.dst_addr", "Exact", 48)],
         "action_specs": [action(21, "Ingress.forward", &[number(1, "port", 9)]),
                          action(22, "Ingress.flood", &[])], "data": []},
        {"name": "pipe.Ingress.watch", "id": 102, "size": 512,
         "key": [key(1, "ipv4_src", "Ternary", 32), key(2, "ipv4_dst", "Ternary", 32),
                 key(3, "protocol", "Ternary", 8), key(4, "src_port", "Ternary", 16),
                 key(5, "dst_port", "Ternary", 16), key(6, "ingress_port", "Ternary", 9),
                 key(7, "egress_port", "Ternary", 9),
                 key(65537, "$MATCH_PRIORITY", "Exact", 32)],
         "action_specs": [action(31, "Ingress.report", &[number(1, "sampling_shift", 4)]),
                          action(32, "Ingress.ignore", &[])], "data": []},
        {"name": "pipe.Ingress.report_port", "id": 103, "size": 512,
         "key": [key(1, "egress_port", "Exact", 9)],
         "action_specs": [action(41, "Ingress.report_on", &[]),
                          action(42, "Ingress.report_off", &[])], "data": []},
        {"name": "pipe.Egress.report_to", "id": 104, "size": 1, "key": [],
         "action_specs": [action(51, "Egress.set_destination", &[
             number(1, "src_mac", 48), number(2, "dst_mac", 48), number(3, "src_ip", 32),
             number(4, "dst_ip", 32), number(5, "udp_dst_port", 16),
             number(6, "src_port_mask", 16), number(7, "node_id", 32)]),
             action(52, "Egress.none", &[])], "data": []},
    ], "learn_filters": []})
}

/// Tables that every device has.
pub(super) fn device() -> Json {
    let u32_ = |id: u32, name: &str| field(id, name, "uint32", None);
    let number = |id, name, width| field(id, name, "bytes", Some(width));
    let text = |id, name| field(id, name, "string", None);
    let flag = |id, name| field(id, name, "bool", None);
    let uint_key = |id, name: &str| {
        let mut f = u32_(id, name);
        f["match_type"] = json!("Exact");
        f
    };
    let single = |f: Json| json!({"mandatory": false, "read_only": false, "singleton": f});
    let list = |mut f: Json| {
        f["repeated"] = json!(true);
        f
    };
    json!({"schema_version": "1.0.0", "tables": [
        {"name": "tf1.tm.queue.buffer", "id": 200,
         "key": [uint_key(1, "pg_id"), uint_key(2, "pg_queue")],
         "action_specs": [action(61, "shared_pool", &[
             u32_(1, "guaranteed_cells"), text(2, "pool_id"), u32_(3, "pool_max_cells"),
             text(4, "dynamic_baf"), flag(5, "tail_drop_enable")])], "data": []},
        {"name": "$mirror.cfg", "id": 201, "key": [key(1, "$sid", "Exact", 16)],
         "action_specs": [action(71, "$normal", &[
             flag(1, "$session_enable"), text(2, "$direction"),
             number(3, "$ucast_egress_port", 32), flag(4, "$ucast_egress_port_valid"),
             number(5, "$max_pkt_len", 16)])], "data": []},
        {"name": "$pre.node", "id": 203, "key": [uint_key(1, "$MULTICAST_NODE_ID")],
         "data": [single(number(2, "$MULTICAST_RID", 16)),
                  single(list(u32_(3, "$MULTICAST_LAG_ID"))), single(list(u32_(4, "$DEV_PORT")))]},
        {"name": "$pre.mgid", "id": 204, "key": [uint_key(1, "$MGID")],
         "data": [single(list(u32_(2, "$MULTICAST_NODE_ID"))),
                  single(list(flag(3, "$MULTICAST_NODE_L1_XID_VALID"))),
                  single(list(u32_(4, "$MULTICAST_NODE_L1_XID")))]},
        {"name": "$PORT", "id": 202, "key": [uint_key(1, "$DEV_PORT")],
         "data": [single(text(1, "$SPEED")), single(flag(2, "$PORT_ENABLE")),
                  single(flag(3, "$PORT_UP"))]},
        {"name": "tf1.tm.counter.eg_port", "id": 205, "key": [uint_key(1, "dev_port")],
         "data": [single(field(1, "drop_count_packets", "uint64", None))]},
    ]})
}

pub(super) fn tables() -> Vec<Json> {
    let both = [program(), device()];
    both.iter()
        .flat_map(|p| p["tables"].as_array().unwrap().clone())
        .collect()
}
