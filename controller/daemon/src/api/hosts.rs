// SPDX-License-Identifier: Apache-2.0
//! By which names this server may be called, and what every answer forbids.
//!
//! A page of a stranger's site can have its name lead to this machine (DNS
//! rebinding); its requests then carry that name. Numbers and `localhost` cannot
//! be led elsewhere.

use super::error::ApiError;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Names other than numbers and `localhost`.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Arc<[String]>);

impl Hosts {
    /// These names are this server's.
    pub fn new(names: &[String]) -> Self {
        Self(names.iter().map(|n| n.to_ascii_lowercase()).collect())
    }

    fn allow(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok()
            || host.eq_ignore_ascii_case("localhost")
            || self.0.iter().any(|name| host.eq_ignore_ascii_case(name))
    }

    /// The name of a request; none where it carries none, as no browser does.
    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let named = match request.headers().get(header::HOST) {
            Some(host) => Some(host.to_str().ok().and_then(|h| h.parse::<Authority>().ok())),
            None => request.uri().authority().cloned().map(Some),
        };
        let refused = match named {
            None => return Ok(()),
            Some(Some(authority)) if self.allow(authority.host()) => return Ok(()),
            Some(Some(authority)) => authority.host().to_owned(),
            Some(None) => "one that cannot be read".to_owned(),
        };
        Err(ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            format!(
                "this server is not called {refused}; add the name to http.hosts, or use its address"
            ),
        ))
    }
}

/// What a browser may not do with an answer. The console loads nothing from
/// elsewhere, and has no scripts or styles within its page.
const FORBIDDEN: [(HeaderName, HeaderValue); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    ),
];

/// Refuses requests to other names, and says with each answer what it forbids.
pub(super) async fn guard(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let mut response = match hosts.check(&request) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in FORBIDDEN {
        headers.insert(name, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    /// So that the console's browser tests run under what browsers are told here.
    #[test]
    fn the_mock_of_the_console_forbids_the_same() {
        let mock = include_str!("../../../console/dev/mock-server.mjs");
        let forbidden = FORBIDDEN;
        let policy = forbidden
            .iter()
            .find(|(name, _)| name == header::CONTENT_SECURITY_POLICY)
            .and_then(|(_, value)| value.to_str().ok())
            .unwrap();
        assert!(mock.contains(policy), "{policy}");
    }

    #[test]
    fn only_numbers_localhost_and_configured_names_are_this_server() {
        let hosts = Hosts::new(&["Buffers.lab".into()]);
        for (host, allowed) in [
            (Some("127.0.0.1:8080"), true),
            (Some("192.0.2.7"), true),
            (Some("[::1]:8080"), true),
            (Some("localhost:8080"), true),
            (Some("buffers.LAB:1"), true),
            (Some("evil.example"), false),
            (Some("127.0.0.1.evil.example"), false),
            (Some("localhost.evil.example:8080"), false),
            (Some("a b"), false),
            (None, true),
        ] {
            let mut request = Request::builder().uri("/");
            if let Some(host) = host {
                request = request.header(header::HOST, host);
            }
            let request = request.body(Body::empty()).unwrap();
            assert_eq!(hosts.check(&request).is_ok(), allowed, "{host:?}");
        }
    }
}
