// SPDX-License-Identifier: Apache-2.0
//! `/metrics` (Prometheus), `/status` (JSON), `/healthz`.

mod clickhouse;
mod encode;
mod metrics;
mod status;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use metrics::Exporter;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::sync::Arc;

pub use metrics::{clickhouse_docs, collector_docs};
pub use status::{CaptureStatus, FlowStatus, ProbeStatus, Shown, Status};

#[derive(Clone)]
struct App {
    shown: Shown,
    registry: Arc<Registry>,
}

/// The routes.
pub fn router(shown: Shown) -> Router {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exporter(shown.clone())));
    Router::new()
        .route("/metrics", get(metrics))
        .route(
            "/status",
            get(|State(a): State<App>| async move { Json(a.shown.status()) }),
        )
        .route("/healthz", get(|| async { "ok\n" }))
        .with_state(App {
            shown,
            registry: Arc::new(registry),
        })
}

async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let mut text = String::new();
    match encode(&mut text, &app.registry) {
        Ok(()) => (
            [(
                CONTENT_TYPE,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
            )],
            text,
        )
            .into_response(),
        Err(e) => (axum::http::StatusCode::INTERNAL_SERVER_ERROR, e.to_string()).into_response(),
    }
}
