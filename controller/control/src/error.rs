// SPDX-License-Identifier: Apache-2.0
//! Reasons why a limit is not changed.

/// The message of a guard rail, with the field of the request or the concept to which it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Field or concept: `bytes`, `telemetry`, `interval`, `mode`, `advice`.
    pub field: &'static str,
    /// The error and its remedy.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self {
            field,
            message: message.into(),
        }
    }
}

/// Why a limit is not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// A value is out of range.
    #[error("{}", .0.message)]
    Bad(Refusal),
    /// The mode or a guard rail does not allow the change now.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// No switch is configured for the node.
    #[error("no switch is configured for node {0}; add [[switches]] node = {0}")]
    NoSwitch(u32),
    /// The reports of a link do not contain its port.
    #[error("the reports of node {0} do not tell the port: there is no limit to read or to set")]
    NoPort(u32),
    /// The audit log cannot be written, and `control.audit` requires it.
    #[error(
        "nothing was written: {0}; control.audit = \"required\" allows no change without its record"
    )]
    NotRecorded(String),
    /// The switch refused or cannot be reached.
    #[error("{0}")]
    Switch(String),
}
