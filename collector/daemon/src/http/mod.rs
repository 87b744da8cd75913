// SPDX-License-Identifier: Apache-2.0
//! `/metrics` (Prometheus), `/status` (JSON), `/healthz`.

mod clickhouse;
mod metrics;
mod status;

use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use daemon_kit::credentials::http::{Hosts, OtherHost, Peer, guarded};
use daemon_kit::credentials::{Refusals, Token};
use daemon_kit::metrics::exposition::Format;
use metrics::Exporter;
use std::sync::Arc;

pub use metrics::{clickhouse_docs, collector_docs};
pub use status::{CaptureStatus, FlowStatus, Shown, Status};

/// Returns the HTTP server's routes.
///
/// If there is a token, readers must present it. Readers must call the server by its address,
/// `localhost`, or one of `hosts`.
pub fn router(shown: Shown, token: Option<Token>, hosts: &[String]) -> Router {
    let gate = token.map(|token| Gate {
        token,
        refusals: Refusals::new("http"),
    });
    let routes = routes(shown);
    let routes = match gate {
        Some(gate) => routes.layer(middleware::from_fn_with_state(gate, guard)),
        None => routes,
    };
    guarded(routes, Hosts::new(hosts), refuse)
}

fn refuse(other: &OtherHost) -> Response {
    let text = format!("{other}; add the name to http.hosts, or use its address\n");
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

/// Token that readers must present.
#[derive(Clone)]
struct Gate {
    token: Token,
    refusals: Arc<Refusals>,
}

async fn guard(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let header = request.headers().get(AUTHORIZATION);
    match gate.token.check(header.map(HeaderValue::as_bytes)) {
        Ok(()) => next.run(request).await,
        Err(why) => {
            let from = request.extensions().get::<Peer>().map(|p| p.0);
            gate.refusals.refused(why, from).await;
            let text = "this needs the header \"Authorization: Bearer TOKEN\" with the token of http.token_file\n";
            (StatusCode::UNAUTHORIZED, text).into_response()
        }
    }
}

fn routes(shown: Shown) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route(
            "/status",
            get(|State(shown): State<Shown>| async move { Json(shown.status()) }),
        )
        .route(
            "/healthz",
            get(|State(shown): State<Shown>| async move { health(&shown) }),
        )
        .with_state(shown)
}

/// Returns 200 while everything received can be stored, else 503; the text lists past losses in
/// either case.
fn health(shown: &Shown) -> (StatusCode, String) {
    let mut code = StatusCode::OK;
    let mut told = Vec::new();
    if let Some((dir, capture)) = &shown.capture {
        if let Some(failure) = capture.failure() {
            code = StatusCode::SERVICE_UNAVAILABLE;
            told.push(format!("capture {dir}: cannot be written: {failure}"));
        }
        if capture.lost() > 0 {
            told.push(format!("capture {dir}: {} rows lost", capture.lost()));
        }
    }
    if let Some(clickhouse) = &shown.clickhouse {
        if let Some(failure) = clickhouse.spool_failure() {
            code = StatusCode::SERVICE_UNAVAILABLE;
            told.push(format!(
                "clickhouse: the spool does not take rows as it should: {failure}"
            ));
        }
        if let Some(failure) = clickhouse.failure() {
            told.push(format!("clickhouse: {failure}; rows wait in the spool"));
        }
        if clickhouse.lost_total() > 0 {
            told.push(format!("clickhouse: {} rows lost", clickhouse.lost_total()));
        }
    }
    let reports = shown.snapshot.get().stats;
    for (count, what) in [
        (reports.reports_refused_no_tag, "without a tag"),
        (reports.reports_refused_wrong_tag, "with a wrong tag"),
        (reports.reports_refused_replayed, "sent again"),
    ] {
        if count > 0 {
            told.push(format!(
                "reports: {count} {what}, of nodes with a key, refused"
            ));
        }
    }
    let word = match code {
        StatusCode::OK => "ok",
        _ => "failing",
    };
    told.insert(0, word.to_owned());
    (code, told.join("\n") + "\n")
}

async fn metrics(State(shown): State<Shown>, headers: HeaderMap) -> Response {
    let format = Format::asked_for(&headers);
    format.answer(format.write("tidemark_collector", Box::new(Exporter(shown))))
}
