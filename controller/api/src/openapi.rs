// SPDX-License-Identifier: Apache-2.0
//! The OpenAPI document of [`crate::operations`], for `make codegen`.
//!
//! Schemas are JSON Schema 2020-12, which OpenAPI 3.1 uses as it is. Answers and
//! requests have different contracts: a field of an answer that may be `null` is
//! still required, the same field of a request may be left out.

use crate::operation::path_of_queue;
use crate::{ErrorBody, Event, Method, Nothing, Operation, Visitor, operations};
use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value, json};
use std::any::TypeId;

const SCHEMAS: &str = "/components/schemas";

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|s| {
        s.definitions_path = SCHEMAS.into();
        s.meta_schema = None;
    })
}

/// Settings for the schemas of answers. They allow fields that a later version may add, even if a
/// type forbids them when it is read from a file, and they have no defaults to fill in.
fn answers() -> SchemaSettings {
    let open = |schema: &mut Schema| {
        schema.remove("default");
        if schema.get("patternProperties").is_none() {
            schema.remove("additionalProperties");
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace("`None`", "null");
        }
    };
    settings()
        .for_serialize()
        .with_transform(RecursiveTransform(open))
}

struct Document {
    answers: SchemaGenerator,
    requests: SchemaGenerator,
    paths: Map<String, Value>,
}

impl Visitor for Document {
    fn visit<O: Operation>(&mut self) {
        let of_path = self.parameters::<O::Path>("path");
        let of_query = self.parameters::<O::Query>("query");
        let parameters = |path: &str| -> Vec<Value> {
            let named = |p: &&Value| {
                let name = p["name"].as_str().unwrap_or_default();
                path.contains(&format!("{{{name}}}"))
            };
            let of_path = of_path.iter().filter(named);
            of_path.chain(&of_query).cloned().collect()
        };
        let answer = self.answers.subschema_for::<O::Answer>();
        let content: Map<String, Value> = O::MEDIA
            .iter()
            .map(|media| match *media {
                media @ "application/json" => (media.into(), json!({"schema": answer})),
                media @ ("image/png" | "application/pdf") => {
                    let bytes = json!({"type": "string", "format": "binary"});
                    (media.into(), json!({"schema": bytes}))
                }
                media => (media.into(), json!({"schema": {"type": "string"}})),
            })
            .collect();
        let good = json!({"description": O::SUMMARY, "content": content});
        let error = json!({"$ref": "#/components/responses/Error"});
        let mut responses: Map<String, Value> = O::STATUS
            .iter()
            .map(|status| (status.to_string(), good.clone()))
            .collect();
        responses.insert("4XX".into(), error.clone());
        responses.insert("5XX".into(), error);
        let mut operation = json!({
            "operationId": name::<O>(), "summary": O::SUMMARY, "parameters": parameters(O::PATH),
            "responses": responses,
        });
        let (method, security) = match O::METHOD {
            Method::Get => ("get", json!([])),
            Method::Post => ("post", json!([{"token": []}])),
        };
        operation["security"] = security;
        if TypeId::of::<O::Body>() != TypeId::of::<Nothing>() {
            let schema = self.requests.subschema_for::<O::Body>();
            operation["requestBody"] = json!({
                "required": true, "content": {"application/json": {"schema": schema}},
            });
        }
        if let Some(path) = path_of_queue::<O>() {
            let mut of_queue = operation.clone();
            of_queue["operationId"] = format!("{}OfQueue", name::<O>()).into();
            of_queue["parameters"] = parameters(&path).into();
            let path = self.paths.entry(path).or_insert_with(|| json!({}));
            path[method] = of_queue;
        }
        let path = self.paths.entry(O::PATH).or_insert_with(|| json!({}));
        path[method] = operation;
    }
}

/// Returns the name of the marker type, e.g. `GetStatus`.
fn name<O>() -> &'static str {
    let full = std::any::type_name::<O>();
    full.rsplit("::").next().unwrap_or(full)
}

impl Document {
    fn parameters<T: schemars::JsonSchema>(&self, place: &str) -> Vec<Value> {
        let schema = settings().for_deserialize().into_generator();
        let schema = schema.into_root_schema_for::<T>();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Vec::new();
        };
        let parameters = properties.iter().map(|(name, schema)| {
            let mut schema = schema.clone();
            let description = schema.as_object_mut().and_then(|s| s.remove("description"));
            // A parameter is present or absent; it cannot be null.
            if let Some(kind) = schema.pointer("/type/0").cloned() {
                schema["type"] = kind;
            }
            json!({
                "name": name, "in": place, "required": place == "path",
                "description": description, "schema": schema,
            })
        });
        parameters.collect()
    }
}

/// Returns the document.
pub fn document() -> Value {
    let mut document = Document {
        answers: answers().into_generator(),
        requests: settings().for_deserialize().into_generator(),
        paths: Map::new(),
    };
    operations::visit(&mut document);
    document.answers.subschema_for::<Event>();
    let error = document.answers.subschema_for::<ErrorBody>();
    document.paths.insert(
        "/openapi.json".into(),
        json!({"get": {
            "operationId": "GetOpenapi", "summary": "This document", "parameters": [],
            "responses": {
                "200": {"description": "This document", "content": {"application/json": {
                    "schema": {"type": "object", "description": "OpenAPI 3.1"},
                }}},
                "4XX": {"$ref": "#/components/responses/Error"},
            },
            "security": [],
        }}),
    );
    let mut schemas = document.answers.take_definitions(true);
    // A type used in both directions has the same schema in both; otherwise it would need two
    // names.
    schemas.extend(document.requests.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tidemark controller", "version": env!("CARGO_PKG_VERSION"),
            "description": "Buffer occupancy, estimates, sizing rules, advice and limits.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/api/v1"}],
        "paths": document.paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Error": {
                "description": "What is wrong, and the field at fault",
                "content": {"application/json": {"schema": error}},
            }},
            "schemas": schemas,
        },
    })
}
