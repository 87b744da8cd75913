// SPDX-License-Identifier: Apache-2.0
//! HTTP: REST under `/api/v1`, events, metrics and the console.
//!
//! `tidemark-api` defines the operations and their types; each resource has one file of handlers.

mod advice;
mod app;
mod auth;
mod body;
mod console;
pub mod convert;
mod error;
mod events;
mod history;
mod hosts;
mod inspection;
mod last_update;
mod links;
mod metrics;
mod page;
mod phases;
mod route;
mod select;
mod status;
mod targets;
mod telemetry;
mod to_end;

pub use app::App;
pub use auth::{Token, TokenSource};

use crate::core::Core;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use daemon_kit::credentials::http::{Hosts, guarded};
use route::Serve as _;
use std::sync::Arc;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};

/// The OpenAPI document, written by `make codegen` from `tidemark-api`.
pub const OPENAPI: &str = include_str!("../../../../contract/openapi/tidemark-1.json");

/// Returns the router with all routes.
pub fn router(core: Arc<Core>, token: Token) -> Router {
    let hosts = Hosts::new(&core.config.http.hosts);
    let app = App::new(core, token);
    let api = Router::new()
        .serve(status::status)
        .serve(status::set_mode)
        .serve(status::changes)
        .serve(inspection::inspection)
        .serve(inspection::findings)
        .serve(links::links)
        .serve(links::link)
        .serve(links::set_limit)
        .serve(links::set_reports)
        .serve(telemetry::series)
        .serve(telemetry::distribution)
        .serve(telemetry::packets)
        .serve(telemetry::flows)
        .serve(history::windows)
        .serve(history::estimates)
        .serve(advice::verdict)
        .serve(advice::advice)
        .serve(advice::apply)
        .serve(targets::targets)
        .serve(targets::set_targets)
        .serve(phases::phases)
        .serve(phases::phase)
        .serve(phases::set_phase)
        .route("/events", get(events::events))
        .route(
            "/openapi.json",
            get(|| async { ([(CONTENT_TYPE, "application/json")], OPENAPI) }),
        )
        .fallback(error::unknown_route);
    // Events are compressed as well: each is sent at once, because the encoder flushes when no more
    // data is ready.
    let compressed = SizeAbove::default().and(NotForContentType::IMAGES);
    let routes = Router::new()
        .nest("/api/v1", api)
        .route("/metrics", get(metrics::metrics))
        .fallback(console::serve)
        .layer(CompressionLayer::new().compress_when(compressed))
        .with_state(app);
    guarded(routes, hosts, hosts::refuse)
}
