// SPDX-License-Identifier: Apache-2.0
//! Handlers that only read.

use super::App;
use super::body::Query;
use super::error::ApiError;
use super::{select, view};
use crate::core::audit::lock;
use crate::core::series::Columns;
use crate::core::{control, subscribe};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tidemark_estimators::{LinkId, OccupancyDistribution};
use tidemark_proto::telemetry::ReadPacketsRequest;
use tidemark_rules::{Measured, WhatIfPoint, what_if};

const MAX_POINTS: usize = 20_000;
const MAX_PACKETS: u32 = 200_000;

type Answer = Result<Json<Value>, ApiError>;

pub async fn status(State(app): State<App>) -> Json<Value> {
    Json(view::status(&app.core))
}

pub async fn links(State(app): State<App>) -> Json<Value> {
    let links = app.core.known_links();
    let links: Vec<Value> = links
        .into_iter()
        .map(|id| view::link(&app.core, id, false))
        .collect();
    Json(json!({ "links": links }))
}

pub async fn link(State(app): State<App>, Path((node, port)): Path<(u32, u32)>) -> Answer {
    let id = select::known(&app.core, node, port)?;
    Ok(Json(view::link(&app.core, id, true)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    last_s: Option<f64>,
    max_points: Option<usize>,
    max_packets: Option<u32>,
}

impl Span {
    /// The span asked for; the last `default_s` where it is not said.
    fn resolve(&self, end_ns: u64, default_s: f64) -> Result<(u64, u64), ApiError> {
        let to_ns = self.to_ns.unwrap_or(end_ns);
        let last_s = self.last_s.unwrap_or(default_s);
        if !(last_s > 0.0 && last_s.is_finite()) {
            return Err(ApiError::bad("last_s", "must be above 0"));
        }
        let from_ns = self
            .from_ns
            .unwrap_or_else(|| to_ns.saturating_sub((last_s * 1e9) as u64));
        if from_ns > to_ns {
            return Err(ApiError::bad(
                "from_ns",
                format!("{from_ns} is after to_ns, {to_ns}"),
            ));
        }
        Ok((from_ns, to_ns))
    }
}

pub async fn series(
    State(app): State<App>,
    Path((node, port)): Path<(u32, u32)>,
    Query(span): Query<Span>,
) -> Answer {
    let id = select::known(&app.core, node, port)?;
    let max_points = span.max_points.unwrap_or(1000);
    if !(1..=MAX_POINTS).contains(&max_points) {
        return Err(ApiError::bad(
            "max_points",
            format!("must be 1 to {MAX_POINTS}"),
        ));
    }
    let columns = app.core.with_feed(id, |f| -> Result<Columns, ApiError> {
        let Some(s) = f.series.get(&id) else {
            return Ok(Columns::default());
        };
        let (from_ns, to_ns) = span.resolve(s.last_ns, 30.0)?;
        let (step_ns, points) = s.query(from_ns, to_ns, max_points);
        let capacity = f.port(id).map_or(0, |p| p.capacity_bps);
        Ok(Columns::new(step_ns, &points, capacity))
    });
    let mut v = json!(columns.unwrap_or_else(|| Ok(Columns::default()))?);
    (v["node"], v["port"]) = (json!(node), json!(port));
    Ok(Json(v))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainSpan {
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    last_s: Option<f64>,
}

pub async fn distribution(
    State(app): State<App>,
    Path((node, port)): Path<(u32, u32)>,
    Query(q): Query<PlainSpan>,
) -> Answer {
    let id = select::known(&app.core, node, port)?;
    let span = Span {
        from_ns: q.from_ns,
        to_ns: q.to_ns,
        last_s: q.last_s,
        max_points: None,
        max_packets: None,
    };
    let answer = app.core.with_feed(id, |f| -> Result<_, ApiError> {
        let (from_ns, to_ns) = span.resolve(f.complete_ns(id), 60.0)?;
        Ok(f.occupancy(id, from_ns, to_ns))
    });
    let mut v = json!(answer.unwrap_or_else(|| Ok(OccupancyDistribution::default()))?);
    (v["node"], v["port"]) = (json!(node), json!(port));
    Ok(Json(v))
}

pub async fn packets(
    State(app): State<App>,
    Path((node, port)): Path<(u32, u32)>,
    Query(span): Query<Span>,
) -> Answer {
    let id = select::known(&app.core, node, port)?;
    let max_packets = span.max_packets.unwrap_or(20_000);
    if !(1..=MAX_PACKETS).contains(&max_packets) {
        return Err(ApiError::bad(
            "max_packets",
            format!("must be 1 to {MAX_PACKETS}"),
        ));
    }
    let known = app
        .core
        .with_feed(id, |f| (f.address.clone(), f.complete_ns(id)));
    let (address, now_ns) =
        known.ok_or_else(|| ApiError::not_found("its collector is not connected"))?;
    let (from_ns, to_ns) = span.resolve(now_ns, 1.0)?;
    let request = ReadPacketsRequest {
        node_id: node,
        port,
        from_ns,
        to_ns,
        max_packets,
    };
    let b = subscribe::read_packets(&address, request)
        .await
        .map_err(|m| ApiError::new(StatusCode::BAD_GATEWAY, m))?;
    Ok(Json(json!({
        "node": node, "port": port, "from_ns": from_ns, "to_ns": to_ns,
        "ingress_ns": b.ingress_ns, "egress_ns": b.egress_ns,
        "occupancy_bytes": b.occupancy_bytes, "flow_id": b.flow_id,
        "dropped": b.dropped, "ip_bytes": b.ip_bytes, "cwnd": b.cwnd,
        "truncated": b.truncated,
    })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Which {
    node: Option<u32>,
    port: Option<u32>,
}

pub async fn flows(State(app): State<App>, Query(q): Query<Which>) -> Answer {
    if q.node.is_some() && q.port.is_some() {
        select::one(&app.core, q.node, q.port)?;
    }
    let links = lock(&app.core.links);
    let mut all = Vec::new();
    for (id, state) in links.iter() {
        let fits = q.node.is_none_or(|n| n == id.node_id) && q.port.is_none_or(|p| p == id.port);
        let Some(e) = state.estimate.as_ref().filter(|_| fits) else {
            continue;
        };
        for flow in &e.flows {
            let mut v = json!(flow);
            (v["node"], v["port"]) = (json!(id.node_id), json!(id.port));
            all.push(v);
        }
    }
    Ok(Json(json!({ "flows": all })))
}

fn measured_of(app: &App, id: LinkId) -> Result<Measured, ApiError> {
    let links = lock(&app.core.links);
    let estimate = links.get(&id).and_then(|s| s.estimate.clone());
    drop(links);
    let estimate = estimate.ok_or_else(|| {
        ApiError::new(
            StatusCode::CONFLICT,
            format!("link {id} has not been estimated yet; try again in a second"),
        )
    })?;
    Ok(estimate.measured())
}

pub async fn rules(State(app): State<App>, Query(q): Query<Which>) -> Answer {
    let id = select::one(&app.core, q.node, q.port)?;
    let links = lock(&app.core.links);
    let rules = links.get(&id).and_then(|s| s.advice.as_ref());
    let rules = rules.map_or_else(|| json!([]), |a| json!(a.rules));
    Ok(Json(
        json!({"node": id.node_id, "port": id.port, "rules": rules}),
    ))
}

pub async fn advice(State(app): State<App>, Query(q): Query<Which>) -> Answer {
    let id = select::one(&app.core, q.node, q.port)?;
    let why_not = control::may_apply(&app.core, id).err();
    let links = lock(&app.core.links);
    let advice = links.get(&id).and_then(|s| s.advice.clone());
    drop(links);
    Ok(Json(json!({
        "node": id.node_id, "port": id.port, "targets": app.core.targets_of(id),
        "limit": control::limit_in_force(&app.core, id),
        "advice": advice.as_deref(), "can_apply": why_not.is_none(),
        "why_not": why_not.map(|e| e.to_string()),
    })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveQuery {
    node: Option<u32>,
    port: Option<u32>,
    from_bytes: Option<f64>,
    to_bytes: Option<f64>,
    points: Option<u32>,
    format: Option<String>,
}

pub async fn curve(
    State(app): State<App>,
    Query(q): Query<CurveQuery>,
) -> Result<Response, ApiError> {
    let id = select::one(&app.core, q.node, q.port)?;
    let measured = measured_of(&app, id)?;
    let points = q.points.unwrap_or(100);
    if !(2..=2000).contains(&points) {
        return Err(ApiError::bad("points", "must be 2 to 2000"));
    }
    let bdp = measured.drain_bytes_per_s() * measured.t_e_s.value;
    let widest = (3.0 * bdp).max(2.0 * measured.limit_bytes.unwrap_or(0.0));
    let from = q.from_bytes.unwrap_or(measured.segment_bytes.max(1.0));
    let to = q.to_bytes.unwrap_or(widest.max(100.0 * from));
    if !(from >= 0.0 && from.is_finite()) {
        return Err(ApiError::bad("from_bytes", "must be at least 0"));
    }
    if !(to > from && to.is_finite()) {
        return Err(ApiError::bad("to_bytes", "must be above from_bytes"));
    }
    let step = (to - from) / f64::from(points - 1);
    let buffers = (0..points).map(|i| from + step * f64::from(i));
    let curve = what_if(&measured, buffers).map_err(|e| {
        ApiError::new(
            StatusCode::CONFLICT,
            format!("cannot be predicted yet: {e}"),
        )
    })?;
    match q.format.as_deref() {
        None | Some("json") => Ok(Json(json!({
            "node": id.node_id, "port": id.port, "limit_bytes": measured.limit_bytes,
            "points": curve,
        }))
        .into_response()),
        Some("csv") => Ok(([(header::CONTENT_TYPE, "text/csv")], csv(&curve)).into_response()),
        Some(_) => Err(ApiError::bad("format", "must be json or csv")),
    }
}

fn csv(curve: &[WhatIfPoint]) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("buffer_bytes");
    for name in ["utilisation", "loss_rate", "delay_ms", "delay_mean_ms"] {
        let _ = write!(text, ",{name},{name}_low,{name}_high");
    }
    text.push('\n');
    for p in curve {
        let _ = write!(text, "{}", p.buffer_bytes);
        let p = &p.predicted;
        for i in [p.utilisation, p.loss_rate, p.delay_ms, p.delay_mean_ms] {
            let _ = write!(text, ",{},{},{}", i.value, i.low, i.high);
        }
        text.push('\n');
    }
    text
}

pub async fn targets(State(app): State<App>) -> Json<Value> {
    let targets = lock(&app.core.targets);
    let links: Vec<Value> = targets
        .1
        .iter()
        .map(|(id, t)| json!({"node": id.node_id, "port": id.port, "targets": t}))
        .collect();
    Json(json!({"default": targets.0, "links": links}))
}

pub async fn phases(State(app): State<App>) -> Json<Value> {
    let phases = lock(&app.core.phases);
    let all: Vec<Value> = phases.iter().map(|p| p.json(false)).collect();
    Json(json!({ "phases": all }))
}

pub async fn phase(State(app): State<App>, Path(name): Path<String>) -> Answer {
    let phases = lock(&app.core.phases);
    match phases.get(&name) {
        Some(p) => Ok(Json(p.json(false))),
        None => Err(ApiError::not_found(format!("no phase \"{name}\""))),
    }
}

pub async fn changes(State(app): State<App>) -> Json<Value> {
    Json(json!({"changes": app.core.audit.recent()}))
}

pub async fn metrics(State(app): State<App>) -> Result<Response, ApiError> {
    app.core.metrics.refresh(&app.core);
    let text = app
        .core
        .metrics
        .encode()
        .map_err(|e| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
