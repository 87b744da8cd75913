// SPDX-License-Identifier: Apache-2.0
//! `GET /metrics` for Prometheus.

use super::App;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use daemon_kit::metrics::exposition::Format;

pub(super) async fn metrics(State(app): State<App>, headers: HeaderMap) -> Response {
    let format = Format::asked_for(&headers);
    let core = &app.core;
    format.answer(core.metrics.encode(core.metrics_snapshot(), format))
}
