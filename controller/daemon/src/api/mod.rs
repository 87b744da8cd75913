// SPDX-License-Identifier: Apache-2.0
//! HTTP: REST under `/api/v1`, events, metrics and the console.

mod auth;
mod body;
mod console;
mod error;
mod events;
pub mod openapi;
mod read;
mod select;
pub mod tls;
pub mod view;
mod write;

pub use auth::{Token, TokenSource};

use crate::core::Core;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;

/// What handlers share.
#[derive(Clone)]
pub struct App {
    pub core: Arc<Core>,
    pub token: Arc<Token>,
}

/// All routes.
pub fn router(core: Arc<Core>, token: Token) -> Router {
    let app = App {
        core,
        token: Arc::new(token),
    };
    let api = Router::new()
        .route("/status", get(read::status))
        .route("/links", get(read::links))
        .route("/links/{node}/{port}", get(read::link))
        .route("/links/{node}/{port}/series", get(read::series))
        .route("/links/{node}/{port}/distribution", get(read::distribution))
        .route("/links/{node}/{port}/packets", get(read::packets))
        .route("/links/{node}/{port}/limit", post(write::limit))
        .route("/links/{node}/{port}/reports", post(write::reports))
        .route("/flows", get(read::flows))
        .route("/rules", get(read::rules))
        .route("/advice", get(read::advice))
        .route("/advice/apply", post(write::apply))
        .route("/curve", get(read::curve))
        .route("/mode", post(write::mode))
        .route("/targets", get(read::targets).post(write::targets))
        .route("/phases", get(read::phases).post(write::phases))
        .route("/phases/{name}", get(read::phase))
        .route("/changes", get(read::changes))
        .route("/events", get(events::events))
        .route("/openapi.json", get(openapi::document))
        .fallback(error::unknown_route);
    Router::new()
        .nest("/api/v1", api)
        .route("/metrics", get(read::metrics))
        .fallback(console::serve)
        .with_state(app)
}
