// SPDX-License-Identifier: Apache-2.0
//! Reads and writes entries of the server in tests, with fields by name.

use super::tables::{action, fields, id, text};
use super::{Server, number};
use serde_json::Value as Json;
use tidemark_proto::bfrt_proto as bf;

fn field(spec: &Json, value: &str) -> bf::DataField {
    use bf::data_field::Value;
    let bytes = |length: usize| {
        let n = value.parse::<u64>().unwrap().to_be_bytes();
        n[8 - length..].to_vec()
    };
    bf::DataField {
        field_id: id(spec),
        value: Some(match text(&spec["type"]["type"]) {
            "string" => Value::StrVal(value.into()),
            "bool" => Value::BoolVal(value == "true"),
            _ if spec["repeated"] == true => {
                let all = value.split('|').map(|n| n.parse().unwrap());
                Value::IntArrVal(bf::data_field::IntArray { val: all.collect() })
            }
            _ => Value::Stream(bytes(super::width(spec).div_ceil(8) as usize)),
        }),
    }
}

impl Server {
    /// Stores an entry as the device would have it: `action(field=value, …)`, or `(…)` without an
    /// action.
    pub(crate) fn put(&self, name: &str, key: &[u128], entry: &str) {
        let t = self.tables.named(name);
        let (action, values) = entry.trim_end_matches(')').split_once('(').unwrap();
        let actions = t["action_specs"].as_array().into_iter().flatten();
        let action_id = actions.clone().find(|a| a["name"] == action).map_or(0, id);
        let known = fields(t, action_id);
        let data = values.split(", ").map(|part| {
            let (name, value) = part.split_once('=').unwrap();
            let spec = known.iter().find(|(f, _)| f["name"] == name);
            field(spec.unwrap_or_else(|| panic!("no field {name}")).0, value)
        });
        let data = bf::TableData {
            action_id,
            fields: data.collect(),
        };
        let mut state = self.state.lock().unwrap();
        state.entries.insert((id(t), Some(key.to_vec())), data);
    }

    /// Sets up a port.
    pub(crate) fn put_port(&self, port: u128, speed: &str, up: bool) {
        let entry = format!("($SPEED={speed}, $PORT_ENABLE=true, $PORT_UP={up})");
        self.put("$PORT", &[port], &entry);
    }

    /// Sets the number of packets that the traffic manager dropped at a port.
    pub(crate) fn put_drops(&self, port: u128, drops: u64) {
        let entry = format!("(drop_count_packets={drops})");
        self.put("tm.counter.eg_port", &[port], &entry);
    }

    /// Sets a rate (kbit/s) of a port, or of the queue of a group, and whether it is enabled.
    pub(crate) fn put_rate(&self, level: &str, key: &[u128], max_rate: u64, enabled: bool) {
        let name = |table: &str| format!("tm.{level}.{table}");
        let rate = format!("(unit=BPS, max_rate={max_rate})");
        self.put(&name("sched_shaping"), key, &rate);
        self.put(
            &name("sched_cfg"),
            key,
            &format!("(max_rate_enable={enabled})"),
        );
    }

    /// Sets the size of a pool.
    pub(crate) fn put_pool(&self, name: &str, cells: u32) {
        let entry = format!("(size_cells={cells})");
        self.put("tm.pool.cfg", &[number(name.as_bytes())], &entry);
    }

    /// Removes an entry.
    pub(crate) fn remove(&self, name: &str, key: &[u128]) {
        let place = (id(self.tables.named(name)), Some(key.to_vec()));
        self.state.lock().unwrap().entries.remove(&place);
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        let id = id(self.tables.named(name));
        let state = self.state.lock().unwrap();
        state.entries.keys().filter(|k| k.0 == id).count()
    }

    pub(crate) fn entry(&self, name: &str, key: &[u128]) -> Option<String> {
        self.shown(name, Some(key.to_vec()))
    }

    pub(crate) fn default_of(&self, name: &str) -> Option<String> {
        self.shown(name, None)
    }

    /// Formats an entry as `action(argument, argument)`, with arguments in the order written.
    fn shown(&self, name: &str, key: Option<Vec<u128>>) -> Option<String> {
        use bf::data_field::Value;
        let t = self.tables.named(name);
        let state = self.state.lock().unwrap();
        let data = state.entries.get(&(id(t), key))?;
        let values = data.fields.iter().map(|f| match f.value.as_ref().unwrap() {
            Value::Stream(b) => number(b).to_string(),
            Value::StrVal(s) => s.clone(),
            Value::BoolVal(b) => b.to_string(),
            Value::FloatVal(f) => f.to_string(),
            Value::IntArrVal(a) => format!("{:?}", a.val),
            Value::BoolArrVal(a) => format!("{:?}", a.val),
        });
        let action = action(t, data.action_id).map_or("data", |a| text(&a["name"]));
        let values: Vec<String> = values.collect();
        Some(format!("{action}({})", values.join(", ")))
    }
}
