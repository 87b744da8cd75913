// SPDX-License-Identifier: Apache-2.0
//! The bearer token of everything that writes.

use super::error::ApiError;
use anyhow::Context as _;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

/// Pause before the answer to a wrong token.
const AFTER_WRONG_TOKEN: Duration = Duration::from_millis(500);

/// The token.
#[derive(Clone)]
pub struct Token(String);

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
    ///
    /// # Errors
    /// No randomness, or a file that cannot be written.
    pub fn obtain(given: Option<&str>, file: Option<&Path>) -> anyhow::Result<(Self, TokenSource)> {
        if let Some(t) = given {
            return Ok((Self(t.into()), TokenSource::Given));
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
        Ok((Self(token.clone()), TokenSource::Made(token)))
    }

    /// A given token.
    pub fn new(token: &str) -> Self {
        Self(token.into())
    }

    /// The same, with a pause after a wrong token, so that guessing takes long.
    ///
    /// # Errors
    /// 401 with the remedy.
    pub(super) async fn check_slowly(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let checked = self.check(headers);
        if checked.is_err() && headers.contains_key(AUTHORIZATION) {
            tracing::warn!("http: a request with a wrong token");
            tokio::time::sleep(AFTER_WRONG_TOKEN).await;
        }
        checked
    }

    /// Whether a request carries the token.
    ///
    /// # Errors
    /// 401 with the remedy.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let unauthorised = |m: &str| ApiError::new(StatusCode::UNAUTHORIZED, m);
        let Some(given) = headers.get(AUTHORIZATION) else {
            return Err(unauthorised(
                "this needs the header \"Authorization: Bearer TOKEN\"; the token is in the config, or was printed at start",
            ));
        };
        let given = given.as_bytes().strip_prefix(b"Bearer ");
        match given {
            Some(t) if same(t, self.0.as_bytes()) => Ok(()),
            Some(_) => Err(unauthorised("wrong token")),
            None => Err(unauthorised(
                "the Authorization header must be \"Bearer TOKEN\"",
            )),
        }
    }
}

/// Compares in time that does not depend on where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y)) == 0
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

    #[test]
    fn header_is_checked() {
        let token = Token::new("secret-token");
        let check = |v: Option<&str>| {
            let mut h = HeaderMap::new();
            if let Some(v) = v {
                h.insert(AUTHORIZATION, v.parse().unwrap());
            }
            token.check(&h).is_ok()
        };
        assert!(check(Some("Bearer secret-token")));
        assert!(!check(Some("Bearer secret-tokem")));
        assert!(!check(Some("Bearer secret-token2")));
        assert!(!check(Some("Basic secret-token")));
        assert!(!check(None));
    }
}
