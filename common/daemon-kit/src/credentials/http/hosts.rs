// SPDX-License-Identifier: Apache-2.0
//! Checks the host names of requests and adds security headers to every response.
//!
//! A foreign web site can make its name resolve to this machine (DNS rebinding);
//! the requests of its pages then carry that name. IP addresses and `localhost`
//! cannot be redirected.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// Names of this server other than IP addresses and `localhost`.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Arc<[String]>);

/// Error for a request to another name, or to a name that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherHost(String);

impl fmt::Display for OtherHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this server is not called {}", self.0)
    }
}

impl Hosts {
    /// Creates the list of this server's names.
    pub fn new(names: &[String]) -> Self {
        Self(names.iter().map(|n| n.to_ascii_lowercase()).collect())
    }

    fn allow(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok()
            || host.eq_ignore_ascii_case("localhost")
            || self.0.iter().any(|name| host.eq_ignore_ascii_case(name))
    }

    /// Checks the host name of a request. Browsers always send one; a request without is allowed.
    fn check(&self, request: &Request) -> Result<(), OtherHost> {
        let named = match request.headers().get(header::HOST) {
            Some(host) => Some(host.to_str().ok().and_then(|h| h.parse::<Authority>().ok())),
            None => request.uri().authority().cloned().map(Some),
        };
        let refused = match named {
            None => return Ok(()),
            Some(Some(authority)) if self.allow(authority.host()) => return Ok(()),
            Some(Some(authority)) => authority.host().to_owned(),
            Some(None) => "(a name that cannot be read)".to_owned(),
        };
        Err(OtherHost(refused))
    }
}

/// Security headers, which forbid things to a browser. The console loads nothing from other
/// sites and has no inline scripts or styles.
pub const FORBIDDEN: [(HeaderName, HeaderValue); 4] = [
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

#[derive(Clone)]
struct Guard {
    hosts: Hosts,
    refuse: fn(&OtherHost) -> Response,
}

/// Restricts routes to requests to these names; `refuse` answers all others. Every
/// response gets the headers in [`FORBIDDEN`].
pub fn guarded<S: Clone + Send + Sync + 'static>(
    routes: Router<S>,
    hosts: Hosts,
    refuse: fn(&OtherHost) -> Response,
) -> Router<S> {
    let guard = Guard { hosts, refuse };
    routes.layer(middleware::from_fn_with_state(guard, check))
}

async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.hosts.check(&request) {
        Ok(()) => next.run(request).await,
        Err(other) => (guard.refuse)(&other),
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
