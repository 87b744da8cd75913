// SPDX-License-Identifier: Apache-2.0
//! Bearer token required by every request that writes.

use super::error::ApiError;
use anyhow::Context as _;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use daemon_kit::credentials::Refusals;
use daemon_kit::credentials::http::Peer;
use daemon_kit::credentials::token::Refusal;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

/// The token, and the record of refused requests.
#[derive(Clone)]
pub struct Token {
    token: daemon_kit::credentials::Token,
    refusals: Arc<Refusals>,
}

/// Source of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// Taken from the configuration.
    Given,
    /// Read from the token file, which an earlier start wrote.
    Kept,
    /// Generated at this start; printed once.
    Made(String),
}

impl Token {
    /// Returns the configured token, the token in `file`, or a new one, which is written to `file`
    /// with mode 0600.
    ///
    /// # Errors
    /// Others can read or write `file`, it holds no token, or it cannot be written.
    pub fn obtain(given: Option<&str>, file: Option<&Path>) -> anyhow::Result<(Self, TokenSource)> {
        if let Some(t) = given {
            return Ok((Self::new(t), TokenSource::Given));
        }
        if let Some(path) = file.filter(|f| f.exists()) {
            let keys = daemon_kit::credentials::Keys::under("http");
            let token = daemon_kit::credentials::Token::read(path, &keys)?;
            return Ok((Self::with(token), TokenSource::Kept));
        }
        let mut bytes = [0u8; 16];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut f| f.read_exact(&mut bytes))
            .context("/dev/urandom: cannot be read")?;
        let token: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        if let Some(path) = file {
            let problem = || format!("http.token_file: {}: cannot be written", path.display());
            let mut f = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)
                .with_context(problem)?;
            writeln!(f, "{token}").with_context(problem)?;
        }
        Ok((Self::new(&token), TokenSource::Made(token)))
    }

    /// Wraps a given token.
    pub fn new(token: &str) -> Self {
        Self::with(daemon_kit::credentials::Token::new(token))
    }

    fn with(token: daemon_kit::credentials::Token) -> Self {
        Self {
            token,
            refusals: Refusals::new("http"),
        }
    }

    /// Checks that a request carries the token. The answer to a wrong token is delayed, so that
    /// guessing takes long.
    ///
    /// # Errors
    /// 401 with the remedy.
    pub(super) async fn check(&self, request: &Parts) -> Result<(), ApiError> {
        let header = request
            .headers
            .get(AUTHORIZATION)
            .map(HeaderValue::as_bytes);
        let Err(why) = self.token.check(header) else {
            return Ok(());
        };
        let from = request.extensions.get::<Peer>().map(|p| p.0);
        self.refusals.refused(why, from).await;
        let message = match why {
            Refusal::Missing => {
                "this needs the header \"Authorization: Bearer TOKEN\"; the token is in the config, or was printed at start"
            }
            Refusal::NotBearer => "the Authorization header must be \"Bearer TOKEN\"",
            Refusal::Wrong => "wrong token",
        };
        Err(ApiError::new(StatusCode::UNAUTHORIZED, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_token_is_made_private_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        let (_, source) = Token::obtain(None, Some(&file)).unwrap();
        let TokenSource::Made(token) = source else {
            panic!("{source:?}");
        };
        assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), token);
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(token.len(), 32);

        let (again, source) = Token::obtain(None, Some(&file)).unwrap();
        assert_eq!(source, TokenSource::Kept);
        assert_eq!(again.token, Token::new(&token).token);

        let refused = |text: &str, mode| {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let e = Token::obtain(None, Some(&file)).err().unwrap();
            format!("{e:#}")
        };
        assert!(refused(&token, 0o666).contains("chmod 600"));
        assert!(refused("", 0o600).contains("must hold one token"));
    }
}
