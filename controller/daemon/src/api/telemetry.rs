// SPDX-License-Identifier: Apache-2.0
//! Telemetry of a link: series, distribution, packets, flows.

use super::error::ApiError;
use super::route::Call;
use super::{App, convert, page, select};
use crate::core::subscribe;
use axum::http::StatusCode;
use std::sync::Arc;
use tidemark_api::operations::{GetDistribution, GetFlows, GetPackets, GetSeries};
use tidemark_api::{
    Distribution, Flows, FlowsQuery, LinkFlow, LinkQuery, Packets, Series, SpanQuery,
};
use tidemark_estimators::{OccupancyDistribution, foremost};
use tidemark_proto::telemetry::{PacketBatch, ReadPacketsRequest};

const MAX_POINTS: usize = 20_000;
const MAX_PACKETS: u32 = 200_000;
const MAX_FLOWS: usize = 10_000;

/// Returns the requested span, `[from_ns, to_ns)`; by default the last `default_s` before `end_ns`.
pub(super) fn resolve(
    span: &SpanQuery,
    end_ns: u64,
    default_s: f64,
) -> Result<(u64, u64), ApiError> {
    let to_ns = span.to_ns.unwrap_or(end_ns);
    let last_s = span.last_s.unwrap_or(default_s);
    if !(last_s > 0.0 && last_s.is_finite()) {
        return Err(ApiError::bad("last_s", "must be above 0"));
    }
    let from_ns = span
        .from_ns
        .unwrap_or_else(|| to_ns.saturating_sub((last_s * 1e9) as u64));
    if from_ns > to_ns {
        let message = format!("{from_ns} is after to_ns, {to_ns}");
        return Err(ApiError::bad("from_ns", message));
    }
    Ok((from_ns, to_ns))
}

/// Returns the maximum number of points of an answer: the requested number, or 1000.
pub(super) fn points(asked: Option<usize>) -> Result<usize, ApiError> {
    page::asked("max_points", asked, 1000, MAX_POINTS)
}

pub(super) async fn series(app: App, call: Call<GetSeries>) -> Result<Series, ApiError> {
    let id = select::known(&app.core, call.path)?;
    let q = call.query;
    let max_points = points(q.max_points)?;
    let span = SpanQuery::from(&q);
    let capacity_bps = app.core.read(|s| s.capacity_bps(id));
    let found = app.core.with_feed(id, |f| {
        let s = f.series.get(&id)?;
        Some(resolve(&span, s.last_ns, 30.0).map(|(from_ns, to_ns)| {
            let (step_ns, points) = s.query(from_ns, to_ns.min(f.known_ns(id)), max_points);
            let silent_ns = |from, to| f.silent_ns(id, from, to);
            let untold = f.are_drops_untold(id.node_id);
            convert::series(id, step_ns, &points, capacity_bps, untold, silent_ns)
        }))
    });
    found
        .flatten()
        .unwrap_or_else(|| Ok(convert::series(id, 0, &[], 0, false, |_, _| 0)))
}

pub(super) async fn distribution(
    app: App,
    call: Call<GetDistribution>,
) -> Result<Distribution, ApiError> {
    let id = select::known(&app.core, call.path)?;
    let found = app.core.with_feed(id, |f| -> Result<_, ApiError> {
        let (from_ns, to_ns) = resolve(&call.query, f.complete_ns(id), 60.0)?;
        Ok(f.occupancy(id, from_ns, to_ns))
    });
    let found = found.unwrap_or_else(|| Ok(OccupancyDistribution::default()))?;
    Ok(Distribution {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        occupancy: found,
    })
}

pub(super) async fn packets(app: App, call: Call<GetPackets>) -> Result<Packets, ApiError> {
    let id = select::known(&app.core, call.path)?;
    let q = call.query;
    let max_packets = page::asked("max_packets", q.max_packets, 20_000, MAX_PACKETS)?;
    let known = app
        .core
        .with_feed(id, |f| (f.address.clone(), f.complete_ns(id)));
    let (address, now_ns) =
        known.ok_or_else(|| ApiError::not_found("its collector is not connected"))?;
    let span = SpanQuery::from(&q);
    let (from_ns, to_ns) = resolve(&span, now_ns, 1.0)?;
    let request = ReadPacketsRequest {
        node_id: id.node_id,
        port: id.port,
        queue: Some(id.queue),
        from_ns,
        to_ns,
        max_packets,
    };
    let b = read_packets(&app, &address, request).await?;
    // An older collector does not send these columns.
    let packets = b.ingress_ns.len();
    let (mut tcp_seq, mut ce_marked) = (b.tcp_seq, b.ce_marked);
    tcp_seq.resize(packets, 0);
    ce_marked.resize(packets, false);
    Ok(Packets {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        from_ns,
        to_ns,
        ingress_ns: b.ingress_ns,
        egress_ns: b.egress_ns,
        occupancy_bytes: b
            .occupancy_bytes
            .into_iter()
            .map(|bytes| (bytes != u64::MAX).then_some(bytes))
            .collect(),
        flow_id: b.flow_id,
        dropped: b.dropped,
        ip_bytes: b.ip_bytes,
        cwnd: b.cwnd,
        tcp_seq,
        ce_marked,
        truncated: b.truncated,
        oldest_ns: (b.oldest_ns > 0).then_some(b.oldest_ns),
    })
}

/// Reads packets from the collector at `address`, or from the finished run that is shown.
async fn read_packets(
    app: &App,
    address: &str,
    request: ReadPacketsRequest,
) -> Result<PacketBatch, ApiError> {
    if app.core.recording().is_none() {
        let read = subscribe::read_packets(&app.core, address, request).await;
        return read.map_err(|m| ApiError::new(StatusCode::BAD_GATEWAY, m));
    }
    let core = Arc::clone(&app.core);
    let read = move || core.recording().map(|run| run.packets(&request));
    let failed = |m: String| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, m);
    let read = tokio::task::spawn_blocking(read).await;
    let read = read.map_err(|e| failed(e.to_string()))?;
    read.unwrap_or_else(|| Ok(PacketBatch::default()))
        .map_err(failed)
}

pub(super) async fn flows(app: App, call: Call<GetFlows>) -> Result<Flows, ApiError> {
    let FlowsQuery {
        node,
        port,
        queue,
        max_flows,
        offset,
    } = call.query;
    let asked = select::those(&app.core, LinkQuery { node, port, queue })?;
    let most = page::asked("max_flows", max_flows, 1000, MAX_FLOWS)?;
    let (mut total, mut listed) = (0, Vec::new());
    for (id, e) in app.core.estimates() {
        if !asked(&id) {
            continue;
        }
        total += e.classes.total();
        let shown = e.flows.len().min(most);
        listed.push((id, e, shown));
    }
    let page = page::of(listed.iter().map(|l| l.2).sum(), offset, MAX_FLOWS);
    let (mut flows, mut before) = (Vec::with_capacity(page.range.len()), 0);
    for (id, e, shown) in listed {
        // Flows of this link that are on the page.
        let from = page.range.start.clamp(before, before + shown) - before;
        let to = page.range.end.clamp(before, before + shown) - before;
        before += shown;
        if from == to {
            continue;
        }
        let of_link = foremost(e.flows.clone(), most).into_iter();
        flows.extend(of_link.take(to).skip(from).map(|flow| LinkFlow {
            node: id.node_id,
            port: id.port,
            queue: id.queue,
            flow,
        }));
    }
    Ok(Flows {
        flows,
        total,
        next_offset: page.next_offset,
    })
}
