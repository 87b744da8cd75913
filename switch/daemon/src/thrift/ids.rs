// SPDX-License-Identifier: Apache-2.0
//! Ids that p4c assigned to the objects of a program.

use serde_json::Value;

/// Kinds of BMv2's `BmResourceType`, and their keys in the JSON.
const ARRAYS: [&str; 6] = [
    "tables",
    "action_profiles",
    "counter_arrays",
    "meter_arrays",
    "register_arrays",
    "learn_lists",
];

/// Code of an unknown kind.
pub(super) const BAD_KIND: i32 = 0;
/// Code of an unknown name.
pub(super) const BAD_NAME: i32 = 1;

pub(super) fn of_name(program: &[u8], kind: i32, name: &str) -> Result<i32, i32> {
    let kind = usize::try_from(kind).ok().and_then(|k| ARRAYS.get(k));
    let kind = *kind.ok_or(BAD_KIND)?;
    let json: Value = serde_json::from_slice(program).map_err(|_| BAD_NAME)?;
    let pipelines = json.get("pipelines").and_then(Value::as_array);
    let within = pipelines.into_iter().flatten().filter_map(|p| p.get(kind));
    within
        .chain(json.get(kind))
        .filter_map(Value::as_array)
        .flatten()
        .find(|o| o.get("name").and_then(Value::as_str) == Some(name))
        .and_then(|o| i32::try_from(o.get("id")?.as_i64()?).ok())
        .ok_or(BAD_NAME)
}

#[cfg(test)]
mod tests {
    use super::of_name;

    #[test]
    fn tables_are_in_pipelines() {
        let json = br#"{"pipelines": [{"tables": [{"name": "a.t", "id": 3}]}],
            "register_arrays": [{"name": "r", "id": 7}]}"#;
        assert_eq!(of_name(json, 0, "a.t"), Ok(3));
        assert_eq!(of_name(json, 4, "r"), Ok(7));
        assert_eq!(of_name(json, 4, "a.t"), Err(1));
        assert_eq!(of_name(json, 6, "r"), Err(0));
    }
}
