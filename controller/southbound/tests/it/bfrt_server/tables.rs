// SPDX-License-Identifier: Apache-2.0
//! The tables of the server: those of the compiled program as written by p4c, and the device's
//! fixed ones, shaped as in Tofino's real driver. Its full descriptions are kept next to the
//! repository ([`Tables::real`]).

use serde_json::{Value as Json, json};

/// Table descriptions, as the server sends them.
#[derive(Clone)]
pub(crate) struct Tables {
    pub program: Json,
    pub device: Json,
}

const PROGRAMS: [&str; 2] = [
    include_str!("../../../../../p4src/build/tofino1/bfrt_tables.json"),
    include_str!("../../../../../p4src/build/tofino2/bfrt_tables.json"),
];

/// The device's documents, which the real server joins.
const PARTS: [&str; 7] = ["dev", "mirror", "p4", "pktgen", "port", "pre", "tm"];

impl Tables {
    /// Returns Tofino 1 with only the device tables that the driver uses.
    pub(crate) fn small() -> Self {
        Self {
            program: serde_json::from_str(PROGRAMS[0]).unwrap(),
            device: device(),
        }
    }

    /// Returns Tofino 1 or 2 with all tables of the device.
    pub(crate) fn real(chip: usize) -> Self {
        let folder = test_support::golden::shared("bfrt").unwrap();
        let part = |name: &str| -> Vec<Json> {
            let path = folder.join(format!("{name}_tf{chip}.json"));
            let text = std::fs::read(&path).unwrap();
            let part: Json = serde_json::from_slice(&text).unwrap();
            part["tables"].as_array().unwrap().clone()
        };
        let tables: Vec<Json> = PARTS.iter().flat_map(|name| part(name)).collect();
        Self {
            program: serde_json::from_str(PROGRAMS[chip - 1]).unwrap(),
            device: json!({ "schema_version": "1.0.0", "tables": tables }),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Json> {
        let of = |d: &'_ Json| d["tables"].as_array().unwrap().len();
        let (p, d) = (&self.program, &self.device);
        let program = (0..of(p)).map(|i| &p["tables"][i]);
        program.chain((0..of(d)).map(|i| &d["tables"][i]))
    }

    pub(super) fn by_id(&self, id: u32) -> Option<&Json> {
        self.all().find(|t| t["id"] == id)
    }

    /// Finds a table by its full name or its last parts.
    pub(crate) fn named(&self, name: &str) -> &Json {
        let tail = format!(".{name}");
        let is = |t: &&Json| t["name"] == name || text(&t["name"]).ends_with(&tail);
        self.all()
            .find(is)
            .unwrap_or_else(|| panic!("no table {name}"))
    }
}

pub(super) fn text(value: &Json) -> &str {
    value.as_str().unwrap()
}

pub(super) fn id(value: &Json) -> u32 {
    value["id"].as_u64().unwrap() as u32
}

/// Returns a table's action by its id; `None` for 0.
pub(super) fn action(table: &Json, id: u32) -> Option<&Json> {
    let actions = table["action_specs"].as_array().into_iter().flatten();
    actions.clone().find(|a| a["id"] == id)
}

/// Returns the fields of an entry with this action, i.e. the action's and the table's own, each
/// with whether it is mandatory.
pub(super) fn fields(table: &Json, action_id: u32) -> Vec<(&Json, bool)> {
    let of_action = action(table, action_id).map(|a| &a["data"]);
    let both = [of_action, table.get("data")];
    let all = both.into_iter().flatten().filter_map(Json::as_array);
    let field = |f| match Json::get(f, "singleton") {
        Some(field) => (field, f["mandatory"] == true),
        None => (f, f["mandatory"] == true),
    };
    all.flatten().map(field).collect()
}

fn field(id: u32, name: &str, kind: Json) -> Json {
    json!({"id": id, "name": name, "repeated": false, "type": kind})
}

fn key(mut field: Json) -> Json {
    field["match_type"] = json!("Exact");
    field["mandatory"] = json!(true);
    field
}

/// Wraps a field as the fixed tables have it, in actions too.
fn wrapped(singleton: Json) -> Json {
    json!({"mandatory": false, "read_only": false, "singleton": singleton})
}

fn device() -> Json {
    let plain = |id, name, kind: &str| field(id, name, json!({ "type": kind }));
    let of = |id, name, kind| wrapped(plain(id, name, kind));
    let list = |id, name, kind| {
        let mut f = plain(id, name, kind);
        f["repeated"] = json!(true);
        wrapped(f)
    };
    let needed = |mut w: Json| {
        w["mandatory"] = json!(true);
        w
    };
    let queue = || {
        [
            key(plain(1, "pg_id", "uint8")),
            key(plain(2, "pg_queue", "uint8")),
        ]
    };
    let port = || key(plain(1, "dev_port", "uint32"));
    let shaper = |name: &str, id: u32, key: Vec<Json>, data: Vec<Json>| json!({"name": name, "id": id, "table_type": "TmSched", "key": key, "data": data});
    let pool = [
        "EG_APP_POOL_0",
        "EG_APP_POOL_1",
        "EG_APP_POOL_2",
        "EG_APP_POOL_3",
    ];
    let pool = |id, name| field(id, name, json!({"type": "string", "choices": pool}));
    json!({"schema_version": "1.0.0", "tables": [
        {"name": "tf1.tm.queue.buffer", "id": 4_278_517_796_u32, "table_type": "TmQueueBuffer",
         "key": queue(),
         "action_specs": [
             {"id": 1, "name": "shared_pool", "data": [
                 wrapped(pool(4, "pool_id")), of(5, "pool_max_cells", "uint32"),
                 of(6, "dynamic_baf", "string")]},
             {"id": 2, "name": "buffer_only"}],
         "data": [of(1, "guaranteed_cells", "uint32"), of(2, "hysteresis_cells", "uint32"),
                  of(3, "tail_drop_enable", "bool")]},
        {"name": "tf1.tm.pool.cfg", "id": 4_278_517_762_u32, "table_type": "TmPoolCfg",
         "key": [key(pool(1, "pool"))], "data": [of(1, "size_cells", "uint32")]},
        {"name": "tf1.tm.port.cfg", "id": 4_278_517_776_u32, "table_type": "TmPortCfg",
         "key": [port()],
         "data": [of(1, "pg_id", "uint8"), list(5, "egress_qid_queues", "uint8")]},
        shaper("tf1.tm.port.sched_cfg", 4_278_517_782, vec![port()],
               vec![of(1, "max_rate_enable", "bool")]),
        shaper("tf1.tm.port.sched_shaping", 4_278_517_783, vec![port()],
               vec![of(1, "unit", "string"), of(3, "max_rate", "uint32")]),
        shaper("tf1.tm.queue.sched_cfg", 4_278_517_797, queue().into(),
               vec![of(5, "max_rate_enable", "bool")]),
        shaper("tf1.tm.queue.sched_shaping", 4_278_517_798, queue().into(),
               vec![of(1, "unit", "string"), of(5, "max_rate", "uint32")]),
        {"name": "tf1.tm.counter.eg_port", "id": 4_278_517_826_u32,
         "table_type": "TmCounterEgPort", "key": [port()],
         "data": [of(1, "drop_count_packets", "uint64")]},
        {"name": "$mirror.cfg", "id": 4_278_452_225_u32, "table_type": "MirrorCfg",
         "key": [key(plain(1, "$sid", "uint16"))],
         "action_specs": [
             {"id": 1, "name": "$coalescing", "data": [of(2, "$internal_header_length", "uint32")]},
             {"id": 2, "name": "$normal"}],
         "data": [of(5, "$session_enable", "bool"), of(6, "$direction", "string"),
                  of(7, "$ucast_egress_port", "uint32"), of(8, "$ucast_egress_port_valid", "bool"),
                  of(23, "$max_pkt_len", "uint16")]},
        {"name": "$pre.mgid", "id": 4_278_321_153_u32, "table_type": "PreMgid",
         "key": [key(plain(1, "$MGID", "uint16"))],
         "data": [list(1, "$MULTICAST_NODE_ID", "uint32"),
                  list(2, "$MULTICAST_NODE_L1_XID_VALID", "bool"),
                  list(3, "$MULTICAST_NODE_L1_XID", "uint16")]},
        {"name": "$pre.node", "id": 4_278_321_154_u32, "table_type": "PreNode",
         "key": [key(plain(1, "$MULTICAST_NODE_ID", "uint32"))],
         "data": [needed(of(1, "$MULTICAST_RID", "uint16")),
                  needed(list(2, "$MULTICAST_LAG_ID", "uint8")),
                  needed(list(3, "$DEV_PORT", "uint32"))]},
        {"name": "$PORT", "id": 4_278_255_617_u32, "table_type": "PortConfigure",
         "key": [key(plain(1, "$DEV_PORT", "uint32"))],
         "data": [of(1, "$SPEED", "string"), of(4, "$PORT_ENABLE", "bool"),
                  of(30, "$PORT_UP", "bool")]},
    ]})
}
