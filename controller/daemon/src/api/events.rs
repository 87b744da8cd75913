// SPDX-License-Identifier: Apache-2.0
//! Server-sent events.

use super::app::App;
use super::convert;
use crate::core::Event;
use axum::extract::State;
use axum::response::sse;
use futures::stream::{Stream, StreamExt as _};
use serde::Serialize;
use tidemark_api::CollectorEvent;
use tokio_stream::wrappers::BroadcastStream;

/// `GET /events`. A listener that is too slow misses events; the next `update`
/// holds everything again.
pub(super) async fn events(
    State(app): State<App>,
) -> sse::Sse<impl Stream<Item = serde_json::Result<sse::Event>>> {
    let stream = BroadcastStream::new(app.core.events.subscribe()).filter_map(move |event| {
        let sent = event.ok().map(|e| sent(&app, &e));
        async move { sent }
    });
    sse::Sse::new(stream).keep_alive(sse::KeepAlive::default())
}

fn sent(app: &App, event: &Event) -> serde_json::Result<sse::Event> {
    fn named(name: &str, data: &impl Serialize) -> serde_json::Result<sse::Event> {
        let text = serde_json::to_string(data)?;
        Ok(sse::Event::default().event(name).data(text))
    }
    match event {
        Event::Estimated { unix_ms } => {
            let text = app.last_update.text(&app.core, *unix_ms)?;
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
