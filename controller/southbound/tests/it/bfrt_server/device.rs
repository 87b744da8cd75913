// SPDX-License-Identifier: Apache-2.0
//! What the device has of its own: ports, and the traffic manager's counters.

use super::Server;
use tidemark_proto::bfrt_proto as bf;

fn data(values: Vec<bf::data_field::Value>) -> bf::TableData {
    let fields = (1..).zip(values).map(|(field_id, v)| bf::DataField {
        field_id,
        value: Some(v),
    });
    bf::TableData {
        action_id: 0,
        fields: fields.collect(),
    }
}

pub(super) fn port(speed: &str, up: bool) -> bf::TableData {
    use bf::data_field::Value;
    data(vec![
        Value::StrVal(speed.into()),
        Value::BoolVal(true),
        Value::BoolVal(up),
    ])
}

impl Server {
    /// Sets up a port.
    pub(crate) fn put_port(&self, number: u64, speed: &str, up: bool) {
        let mut s = self.state.lock().unwrap();
        s.entries.insert((202, Some(vec![number])), port(speed, up));
    }

    /// Packets that the traffic manager has dropped at a port.
    pub(crate) fn put_drops(&self, number: u64, drops: u64) {
        let count = bf::data_field::Value::Stream(drops.to_be_bytes().to_vec());
        let mut s = self.state.lock().unwrap();
        s.entries
            .insert((205, Some(vec![number])), data(vec![count]));
    }

    /// Takes an entry away.
    pub(crate) fn remove(&self, name: &str, key: &[u64]) {
        let place = (Self::id(name), Some(key.to_vec()));
        self.state.lock().unwrap().entries.remove(&place);
    }
}
