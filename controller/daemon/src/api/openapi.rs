// SPDX-License-Identifier: Apache-2.0
//! The OpenAPI document. Written by hand; a test holds it against the routes.

use axum::Json;
use serde_json::{Map, Value, json};

/// One operation: method, path, summary, query parameters, body fields.
struct Operation {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    query: &'static [(&'static str, &'static str)],
    body: &'static [Field],
}

/// One field of a body: name, type, whether it must be there, description.
type Field = (&'static str, &'static str, bool, &'static str);

const LINK: &[(&str, &str)] = &[("node", "integer"), ("port", "integer")];
const SPAN: &[(&str, &str)] = &[
    ("from_ns", "integer"),
    ("to_ns", "integer"),
    ("last_s", "number"),
    ("max_points", "integer"),
];
const PACKETS: &[(&str, &str)] = &[
    ("from_ns", "integer"),
    ("to_ns", "integer"),
    ("last_s", "number"),
    ("max_packets", "integer"),
];
const CURVE: &[(&str, &str)] = &[
    ("node", "integer"),
    ("port", "integer"),
    ("from_bytes", "number"),
    ("to_bytes", "number"),
    ("points", "integer"),
    ("format", "string"),
];

const fn get(
    path: &'static str,
    query: &'static [(&'static str, &'static str)],
    summary: &'static str,
) -> Operation {
    Operation {
        method: "get",
        path,
        summary,
        query,
        body: &[],
    }
}

const fn post(path: &'static str, body: &'static [Field], summary: &'static str) -> Operation {
    Operation {
        method: "post",
        path,
        summary,
        query: &[],
        body,
    }
}

const OPERATIONS: &[Operation] = &[
    get("/status", &[], "Controller, collectors, switches"),
    get(
        "/links",
        &[],
        "Every link: limit, last second, estimate, advice",
    ),
    get(
        "/links/{node}/{port}",
        &[],
        "One link with every rule of its advice",
    ),
    get(
        "/links/{node}/{port}/series",
        SPAN,
        "Occupancy, delay, loss, utilisation over time, as columns",
    ),
    get(
        "/links/{node}/{port}/packets",
        PACKETS,
        "Single packets from the collector's memory, as columns",
    ),
    get(
        "/flows",
        LINK,
        "Flows of the window with class, rate, window, RTT",
    ),
    get(
        "/rules",
        LINK,
        "Every sizing rule with buffer, inputs and assumptions",
    ),
    get(
        "/advice",
        LINK,
        "The advice, and whether it could be applied now",
    ),
    get(
        "/curve",
        CURVE,
        "Predicted utilisation, loss and delay over the buffer size",
    ),
    get("/targets", &[], "Targets in force"),
    get("/phases", &[], "All phases with their estimates"),
    get("/phases/{name}", &[], "One phase"),
    get("/changes", &[], "The last limit changes"),
    get(
        "/events",
        &[],
        "Server-sent events: update, change, phase, collector",
    ),
    get("/openapi.json", &[], "This document"),
    post(
        "/links/{node}/{port}/limit",
        &[
            (
                "bytes",
                "integer",
                false,
                "Limit, bytes as the queue counts them; not with unlimited",
            ),
            (
                "action",
                "string",
                false,
                "drop_tail (default), mark_ce or unlimited",
            ),
            ("reason", "string", false, "For the audit log"),
        ],
        "Set a limit; the answer is read back from the switch",
    ),
    post(
        "/links/{node}/{port}/reports",
        &[(
            "on",
            "boolean",
            true,
            "Whether packets leaving by this port are reported",
        )],
        "Turn the reports of a port on or off",
    ),
    post(
        "/advice/apply",
        &[
            (
                "node",
                "integer",
                false,
                "May be left out where one link is known",
            ),
            ("port", "integer", false, "The same"),
            (
                "bytes",
                "integer",
                false,
                "Refuse unless the advice is still this, within 5 %",
            ),
        ],
        "Apply the present advice",
    ),
    post(
        "/targets",
        &[
            (
                "node",
                "integer",
                false,
                "Without node and port: the default of all links",
            ),
            ("port", "integer", false, "The same"),
            ("utilisation", "number", false, "Fraction"),
            ("loss_rate", "number", false, "Fraction; null = no bound"),
            ("delay_ms", "number", false, "ms; null = no bound"),
            (
                "priority",
                "array",
                false,
                "utilisation, loss, delay: kept in this order",
            ),
        ],
        "Set targets",
    ),
    post(
        "/phases",
        &[
            (
                "name",
                "string",
                true,
                "1 to 64 letters, digits, '-', '_', '.'",
            ),
            ("action", "string", true, "start or end"),
        ],
        "Start or end a phase",
    ),
];

fn operation(o: &Operation) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    for part in o.path.split('/') {
        if let Some(name) = part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
            let kind = if name == "name" { "string" } else { "integer" };
            parameters.push(json!({
                "name": name, "in": "path", "required": true, "schema": {"type": kind},
            }));
        }
    }
    for (name, kind) in o.query {
        parameters.push(json!({"name": name, "in": "query", "schema": {"type": kind}}));
    }
    let error = json!({
        "description": "What is wrong, and the field at fault",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    });
    let kind = match o.path {
        "/events" => "text/event-stream",
        _ => "application/json",
    };
    let mut v = json!({
        "summary": o.summary, "parameters": parameters,
        "responses": {
            "200": {"description": o.summary, "content": {kind: {"schema": {}}}},
            "4XX": error, "5XX": error,
        },
    });
    if o.method == "post" {
        let mut properties = Map::new();
        for (name, kind, _, description) in o.body {
            let mut property = json!({"type": kind, "description": description});
            if *kind == "array" {
                property["items"] = json!({"type": "string"});
            }
            properties.insert((*name).into(), property);
        }
        let required: Vec<&str> = o.body.iter().filter(|f| f.2).map(|f| f.0).collect();
        let mut schema = json!({
            "type": "object", "properties": properties, "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        v["requestBody"] = json!({
            "required": true, "content": {"application/json": {"schema": schema}},
        });
        v["security"] = json!([{"token": []}]);
    }
    v
}

/// The document.
pub fn build() -> Value {
    let mut paths = Map::new();
    for o in OPERATIONS {
        let path = paths.entry(o.path).or_insert_with(|| json!({}));
        path[o.method] = operation(o);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tidemark controller", "version": env!("CARGO_PKG_VERSION"),
            "description": "Buffer occupancy, estimates, sizing rules, advice and limits. See docs/api.md.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/api/v1"}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": {
                "type": "object",
                "properties": {"error": {
                    "type": "object",
                    "properties": {
                        "message": {"type": "string"},
                        "field": {"type": ["string", "null"]},
                    },
                    "required": ["message", "field"],
                }},
                "required": ["error"],
            }},
        },
    })
}

/// `GET /openapi.json`.
pub async fn document() -> Json<Value> {
    Json(build())
}
