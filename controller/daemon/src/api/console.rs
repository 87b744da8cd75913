// SPDX-License-Identifier: Apache-2.0
//! The web console with its documentation, embedded at build time in the form that is sent.

use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use flate2::read::GzDecoder;
use std::io::Read as _;

/// A file of the console.
struct File {
    path: &'static str,
    /// Whether `bytes` is gzip-compressed.
    gzip: bool,
    bytes: &'static [u8],
}

/// All files, sorted by path.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/console.rs"));

const NOT_BUILT: &str = "<!doctype html><meta charset=\"utf-8\"><title>Tidemark</title>\
<h1>Tidemark controller</h1><p>The console was not built into this program. Build it with\
<pre>cd controller/console && npm ci && npm run build</pre>\
and then the controller again. The API is at <a href=\"/api/v1/status\">/api/v1/status</a>, \
described by <a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>.</p>";

pub(super) async fn serve(uri: Uri, request: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    if let Ok(i) = FILES.binary_search_by_key(&path, |f| f.path) {
        return sent(&FILES[i], takes_gzip(&request));
    }
    if path == "index.html" {
        return Html(NOT_BUILT).into_response();
    }
    (StatusCode::NOT_FOUND, "not found").into_response()
}

fn sent(file: &'static File, takes_gzip: bool) -> Response {
    // Names of assets carry a digest of their content; the page does not.
    let cache = if file.path.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let headers = [
        (header::CONTENT_TYPE, kind(file.path)),
        (header::CACHE_CONTROL, cache),
    ];
    if !file.gzip {
        return (headers, file.bytes).into_response();
    }
    // A proxy's cache must keep the two forms apart.
    let varies = [(header::VARY, "accept-encoding")];
    if takes_gzip {
        let packed = [(header::CONTENT_ENCODING, "gzip")];
        return (headers, varies, packed, file.bytes).into_response();
    }
    let mut plain = Vec::new();
    match GzDecoder::new(file.bytes).read_to_end(&mut plain) {
        Ok(_) => (headers, varies, plain).into_response(),
        Err(e) => (StatusCode::INTERNAL_SERVER_ERROR, e.to_string()).into_response(),
    }
}

/// Whether the client accepts gzip (RFC 9110, 12.5.3).
fn takes_gzip(request: &HeaderMap) -> bool {
    let named = request.get_all(header::ACCEPT_ENCODING).iter();
    let named = named.filter_map(|v| v.to_str().ok());
    named.flat_map(|v| v.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight
            .trim()
            .strip_prefix("q=")
            .and_then(|q| q.parse().ok());
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_some_and(|q: f32| q > 0.0)
    })
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json") => "application/json",
        Some("txt") => "text/plain",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    #[tokio::test]
    async fn every_file_is_found_and_arrives_whole_with_and_without_gzip() {
        for file in FILES {
            assert_ne!(kind(file.path), "application/octet-stream", "{}", file.path);
            let mut bodies = Vec::new();
            for takes in ["gzip, br", "identity"] {
                let mut headers = HeaderMap::new();
                headers.insert(header::ACCEPT_ENCODING, takes.parse().unwrap());
                let uri = format!("/{}", file.path).parse().unwrap();
                let answer = serve(uri, headers).await;
                assert_eq!(answer.status(), StatusCode::OK, "{}", file.path);
                let packed = answer.headers().contains_key(header::CONTENT_ENCODING);
                assert_eq!(packed, file.gzip && takes != "identity", "{}", file.path);
                let varies = answer.headers().contains_key(header::VARY);
                assert_eq!(varies, file.gzip, "{}", file.path);
                let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
                let mut plain = Vec::new();
                match packed {
                    true => GzDecoder::new(&body[..]).read_to_end(&mut plain).unwrap(),
                    false => (&body[..]).read_to_end(&mut plain).unwrap(),
                };
                bodies.push(plain);
            }
            assert_eq!(bodies[0], bodies[1], "{}", file.path);
        }
    }

    #[test]
    fn gzip_is_sent_to_clients_that_name_it() {
        let takes = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, value.parse().unwrap());
            takes_gzip(&headers)
        };
        assert!(takes("gzip") && takes("br, GZIP;q=0.5") && takes("deflate , gzip"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("gzip; q=x") && !takes(""));
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
