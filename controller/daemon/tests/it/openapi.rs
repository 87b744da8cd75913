// SPDX-License-Identifier: Apache-2.0
//! Every field of every answer is in the OpenAPI document, and vice versa.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::common;

use common::Lab;
use serde_json::{Value, json};
use tidemark_controller::config::Mode;

/// Differences between `value` and what `schema` says.
fn differences(doc: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(r) = schema["$ref"].as_str() {
        let name = r.rsplit('/').next().unwrap();
        let schema = &doc["components"]["schemas"][name];
        assert!(schema.is_object(), "{at}: {r} leads nowhere");
        return differences(doc, schema, value, at);
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(any) = schema[several].as_array() {
            let all = any.iter().map(|s| differences(doc, s, value, at));
            return all.min_by_key(Vec::len).unwrap();
        }
    }
    if let Some(constant) = schema.get("const") {
        let same = constant == value;
        return Vec::from_iter((!same).then(|| format!("{at}: {value} is not {constant}")));
    }
    if let Some(names) = schema["enum"].as_array() {
        let one = names.contains(value);
        return Vec::from_iter((!one).then(|| format!("{at}: {value} is none of {names:?}")));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(t) => vec![t],
        Value::Array(a) => a.iter().map(|t| t.as_str().unwrap()).collect(),
        _ => return Vec::new(),
    };
    let is = |t: &str| match t {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("{at}: type {other}"),
    };
    if !types.iter().any(|t| is(t)) {
        return vec![format!("{at}: {value} is not {types:?}")];
    }
    let mut found = Vec::new();
    if let (Some(map), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
        for (name, v) in map {
            match properties.get(name) {
                Some(s) => found.extend(differences(doc, s, v, &format!("{at}.{name}"))),
                None => found.push(format!("{at}.{name} is not documented")),
            }
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for name in required {
            if !map.contains_key(name.as_str().unwrap()) {
                found.push(format!("{at}.{name} is missing"));
            }
        }
    }
    if let Some(items) = value.as_array() {
        for (i, item) in items.iter().enumerate() {
            found.extend(differences(
                doc,
                &schema["items"],
                item,
                &format!("{at}[{i}]"),
            ));
        }
    }
    found
}

fn answer_schema(doc: &Value, method: &str, path: &str, status: u16) -> Value {
    let responses = &doc["paths"][path][method]["responses"];
    let exact = &responses[status.to_string()];
    let class = &responses[format!("{}XX", status / 100)];
    let mut response = if exact.is_object() { exact } else { class };
    assert!(response.is_object(), "{method} {path}: no {status}");
    if let Some(r) = response["$ref"].as_str() {
        response = doc.pointer(r.trim_start_matches('#')).unwrap();
    }
    response["content"]["application/json"]["schema"].clone()
}

#[tokio::test]
async fn answers_are_as_documented() {
    let mut lab = Lab::new(|c| c.control.mode = Mode::Confirm);
    lab.pass(16).await;
    let doc: Value = serde_json::from_str(tidemark_controller::api::OPENAPI).unwrap();
    let link = json!({"node": 10, "port": 5});
    let start = json!({"name": "p", "action": "start"});
    let end = json!({"name": "p", "action": "end"});
    let posts = [
        ("/phases", "/phases", start, 201),
        ("/advice/apply", "/advice/apply", link, 200),
        (
            "/links/{node}/{port}/limit",
            "/links/10/5/limit",
            json!({"bytes": 90_000}),
            200,
        ),
        (
            "/links/{node}/{port}/limit",
            "/links/10/5/limit",
            json!({"bytes": 9}),
            400,
        ),
        (
            "/links/{node}/{port}/reports",
            "/links/10/5/reports",
            json!({"on": true}),
            200,
        ),
        ("/mode", "/mode", json!({"mode": "confirm"}), 200),
        ("/targets", "/targets", json!({"loss_rate": null}), 200),
        ("/phases", "/phases", end, 200),
    ];
    let mut done = 0;
    for (path, concrete, body, expected) in posts {
        let (status, answer) = lab.post(concrete, body).await;
        assert_eq!(status, expected, "{path}: {answer}");
        let schema = answer_schema(&doc, "post", path, status);
        let found = differences(&doc, &schema, &answer, path);
        assert!(found.is_empty(), "{found:#?}");
        done += 1;
    }
    lab.pass(3).await;
    for (path, item) in doc["paths"].as_object().unwrap() {
        // A stream, this document, and answers that only a collector can give.
        let elsewhere = [
            "/events",
            "/openapi.json",
            "/links/{node}/{port}/packets",
            "/links/{node}/{port}/{queue}/packets",
        ];
        if item.get("get").is_none() || elsewhere.contains(&path.as_str()) {
            continue;
        }
        let concrete = path
            .replace("{node}", "10")
            .replace("{port}", "5")
            .replace("{queue}", "0")
            .replace("{name}", "p");
        let (status, answer) = lab.get(&concrete).await;
        assert_eq!(status, 200, "{path}: {answer}");
        let schema = answer_schema(&doc, "get", path, 200);
        assert!(schema["$ref"].is_string(), "{path}");
        let found = differences(&doc, &schema, &answer, path);
        assert!(found.is_empty(), "{found:#?}");
        done += 1;
    }
    assert_eq!(done, 29);
}

/// Returns every schema below `schema` that says no more than "object" or "array".
fn vague(schema: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    let has = |keys: &[&str]| keys.iter().any(|k| schema.get(k).is_some());
    let is = |t: &str| schema["type"] == t || schema["type"][0] == t;
    let nothing_said = !has(&["type", "$ref", "anyOf", "oneOf", "enum", "const"]);
    let says = ["properties", "additionalProperties", "patternProperties"];
    let empty = is("object") && !has(&says);
    if nothing_said || empty || (is("array") && !has(&["items"])) {
        found.push(at.to_string());
    }
    for (name, s) in schema["properties"].as_object().into_iter().flatten() {
        found.extend(vague(s, &format!("{at}.{name}")));
    }
    if has(&["items"]) {
        found.extend(vague(&schema["items"], &format!("{at}[]")));
    }
    found
}

#[test]
fn no_schema_says_just_object_or_array() {
    let doc: Value = serde_json::from_str(tidemark_controller::api::OPENAPI).unwrap();
    let schemas = doc["components"]["schemas"].as_object().unwrap();
    assert!(schemas.len() > 50, "{}", schemas.len());
    let found: Vec<String> = schemas.iter().flat_map(|(n, s)| vague(s, n)).collect();
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(vague(&json!({"type": "object"}), "x"), ["x"]);
    let list = json!({"type": "object", "properties": {"a": {"type": ["array", "null"]}}});
    assert_eq!(vague(&list, "x"), ["x.a"]);
}

#[test]
fn the_test_itself_finds_differences() {
    let doc = json!({});
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let found = |v: Value| differences(&doc, &schema, &v, "x").len();
    assert_eq!(found(json!({"a": 1})), 0);
    assert_eq!(found(json!({"a": "1"})), 1);
    assert_eq!(found(json!({"b": 1})), 2);
    assert_eq!(found(json!([])), 1);
    let schema = json!({"oneOf": [{"const": "a"}, {"enum": ["b", "c"]}]});
    assert!(differences(&doc, &schema, &json!("c"), "x").is_empty());
    assert_eq!(differences(&doc, &schema, &json!("d"), "x").len(), 1);
}
