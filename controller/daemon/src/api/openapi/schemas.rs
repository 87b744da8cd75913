// SPDX-License-Identifier: Apache-2.0
//! Schemas of the answers.

use serde_json::{Map, Value, json};

/// `type`, `Schema`, `array of Schema`; with `?` it may be null.
pub(super) type Fields = &'static [(&'static str, &'static str)];

pub(super) const LINK: Fields = &[
    ("node", "integer"),
    ("port", "integer"),
    ("name", "string"),
    ("node_name", "string"),
    ("collector", "string"),
    ("capacity_bps", "integer"),
    ("wire_overhead_bytes", "integer"),
    ("queue_overhead_bytes", "integer"),
    ("depth_unit_bytes", "integer"),
    ("capture_start_ns", "integer?"),
    ("now_ns", "integer"),
    ("age_s", "number?"),
    ("stale", "boolean"),
    ("limit", "Limit?"),
    ("reported_limit_bytes", "integer?"),
    ("recent", "object?"),
    ("targets", "Targets"),
    ("estimate", "object?"),
    ("advice", "object?"),
    ("steadiness", "Steadiness"),
    ("watching", "object?"),
];

const STEADINESS: Fields = &[
    ("steady", "boolean"),
    ("latest_bytes", "integer?"),
    ("low_bytes", "integer?"),
    ("high_bytes", "integer?"),
    ("seconds", "integer"),
    ("since_ns", "integer?"),
];

const TARGETS: Fields = &[
    ("utilisation", "number"),
    ("loss_rate", "number?"),
    ("delay_ms", "number?"),
    ("priority", "array"),
];

const CHANGE: Fields = &[
    ("unix_ms", "integer"),
    ("node", "integer"),
    ("port", "integer"),
    ("origin", "string"),
    ("outcome", "string"),
    ("before", "Limit?"),
    ("limit", "Limit?"),
    ("reason", "string"),
    ("error", "string?"),
    ("expected", "object?"),
    ("measured_before", "object?"),
    ("measured_after", "object?"),
];

pub(super) const PHASE: Fields = &[
    ("name", "string"),
    ("state", "string"),
    ("started_unix_ms", "integer"),
    ("ended_unix_ms", "integer?"),
    ("reports", "object"),
    ("probe", "object"),
    ("join", "object"),
    ("links", "array of PhaseLink"),
];
/// The same fields; its links come without estimates.
pub(super) const PHASE_BRIEF: Fields = &[
    ("name", "string"),
    ("state", "string"),
    ("started_unix_ms", "integer"),
    ("ended_unix_ms", "integer?"),
    ("reports", "object"),
    ("probe", "object"),
    ("join", "object"),
    ("links", "array"),
];

const PHASE_LINK: Fields = &[
    ("node", "integer"),
    ("port", "integer"),
    ("start_ns", "integer"),
    ("end_ns", "integer?"),
    ("start_s", "number"),
    ("end_s", "number?"),
    ("capture_start_ns", "integer"),
    ("intervals", "integer"),
    ("reports_lost", "integer"),
    ("joined", "integer"),
    ("unjoined", "integer"),
    ("incomplete", "string?"),
    ("limit_bytes", "integer?"),
    ("estimate", "object?"),
    ("advice", "object?"),
];

fn field(kind: &str) -> Value {
    if let Some(kind) = kind.strip_suffix('?') {
        let mut schema = field(kind);
        return match schema["type"].as_str().map(String::from) {
            Some(t) => {
                schema["type"] = json!([t, "null"]);
                schema
            }
            None => json!({"anyOf": [schema, {"type": "null"}]}),
        };
    }
    if let Some(of) = kind.strip_prefix("array of ") {
        return json!({"type": "array", "items": field(of)});
    }
    match kind {
        "array" => json!({"type": "array", "items": {}}),
        "object" | "string" | "integer" | "number" | "boolean" => json!({"type": kind}),
        name => json!({"$ref": format!("#/components/schemas/{name}")}),
    }
}

/// An object with all of these fields.
pub(super) fn object(fields: Fields) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|(name, kind)| ((*name).into(), field(kind)))
        .collect();
    let required: Vec<&str> = fields.iter().map(|f| f.0).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// `components.schemas`.
pub(super) fn all() -> Value {
    let limit = json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["drop_tail", "mark_ce", "unlimited"]},
            "limit_bytes": {"type": "integer", "description": "Not with unlimited"},
        },
        "required": ["action"],
    });
    let error = json!({
        "type": "object",
        "properties": {"error": object(&[("message", "string"), ("field", "string?")])},
        "required": ["error"],
    });
    json!({
        "Link": object(LINK), "Steadiness": object(STEADINESS), "Targets": object(TARGETS),
        "Phase": object(PHASE), "PhaseLink": object(PHASE_LINK), "Change": object(CHANGE),
        "Limit": limit, "Error": error,
    })
}
