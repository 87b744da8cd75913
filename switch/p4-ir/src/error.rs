// SPDX-License-Identifier: Apache-2.0
//! Errors of the loader.

use std::fmt;

use serde_json::Value;

pub(crate) type Result<T> = std::result::Result<T, LoadError>;

/// Returns an error with this message; takes the arguments of `format!`.
macro_rules! bail {
    ($($what:tt)*) => {
        return Err($crate::error::LoadError::new(format!($($what)*)))
    };
}
pub(crate) use bail;

/// Like `bail!`, at the source line of the JSON object given first.
macro_rules! bail_at {
    ($v:expr, $($what:tt)*) => {
        return Err($crate::error::LoadError::new(format!($($what)*)).at($v))
    };
}
pub(crate) use bail_at;

/// Reason why a program cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    what: String,
    /// `file(line)` of the P4 source, from p4c's `source_info`.
    source: Option<String>,
}

impl LoadError {
    /// Makes an error without a source line.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            source: None,
        }
    }

    /// Adds the P4 source line of the JSON object `v`, unless an inner object has already
    /// given one.
    pub fn at(mut self, v: &Value) -> Self {
        if self.source.is_none() {
            self.source = source_of(v);
        }
        self
    }

    /// Puts `outer` in front of the message.
    pub fn inside(mut self, outer: &str) -> Self {
        self.what = format!("{outer}: {}", self.what);
        self
    }
}

fn source_of(v: &Value) -> Option<String> {
    let info = v.get("source_info")?;
    let file = info.get("filename")?.as_str()?;
    let line = info.get("line")?.as_u64()?;
    let fragment = info
        .get("source_fragment")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Some(format!("{file}({line}): {fragment}"))
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(s) => write!(f, "{} at {}", self.what, s),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for LoadError {}
