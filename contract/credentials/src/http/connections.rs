// SPDX-License-Identifier: Apache-2.0
//! Connections: bounded in number, and in how long a request may take to come.

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Connections at once; the next ones wait for one to end.
const MAX_CONNECTIONS: usize = 512;
/// A client that has not sent its headers by then is let go; so is one that
/// leaves a connection unused.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);

/// Serves connections of a listener; ends when it is dropped.
pub async fn serve<L: Listener>(mut listener: L, app: Router) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let (stream, _) = listener.accept().await;
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(async move {
            let _place = place;
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADERS_WITHIN)
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "http connection");
            }
        });
    }
}
