// SPDX-License-Identifier: Apache-2.0
//! Server-sent events.

use super::App;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{Stream, StreamExt as _};
use std::convert::Infallible;
use tokio_stream::wrappers::BroadcastStream;

/// `GET /events`. A listener that is too slow misses events; the next `update`
/// holds everything again.
pub async fn events(State(app): State<App>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let stream = BroadcastStream::new(app.core.events.subscribe()).filter_map(|e| async move {
        let e = e.ok()?;
        Some(Ok(Event::default().event(e.name).data(e.data.to_string())))
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}
