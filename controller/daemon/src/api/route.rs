// SPDX-License-Identifier: Apache-2.0
//! Turns an operation of `tidemark-api` into a route, which reads and checks its parameters and
//! requires the token for every `POST`. A handler takes and returns the operation's own types, so
//! that route, document and code agree.

use super::app::App;
use super::body;
use super::error::ApiError;
use axum::body::Bytes;
use axum::extract::{FromRequest as _, FromRequestParts as _, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use axum::{Json, Router};
use std::time::Duration;
use tidemark_api::{Method, Operation, path_of_queue};

/// Time limit for receiving a request body.
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// A parsed request.
pub(super) struct Call<O: Operation> {
    pub path: O::Path,
    pub query: O::Query,
    pub body: O::Body,
}

/// A successful answer.
pub(super) enum Reply<A> {
    Ok(A),
    Created(A),
    Media(&'static str, Vec<u8>),
}

impl<A> From<A> for Reply<A> {
    fn from(answer: A) -> Self {
        Reply::Ok(answer)
    }
}

/// A function that serves an operation.
pub(super) trait Handler<O: Operation>: Clone + Send + Sync + 'static {
    fn call(
        self,
        app: App,
        call: Call<O>,
    ) -> impl Future<Output = Result<Reply<O::Answer>, ApiError>> + Send;
}

impl<O, F, Fut, R> Handler<O> for F
where
    O: Operation,
    F: Fn(App, Call<O>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<R, ApiError>> + Send,
    R: Into<Reply<O::Answer>>,
{
    async fn call(self, app: App, call: Call<O>) -> Result<Reply<O::Answer>, ApiError> {
        self(app, call).await.map(Into::into)
    }
}

/// Adds operations to a router.
pub(super) trait Serve {
    fn serve<O: Operation>(self, handler: impl Handler<O>) -> Self;
}

impl Serve for Router<App> {
    fn serve<O: Operation>(self, handler: impl Handler<O>) -> Self {
        let filter = match O::METHOD {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
        };
        let answer = move |State(app): State<App>, request: Request| async move {
            let call = read::<O>(&app, request).await?;
            let reply = match handler.call(app, call).await? {
                Reply::Ok(a) => Json(a).into_response(),
                Reply::Created(a) => (StatusCode::CREATED, Json(a)).into_response(),
                Reply::Media(kind, bytes) => {
                    ([(header::CONTENT_TYPE, kind)], bytes).into_response()
                }
            };
            Ok::<Response, ApiError>(reply)
        };
        let routes = on(filter, answer);
        match path_of_queue::<O>() {
            Some(path) => self.route(&path, routes.clone()).route(O::PATH, routes),
            None => self.route(O::PATH, routes),
        }
    }
}

/// Reads a request: the token first, so that only its holders learn what a body should be.
async fn read<O: Operation>(app: &App, request: Request) -> Result<Call<O>, ApiError> {
    let (mut parts, content) = request.into_parts();
    if O::METHOD == Method::Post {
        // A finished run cannot be changed, with or without a token.
        if let Some(run) = app.core.recording() {
            return Err(ApiError::new(StatusCode::CONFLICT, run.refusal()));
        }
        app.token.check(&parts).await?;
    }
    let Path(path) = Path::<O::Path>::from_request_parts(&mut parts, app)
        .await
        .map_err(|e| ApiError::new(e.status(), e.body_text()))?;
    let query = body::query(parts.uri.query().unwrap_or_default())?;
    let content = match O::METHOD {
        Method::Get => Bytes::from_static(b"{}"),
        Method::Post => whole(Request::from_parts(parts, content), app).await?,
    };
    let body = body::json(&content)?;
    Ok(Call { path, query, body })
}

/// Reads the body, within `BODY_WITHIN`.
async fn whole(request: Request, app: &App) -> Result<Bytes, ApiError> {
    tokio::time::timeout(BODY_WITHIN, Bytes::from_request(request, app))
        .await
        .map_err(|_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body was not sent in time"))?
        .map_err(|e| ApiError::new(e.status(), e.body_text()))
}
