// SPDX-License-Identifier: Apache-2.0
//! Contents of requests: parameters of the path, of the query, and bodies.

use serde::{Deserialize, Deserializer, Serialize};
use tidemark_control::Mode;
use tidemark_rules::Goal;

/// No parameters, or no body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Nothing {}

/// A port in a request.
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "described, not built")]
enum PortName {
    /// Its number.
    Number(u32),
    /// The port of reports that do not name one.
    Unknown(Unknown),
}

#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "described, not built")]
enum Unknown {
    Unknown,
}

/// A link in the path: `/{node}/{port}` is queue 0, `/{node}/{port}/{queue}` another queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LinkPath {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port, or `unknown`.
    #[serde(with = "tidemark_proto::port_in_path")]
    #[schemars(with = "PortName")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
}

/// An egress port in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PortPath {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
}

/// A switch in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NodePath {
    /// Node id of the switch.
    pub node: u32,
}

/// A phase in the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhasePath {
    /// Name given at its start.
    pub name: String,
}

/// A link in the query. May be left out if only one link is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkQuery {
    /// Node id of the switch.
    pub node: Option<u32>,
    /// Egress port.
    #[serde(default, with = "tidemark_proto::asked_port")]
    #[schemars(with = "Option<PortName>")]
    pub port: Option<u32>,
    /// Queue of the port; 0 by default.
    pub queue: Option<u32>,
}

/// The link that a listener asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Node id of a switch. With `port`, `links` of `update` has only that link, and `others` every
    /// link.
    pub node: Option<u32>,
    /// Egress port; with `node`.
    #[serde(default, with = "tidemark_proto::asked_port")]
    #[schemars(with = "Option<PortName>")]
    pub port: Option<u32>,
    /// Queue of the port; 0 by default.
    pub queue: Option<u32>,
}

/// A span of time, its resolution, and flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowsQuery {
    /// Start.
    pub from_ns: Option<u64>,
    /// End, exclusive; the newest by default.
    pub to_ns: Option<u64>,
    /// Length of the span before its end, in seconds, instead of a start; 30 by default.
    pub last_s: Option<f64>,
    /// Maximum number of steps after merging; 1000 by default, at most 20000.
    pub max_points: Option<usize>,
    /// Flow ids, separated by commas, at most 50; the sums are over all flows.
    pub flows: Option<String>,
}

/// Flows of one link, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowsQuery {
    /// Node id of the switch.
    pub node: Option<u32>,
    /// Egress port.
    #[serde(default, with = "tidemark_proto::asked_port")]
    #[schemars(with = "Option<PortName>")]
    pub port: Option<u32>,
    /// Queue of the port; 0 by default.
    pub queue: Option<u32>,
    /// Maximum number of flows of each link; 1000 by default, at most 10000.
    pub max_flows: Option<usize>,
    /// Number of flows before the page, 0 by default; a page has at most 10000.
    pub offset: Option<usize>,
}

/// A page of the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinksQuery {
    /// Number of links before the page, 0 by default.
    pub offset: Option<usize>,
    /// Maximum number of links; 1000 by default, at most 1000.
    pub max_links: Option<usize>,
}

/// Phases of one link, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhasesQuery {
    /// Node id of the switch.
    pub node: Option<u32>,
    /// Egress port.
    #[serde(default, with = "tidemark_proto::asked_port")]
    #[schemars(with = "Option<PortName>")]
    pub port: Option<u32>,
    /// Queue of the port; 0 by default.
    pub queue: Option<u32>,
    /// Maximum number of phases, the newest; 100 by default, at most 1000.
    pub max_phases: Option<usize>,
}

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpanQuery {
    /// Start.
    pub from_ns: Option<u64>,
    /// End, exclusive; the newest by default.
    pub to_ns: Option<u64>,
    /// Length of the span before its end, in seconds, instead of a start.
    pub last_s: Option<f64>,
}

/// Converts queries that contain a span to [`SpanQuery`].
macro_rules! spans {
    ($($query:ident),+) => {$(
        impl From<&$query> for SpanQuery {
            fn from(q: &$query) -> Self {
                Self {
                    from_ns: q.from_ns,
                    to_ns: q.to_ns,
                    last_s: q.last_s,
                }
            }
        }
    )+};
}

spans!(WindowsQuery, SeriesQuery, PacketsQuery);

/// A span of time and its resolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeriesQuery {
    /// Start.
    pub from_ns: Option<u64>,
    /// End, exclusive; the newest by default.
    pub to_ns: Option<u64>,
    /// Length of the span before its end, in seconds, instead of a start; 30 by default.
    pub last_s: Option<f64>,
    /// Maximum number of steps after merging; 1000 by default, at most 20000.
    pub max_points: Option<usize>,
}

/// A span of time, and the maximum number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacketsQuery {
    /// Start.
    pub from_ns: Option<u64>,
    /// End, exclusive; the newest by default.
    pub to_ns: Option<u64>,
    /// Length of the span before its end, in seconds, instead of a start; 1 by default.
    pub last_s: Option<f64>,
    /// Maximum number of packets; 20000 by default, at most 200000.
    pub max_packets: Option<u32>,
}

/// The link whose verdict is asked for, and the format.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictQuery {
    /// Node id of the switch; may be left out if only one link is known.
    pub node: Option<u32>,
    /// Egress port; may be left out if only one link is known.
    #[serde(default, with = "tidemark_proto::asked_port")]
    #[schemars(with = "Option<PortName>")]
    pub port: Option<u32>,
    /// Queue of the port; 0 by default.
    pub queue: Option<u32>,
    /// `json` (default), or the picture as `svg`, `png` (2400 × 1200), `pdf` or `txt` (80 columns).
    pub format: Option<String>,
    /// Colours of the picture: `light` (default) or `dark`.
    pub theme: Option<String>,
    /// Width of the picture in px (240 to 2400), for a page that shows title and reason itself; by
    /// default the picture is for paper, 1200 px wide.
    pub width: Option<u32>,
}

/// Action on packets that meet a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitAction {
    /// Packets are dropped.
    DropTail,
    /// From a threshold on, ECN-capable packets are marked CE and others dropped; from the limit
    /// on, all packets are dropped.
    MarkCe,
    /// There is no limit except the switch's own.
    Unlimited,
}

/// A limit to set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitRequest {
    /// Limit, bytes; not with `unlimited`. With `mark_ce` it must be above the threshold; if it is
    /// left out, only the switch's own queue depth applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Occupancy from which packets are marked, bytes; required with `mark_ce`, refused otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_bytes: Option<u64>,
    /// Action; `drop_tail` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<LimitAction>,
    /// Reason, for the audit log; at most 1000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether a port reports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportsRequest {
    /// Whether packets leaving through the port are reported.
    pub on: bool,
}

/// The advice to apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyRequest {
    /// Node id of the switch; may be left out if only one link is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Egress port; may be left out if only one link is known.
    #[serde(
        default,
        with = "tidemark_proto::asked_port",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<PortName>")]
    pub port: Option<u32>,
    /// Queue of the port; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Refuse unless the advice still has this limit, within 5 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Targets to set; a target that is left out stays unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetsRequest {
    /// Node id of the switch. Without node and port, the default of all links is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Egress port.
    #[serde(
        default,
        with = "tidemark_proto::asked_port",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<PortName>")]
    pub port: Option<u32>,
    /// Queue of the port; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Minimum utilisation, fraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// Maximum loss rate, fraction; null = no bound.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub loss_rate: Option<Option<f64>>,
    /// Maximum queueing delay, ms; null = no bound.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub delay_ms: Option<Option<f64>>,
    /// Order in which targets are kept if not all can be met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Vec<Goal>>,
    /// Probability with which each target must be met, 0.5 to 0.99.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Fraction inside the bounds at which the advice aims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

/// Reads a field that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::<f64>::deserialize(d).map(Some)
}

/// How far the controller may go in applying advice from now on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeRequest {
    /// The mode; kept across restarts if a `state_file` is configured.
    pub mode: Mode,
}

/// Action on a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PhaseAction {
    /// Start it.
    Start,
    /// End it.
    End,
}

/// A phase to start or to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseRequest {
    /// Name of the phase: 1 to 64 letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// The action.
    pub action: PhaseAction,
}
