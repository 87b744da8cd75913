// SPDX-License-Identifier: Apache-2.0
//! Errors in settings, by the key that the user wrote.

use thiserror::Error;

/// A setting that cannot be used; one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {problem}")]
pub struct Error {
    /// The key or flag at fault.
    pub key: String,
    /// The fault, and its remedy.
    pub problem: String,
}

impl Error {
    /// An error of one key.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            problem: problem.into(),
        }
    }
}

/// Names of the settings where the user writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Keys of a configuration file under this one: `grpc` makes `grpc.tls.key`.
    Under(String),
    /// Flags: `tls.client_ca` is `--tls-client-ca`.
    Flags,
    /// Flags of a client, where `tls.ca` is `--ca`.
    ClientFlags,
}

impl Keys {
    /// Keys below `parent`.
    pub fn under(parent: impl Into<String>) -> Self {
        Self::Under(parent.into())
    }

    /// The name of one setting.
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
