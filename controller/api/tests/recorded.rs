// SPDX-License-Identifier: Apache-2.0
//! Answers recorded from a controller are read and written back unchanged: no field is lost,
//! renamed or of another type.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tidemark_api::{AdviceState, Changes, Links, Packets, Series, Status, VerdictState};

fn same<T: DeserializeOwned + Serialize>(recorded: &str) {
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let answer: T = serde_json::from_value(recorded.clone()).unwrap_or_else(|e| panic!("{e}"));
    let again = serde_json::to_value(&answer).unwrap();
    let mut found = Vec::new();
    differences(&recorded, &again, "", &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

fn differences(a: &Value, b: &Value, at: &str, found: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            for key in x.keys().chain(y.keys().filter(|k| !x.contains_key(*k))) {
                let place = format!("{at}.{key}");
                match (x.get(key), y.get(key)) {
                    (Some(v), Some(w)) => differences(v, w, &place, found),
                    _ => found.push(place),
                }
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (i, (v, w)) in x.iter().zip(y).enumerate() {
                differences(v, w, &format!("{at}[{i}]"), found);
            }
        }
        // 1 and 1.0 are one number on the wire.
        (Value::Number(x), Value::Number(y)) if x.as_f64() == y.as_f64() => {}
        _ if a == b => {}
        _ => found.push(format!("{at}: {a} and {b}")),
    }
}

macro_rules! recorded {
    ($($name:ident: $type:ty = $file:literal)*) => {
        $(#[test]
        fn $name() {
            same::<$type>(include_str!(concat!("../../console/dev/fixtures/", $file)));
        })*
    };
}

recorded! {
    links: Links = "links.json"
    advice: AdviceState = "advice.json"
    series: Series = "series.json"
    packets: Packets = "packets.json"
    verdict: VerdictState = "verdict.json"
    changes: Changes = "changes.json"
    status: Status = "status.json"
}
