// SPDX-License-Identifier: Apache-2.0
//! The OpenAPI document. Written by hand; tests hold it against the routes and
//! against the fields of real answers.

mod operations;
mod schemas;

use axum::Json;
use operations::{OPERATIONS, Operation};
use serde_json::{Map, Value, json};

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
    let code = match (o.method, o.path) {
        ("post", "/phases") => "2XX",
        _ => "200",
    };
    let answer = match o.path {
        "/events" => json!({"type": "string"}),
        "/openapi.json" => json!({"type": "object"}),
        _ => schemas::object(o.answer),
    };
    let mut v = json!({
        "summary": o.summary, "parameters": parameters,
        "responses": {
            code: {"description": o.summary, "content": {kind: {"schema": answer}}},
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
            "description": "Buffer occupancy, estimates, sizing rules, advice and limits. See docs/reference/api.md.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/api/v1"}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas::all(),
        },
    })
}

/// `GET /openapi.json`.
pub async fn document() -> Json<Value> {
    Json(build())
}
