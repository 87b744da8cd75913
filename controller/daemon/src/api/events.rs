// SPDX-License-Identifier: Apache-2.0
//! Server-sent events.

use super::app::App;
use super::error::ApiError;
use super::{body, convert};
use crate::core::Event;
use axum::extract::{RawQuery, State};
use axum::http::{Extensions, StatusCode};
use axum::response::sse;
use daemon_kit::credentials::http::Peer;
use futures::stream::{Stream, StreamExt as _};
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr};
use tidemark_api::{CollectorEvent, EventsQuery};
use tidemark_estimators::LinkId;
use tokio_stream::wrappers::BroadcastStream;

/// Client address used if the connection does not tell it.
const UNKNOWN: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Handles `GET /events`. A slow listener misses events, and the next `update` holds everything
/// again; a listener that does not read is disconnected.
pub(super) async fn events(
    State(app): State<App>,
    extensions: Extensions,
    RawQuery(query): RawQuery,
) -> Result<sse::Sse<impl Stream<Item = serde_json::Result<sse::Event>>>, ApiError> {
    let only = chosen(body::query(query.as_deref().unwrap_or_default())?)?;
    let from = extensions.get::<Peer>().map(|peer| peer.0.ip());
    let place = app.streams.take(from.unwrap_or(UNKNOWN)).ok_or_else(|| {
        ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many event streams are open; close one of them",
        )
    })?;
    let stream = BroadcastStream::new(app.core.events.subscribe()).filter_map(move |event| {
        let _held_as_long_as_the_stream = &place;
        let sent = event.ok().map(|e| sent(&app, &e, only));
        async move { sent }
    });
    Ok(sse::Sse::new(stream).keep_alive(sse::KeepAlive::default()))
}

/// Returns the link that a listener asks for. It need not exist yet.
fn chosen(q: EventsQuery) -> Result<Option<LinkId>, ApiError> {
    match (q.node, q.port) {
        (None, None) if q.queue.is_some() => {
            Err(ApiError::bad("port", "missing: a queue belongs to a port"))
        }
        (None, None) => Ok(None),
        (Some(node), Some(port)) => Ok(Some(LinkId::new(node, port, q.queue.unwrap_or(0)))),
        (None, Some(_)) => Err(ApiError::bad("node", "missing: a port belongs to a node")),
        (Some(_), None) => Err(ApiError::bad(
            "port",
            "missing: a link is a port of the node",
        )),
    }
}

fn sent(app: &App, event: &Event, only: Option<LinkId>) -> serde_json::Result<sse::Event> {
    fn named(name: &str, data: &impl Serialize) -> serde_json::Result<sse::Event> {
        let text = serde_json::to_string(data)?;
        Ok(sse::Event::default().event(name).data(text))
    }
    match event {
        Event::Estimated { unix_ms } => {
            let text = app.last_update.text(&app.core, *unix_ms, only)?;
            Ok(sse::Event::default().event("update").data(text))
        }
        Event::Changed(change) => named("change", change),
        Event::Phase(p) => named("phase", &convert::phase(p, false)),
        Event::Collector {
            address,
            connected,
            problem,
        } => named(
            "collector",
            &CollectorEvent {
                address: address.clone(),
                connected: *connected,
                problem: problem.clone(),
            },
        ),
    }
}
