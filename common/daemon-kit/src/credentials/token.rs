// SPDX-License-Identifier: Apache-2.0
//! Bearer tokens.

use crate::credentials::{Error, Keys};
use std::fmt;
use std::path::Path;

/// Smallest length of a token, in characters.
pub const MIN_LENGTH: usize = 8;

/// A secret that a caller sends; never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Reason why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The call has no token.
    Missing,
    /// The header is not `Bearer TOKEN`.
    NotBearer,
    /// The token is wrong.
    Wrong,
}

impl Token {
    /// Creates a token from a text.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// Reads a token from a file, without the end of the line.
    ///
    /// # Errors
    /// The file cannot be read, other users can read it, or it holds no token.
    pub fn read(path: &Path, keys: &Keys) -> Result<Self, Error> {
        let key = || keys.name("token_file");
        let bytes = durable_fs::read_secret(path)
            .map_err(|e| Error::new(key(), format!("{}: {e}", path.display())))?;
        let text = String::from_utf8_lossy(&bytes);
        let token = text.trim();
        if token.len() < MIN_LENGTH || !token.bytes().all(|b| b.is_ascii_graphic()) {
            let problem = format!(
                "{}: must hold one token of at least {MIN_LENGTH} printable ASCII characters; `openssl rand -hex 16` makes one",
                path.display()
            );
            return Err(Error::new(key(), problem));
        }
        Ok(Self(token.to_owned()))
    }

    /// Returns the value of the `authorization` header.
    pub fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Checks that the `authorization` header of a call carries this token.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn check(&self, header: Option<&[u8]>) -> Result<(), Refusal> {
        let header = header.ok_or(Refusal::Missing)?;
        let shown = header.strip_prefix(b"Bearer ").ok_or(Refusal::NotBearer)?;
        if same(shown, self.0.as_bytes()) {
            Ok(())
        } else {
            Err(Refusal::Wrong)
        }
    }
}

/// Compares in a time that does not depend on where the values differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_checked() {
        let token = Token::new("secret-token");
        let check = |h: &str| token.check(Some(h.as_bytes()));
        assert_eq!(check(&token.header()), Ok(()));
        assert_eq!(check("Bearer secret-tokem"), Err(Refusal::Wrong));
        assert_eq!(check("Bearer secret-token2"), Err(Refusal::Wrong));
        assert_eq!(check("Bearer "), Err(Refusal::Wrong));
        assert_eq!(check("Basic secret-token"), Err(Refusal::NotBearer));
        assert_eq!(token.check(None), Err(Refusal::Missing));
        assert!(!format!("{token:?}").contains("secret"));
    }

    #[test]
    fn a_file_holds_one_token() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        let read = |text: &str| {
            test_support::write_private(&file, text);
            Token::read(&file, &Keys::under("grpc")).map_err(|e| e.to_string())
        };
        assert_eq!(read("secret-token\n"), Ok(Token::new("secret-token")));
        for bad in ["", "short", "two words here", "schlüssel-wort"] {
            let e = read(bad).unwrap_err();
            assert!(
                e.starts_with("grpc.token_file: ") && e.contains("openssl"),
                "{e}"
            );
        }
        let e = Token::read(&dir.path().join("none"), &Keys::Flags).unwrap_err();
        assert!(e.to_string().starts_with("--token-file: ") && e.problem.contains("none"));
    }
}
