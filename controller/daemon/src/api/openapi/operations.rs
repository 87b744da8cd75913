// SPDX-License-Identifier: Apache-2.0
//! Every operation: path, parameters, fields of body and answer.

use super::schemas;

/// One operation: method, path, summary, query parameters, body fields.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: &'static [(&'static str, &'static str)],
    pub(super) body: &'static [Field],
    /// Fields of a good answer.
    pub(super) answer: &'static [(&'static str, &'static str)],
}

/// One field of a body: name, type, whether it must be there, description.
pub(super) type Field = (&'static str, &'static str, bool, &'static str);

const LINK: &[(&str, &str)] = &[("node", "integer"), ("port", "integer")];
const SPAN: &[(&str, &str)] = &[
    ("from_ns", "integer"),
    ("to_ns", "integer"),
    ("last_s", "number"),
    ("max_points", "integer"),
];
const PLAIN_SPAN: &[(&str, &str)] = &[
    ("from_ns", "integer"),
    ("to_ns", "integer"),
    ("last_s", "number"),
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
    answer: &'static [(&'static str, &'static str)],
    summary: &'static str,
) -> Operation {
    Operation {
        method: "get",
        path,
        summary,
        query,
        body: &[],
        answer,
    }
}

const fn post(
    path: &'static str,
    body: &'static [Field],
    answer: &'static [(&'static str, &'static str)],
    summary: &'static str,
) -> Operation {
    Operation {
        method: "post",
        path,
        summary,
        query: &[],
        body,
        answer,
    }
}

const STATUS: &[(&str, &str)] = &[
    ("version", "string"),
    ("mode", "string"),
    ("dry_run", "boolean"),
    ("uptime_s", "number"),
    ("window_s", "number"),
    ("retention_s", "number"),
    ("collectors", "array"),
    ("switches", "array"),
    ("targets", "Targets"),
    ("links", "array"),
];
const SERIES: &[(&str, &str)] = &[
    ("node", "integer"),
    ("port", "integer"),
    ("step_ns", "integer"),
    ("time_ns", "array"),
    ("occupancy_p50_bytes", "array"),
    ("occupancy_p99_bytes", "array"),
    ("occupancy_max_bytes", "array"),
    ("delay_p50_ms", "array"),
    ("delay_p99_ms", "array"),
    ("delay_max_ms", "array"),
    ("utilisation", "array"),
    ("packets", "array"),
    ("arrivals", "array"),
    ("drops", "array"),
    ("ce_marked", "array"),
    ("limit_bytes", "array"),
    ("reports_lost", "array"),
];
const DISTRIBUTION: &[(&str, &str)] = &[
    ("node", "integer"),
    ("port", "integer"),
    ("from_ns", "integer"),
    ("to_ns", "integer"),
    ("limit_bytes", "integer"),
    ("arrivals", "integer"),
    ("p50_bytes", "number?"),
    ("p99_bytes", "number?"),
    ("max_bytes", "integer"),
    ("low_bytes", "array"),
    ("high_bytes", "array"),
    ("count", "array"),
];
const PACKET_COLUMNS: &[(&str, &str)] = &[
    ("node", "integer"),
    ("port", "integer"),
    ("from_ns", "integer"),
    ("to_ns", "integer"),
    ("ingress_ns", "array"),
    ("egress_ns", "array"),
    ("occupancy_bytes", "array"),
    ("flow_id", "array"),
    ("dropped", "array"),
    ("ip_bytes", "array"),
    ("cwnd", "array"),
    ("truncated", "boolean"),
];
const ADVICE: &[(&str, &str)] = &[
    ("node", "integer"),
    ("port", "integer"),
    ("targets", "Targets"),
    ("limit", "Limit?"),
    ("advice", "object?"),
    ("can_apply", "boolean"),
    ("why_not", "string?"),
];
const CURVE_ANSWER: &[(&str, &str)] = &[
    ("node", "integer"),
    ("port", "integer"),
    ("limit_bytes", "number?"),
    ("points", "array"),
];
const CHANGED: &[(&str, &str)] = &[
    ("node", "integer"),
    ("port", "integer"),
    ("before", "Limit?"),
    ("limit", "Limit"),
];
const APPLIED: &[(&str, &str)] = &[
    ("node", "integer"),
    ("port", "integer"),
    ("before", "Limit?"),
    ("limit", "Limit"),
    ("advice", "object?"),
];

pub(super) const OPERATIONS: &[Operation] = &[
    get("/status", &[], STATUS, "Controller, collectors, switches"),
    get(
        "/links",
        &[],
        &[("links", "array of Link")],
        "Every link: limit, last second, estimate, advice",
    ),
    get(
        "/links/{node}/{port}",
        &[],
        schemas::LINK,
        "One link with every rule of its advice",
    ),
    get(
        "/links/{node}/{port}/series",
        SPAN,
        SERIES,
        "Occupancy, delay, loss, utilisation over time, as columns",
    ),
    get(
        "/links/{node}/{port}/distribution",
        PLAIN_SPAN,
        DISTRIBUTION,
        "Occupancy met by every arrival at the last limit, as bins",
    ),
    get(
        "/links/{node}/{port}/packets",
        PACKETS,
        PACKET_COLUMNS,
        "Single packets from the collector's memory, as columns",
    ),
    get(
        "/flows",
        LINK,
        &[("flows", "array")],
        "Flows of the window with class, rate, window, RTT",
    ),
    get(
        "/rules",
        LINK,
        &[("node", "integer"), ("port", "integer"), ("rules", "array")],
        "Every sizing rule with buffer, inputs and assumptions",
    ),
    get(
        "/advice",
        LINK,
        ADVICE,
        "The advice, and whether it could be applied now",
    ),
    get(
        "/curve",
        CURVE,
        CURVE_ANSWER,
        "Predicted utilisation, loss and delay over the buffer size",
    ),
    get(
        "/targets",
        &[],
        &[("default", "Targets"), ("links", "array")],
        "Targets in force",
    ),
    get(
        "/phases",
        &[],
        &[("phases", "array of Phase")],
        "All phases with their estimates",
    ),
    get("/phases/{name}", &[], schemas::PHASE, "One phase"),
    get(
        "/changes",
        &[],
        &[("changes", "array of Change")],
        "The last limit changes",
    ),
    get(
        "/events",
        &[],
        &[],
        "Server-sent events: update, change, phase, collector",
    ),
    get("/openapi.json", &[], &[], "This document"),
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
        CHANGED,
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
        &[("node", "integer"), ("port", "integer"), ("on", "boolean")],
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
        APPLIED,
        "Apply the present advice",
    ),
    post(
        "/mode",
        &[(
            "mode",
            "string",
            true,
            "recommend, confirm or auto; kept over restarts with a state_file",
        )],
        &[("mode", "string")],
        "Set what may be done with advice",
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
        &[("targets", "Targets")],
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
        schemas::PHASE_BRIEF,
        "Start or end a phase",
    ),
];
