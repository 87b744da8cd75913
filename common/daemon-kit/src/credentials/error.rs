// SPDX-License-Identifier: Apache-2.0
//! Errors in settings, which name the key that the user wrote.

use thiserror::Error;

/// Error for an unusable setting; one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {problem}")]
pub struct Error {
    /// The faulty key or flag.
    pub key: String,
    /// The problem and its remedy.
    pub problem: String,
}

impl Error {
    /// Creates an error for one key.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            problem: problem.into(),
        }
    }
}

/// How settings are named in the place where the user writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Keys of a configuration file below this key: `grpc` makes `grpc.tls.key`.
    Under(String),
    /// Command-line flags: `tls.client_ca` is `--tls-client-ca`.
    Flags,
    /// Command-line flags of a client: `tls.ca` is `--ca`.
    ClientFlags,
}

impl Keys {
    /// Returns keys below `parent`.
    pub fn under(parent: impl Into<String>) -> Self {
        Self::Under(parent.into())
    }

    /// Returns the user's name for a setting.
    pub fn name(&self, setting: &str) -> String {
        let flag = |s: &str| format!("--{}", s.replace(['.', '_'], "-"));
        match self {
            Self::Under(parent) => format!("{parent}.{setting}"),
            Self::Flags => flag(setting),
            Self::ClientFlags => flag(setting.strip_prefix("tls.").unwrap_or(setting)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_called_as_the_user_writes_them() {
        assert_eq!(Keys::under("grpc").name("tls.key"), "grpc.tls.key");
        assert_eq!(Keys::Flags.name("tls.client_ca"), "--tls-client-ca");
        assert_eq!(Keys::ClientFlags.name("tls.ca"), "--ca");
        assert_eq!(Keys::ClientFlags.name("token_file"), "--token-file");
    }
}
