// SPDX-License-Identifier: Apache-2.0
//! The web console with its documentation, embedded at build time; compressed, as pages and
//! figures are 5 MB.

use axum::http::{StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../console/dist"]
struct Files;

const NOT_BUILT: &str = "<!doctype html><meta charset=\"utf-8\"><title>Tidemark</title>\
<h1>Tidemark controller</h1><p>The console was not built into this program. Build it with\
<pre>cd controller/console && npm ci && npm run build</pre>\
and then the controller again. The API is at <a href=\"/api/v1/status\">/api/v1/status</a>, \
described by <a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>.</p>";

pub(super) async fn serve(uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    if let Some(file) = Files::get(path) {
        // Names of assets carry a digest of their content; the page does not.
        let cache = if path.starts_with("assets/") {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        let kind = file.metadata.mimetype().to_string();
        let headers = [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, cache.into()),
        ];
        return (headers, file.data).into_response();
    }
    if path == "index.html" {
        return Html(NOT_BUILT).into_response();
    }
    (StatusCode::NOT_FOUND, "not found").into_response()
}
