// SPDX-License-Identifier: Apache-2.0
//! Answers requests that name another host.

use super::error::ApiError;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use daemon_kit::credentials::http::OtherHost;

pub(super) fn refuse(other: &OtherHost) -> Response {
    ApiError::new(
        StatusCode::MISDIRECTED_REQUEST,
        format!("{other}; add the name to http.hosts, or use its address"),
    )
    .into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::header;
    use daemon_kit::credentials::http::FORBIDDEN;

    /// So that the console's browser tests run under the headers that browsers get from here.
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
}
