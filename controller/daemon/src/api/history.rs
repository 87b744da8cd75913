// SPDX-License-Identifier: Apache-2.0
//! History of a link: estimates and windows over time.

use super::error::ApiError;
use super::route::Call;
use super::telemetry::{points, resolve};
use super::{App, convert, select};
use tidemark_api::operations::{GetEstimates, GetWindows};
use tidemark_api::{EstimateHistory, SpanQuery, Windows};

/// Maximum number of flows in one answer.
const MOST_FLOWS: usize = 50;

pub(super) async fn windows(app: App, call: Call<GetWindows>) -> Result<Windows, ApiError> {
    let id = select::known(&app.core, call.path)?;
    let q = call.query;
    let max_points = points(q.max_points)?;
    let flows = flows(q.flows.as_deref().unwrap_or_default())?;
    let span = SpanQuery::from(&q);
    let found = app.core.with_feed(id, |f| -> Result<_, ApiError> {
        let (from_ns, to_ns) = resolve(&span, f.complete_ns(id), 30.0)?;
        let overhead_bytes = f.port(id).map_or(0, |p| p.queue_overhead_bytes);
        let windows = f.windows.get(&id);
        let answer = windows.map(|w| w.query(from_ns, to_ns, max_points, &flows, overhead_bytes));
        Ok(answer.map(|a| convert::windows(id, a, f.are_drops_untold(id.node_id))))
    });
    let answer = found.transpose()?.flatten();
    Ok(answer.unwrap_or_else(|| convert::windows(id, Default::default(), false)))
}

/// Parses a list of flow ids, such as `1,2,3`.
fn flows(list: &str) -> Result<Vec<u64>, ApiError> {
    let named = list.split(',').map(str::trim).filter(|n| !n.is_empty());
    let flows: Vec<u64> = named
        .map(|n| {
            n.parse()
                .map_err(|_| ApiError::bad("flows", format!("`{n}` is not a flow id")))
        })
        .collect::<Result<_, _>>()?;
    if flows.len() > MOST_FLOWS {
        let message = format!("{} flows are more than {MOST_FLOWS}", flows.len());
        return Err(ApiError::bad("flows", message));
    }
    Ok(flows)
}

pub(super) async fn estimates(
    app: App,
    call: Call<GetEstimates>,
) -> Result<EstimateHistory, ApiError> {
    let id = select::known(&app.core, call.path)?;
    let q = call.query;
    let max_points = points(q.max_points)?;
    let span = SpanQuery::from(&q);
    let found = app.core.read(|s| -> Result<_, ApiError> {
        let Some(history) = s.history.get(&id) else {
            return Ok(Vec::new());
        };
        // `to_ns` is exclusive, and the newest estimate belongs to the answer.
        let end_ns = history.last_ns().map_or(0, |ns| ns.saturating_add(1));
        let (from_ns, to_ns) = if span.from_ns.is_none() && span.last_s.is_none() {
            (0, span.to_ns.unwrap_or(end_ns))
        } else {
            resolve(&span, end_ns, 30.0)?
        };
        Ok(history.query(from_ns, to_ns, max_points))
    })?;
    Ok(convert::estimates(id, &found))
}
