// SPDX-License-Identifier: Apache-2.0
//! `GET /metrics` for Prometheus.

use super::App;
use super::error::ApiError;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn metrics(State(app): State<App>) -> Result<Response, ApiError> {
    let text = app
        .core
        .metrics
        .encode(app.core.metrics_snapshot())
        .map_err(|e| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?;
    Ok(([(header::CONTENT_TYPE, OPENMETRICS)], text).into_response())
}
