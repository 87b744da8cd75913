// SPDX-License-Identifier: Apache-2.0
//! The bearer token of everything that writes.

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

/// The token, and those who did not show it.
#[derive(Clone)]
pub struct Token {
    token: daemon_kit::credentials::Token,
    refusals: Arc<Refusals>,
}

/// Where the token came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// Configured.
    Given,
    /// Made at this start; shown once.
    Made(String),
}

impl Token {
    /// The configured token, or a new one; a new one is written to `file`
    /// with mode 0600.
    pub fn obtain(given: Option<&str>, file: Option<&Path>) -> anyhow::Result<(Self, TokenSource)> {
        if let Some(t) = given {
            return Ok((Self::new(t), TokenSource::Given));
        }
        let mut bytes = [0u8; 16];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut f| f.read_exact(&mut bytes))
            .context("/dev/urandom: cannot be read")?;
        let token: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        if let Some(path) = file {
            let problem = || format!("http.token_file: {}: cannot be written", path.display());
            // A new file, so that the mode holds whatever was there before.
            match std::fs::remove_file(path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(e).with_context(problem);
                }
                _ => {}
            }
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

    /// A given token.
    pub fn new(token: &str) -> Self {
        Self {
            token: daemon_kit::credentials::Token::new(token),
            refusals: Refusals::new("http"),
        }
    }

    /// Whether a request carries the token; a wrong one waits for its answer, so
    /// that guessing takes long.
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
    fn made_token_is_private_and_new() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, "old").unwrap();
        let (_, source) = Token::obtain(None, Some(&file)).unwrap();
        let TokenSource::Made(token) = source else {
            panic!("{source:?}");
        };
        assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), token);
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(token.len(), 32);
    }
}
