// SPDX-License-Identifier: Apache-2.0
//! Errors between controller and switch, with messages that name the switch, the
//! entry and the remedy.

use crate::Limit;
use thiserror::Error;

/// One update that the switch refused in a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateFailure {
    /// The entry written, e.g. `Ingress.queue_limit[port 5] = drop_tail 9000 bytes`.
    pub update: String,
    /// Canonical gRPC code.
    pub code: i32,
    /// The switch's own message.
    pub message: String,
}

/// Errors of a driver.
#[derive(Debug, Error)]
pub enum Error {
    /// The server cannot be reached.
    #[error("switch {address}: cannot connect: {reason}; is it running and listening there?")]
    Connect {
        /// Address tried.
        address: String,
        /// The transport's reason.
        reason: String,
    },
    /// Another controller holds the same or a higher election id.
    #[error(
        "switch {address}: not primary ({reason}); another controller is connected: stop it, or set a higher election_id (now {election_id})"
    )]
    NotPrimary {
        /// Address of the switch.
        address: String,
        /// Our election id.
        election_id: u64,
        /// The server's message.
        reason: String,
    },
    /// The switch runs no program.
    #[error("switch {address}: no program is loaded; give provision.p4info and provision.program")]
    NoProgram {
        /// Address of the switch.
        address: String,
    },
    /// The loaded program lacks a name that Tidemark needs.
    #[error("program: no {kind} \"{name}\"; it has: {known}")]
    Name {
        /// Kind of name: table, action, match field, parameter.
        kind: &'static str,
        /// The name looked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A value that does not fit its field.
    #[error("{field}: {problem}")]
    Value {
        /// Field or config key.
        field: String,
        /// The error and its remedy.
        problem: String,
    },
    /// A file that cannot be read or parsed.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// The error.
        problem: String,
    },
    /// The switch refused updates.
    #[error("switch {address}: {}", failures_text(.failures))]
    Write {
        /// Address of the switch.
        address: String,
        /// The refused updates.
        failures: Vec<UpdateFailure>,
    },
    /// A call failed as a whole.
    #[error("switch {address}: {operation}: {code}: {message}")]
    Rpc {
        /// Address of the switch.
        address: String,
        /// The operation that failed.
        operation: String,
        /// gRPC code.
        code: tonic::Code,
        /// The server's message.
        message: String,
    },
    /// The driver cannot write ([`crate::DryRun`]).
    #[error("switch {address}: dry run: nothing was written; it would be {what}")]
    DryRun {
        /// Address of the switch.
        address: String,
        /// Description of the write.
        what: String,
    },
    /// The switch has only one limit for the port, or none for this queue.
    #[error(
        "port {port}: the limit of queue {queue} can be neither read nor set: the driver knows \
         one limit of the port, that of queue 0; over BFRT [switches.bfrt.queues] can name others, \
         as \"{port}:{queue}\", over P4Runtime the program has to have the table \
         priority_queue_limit"
    )]
    QueueLimit {
        /// Egress port.
        port: u32,
        /// Queue of the port.
        queue: u32,
    },
    /// The limit read back is not the one written.
    #[error("switch {address} port {port}: wrote {wanted}, but the switch holds {found}")]
    ReadBack {
        /// Address of the switch.
        address: String,
        /// Egress port.
        port: u32,
        /// Limit written.
        wanted: Limit,
        /// Limit read back.
        found: Limit,
    },
}

fn failures_text(failures: &[UpdateFailure]) -> String {
    let shown = failures.iter().take(3).map(|f| {
        let code = tonic::Code::from_i32(f.code);
        format!("{} refused: {code:?}: {}", f.update, f.message)
    });
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if failures.len() > 3 {
        text += &format!("; and {} more", failures.len() - 3);
    }
    text
}

impl Error {
    /// Whether the server cannot be reached or refuses us altogether.
    pub(crate) fn is_shut_out(&self) -> bool {
        match self {
            Error::Connect { .. } => true,
            Error::Rpc { code, .. } => *code == tonic::Code::Unauthenticated,
            _ => false,
        }
    }

    /// Creates the error for a name that the program lacks, with the names that it has.
    pub(crate) fn name<'a>(
        kind: &'static str,
        name: impl Into<String>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Error::Name {
            kind,
            name: name.into(),
            known: known.into_iter().collect::<Vec<_>>().join(", "),
        }
    }

    pub(crate) fn value(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Value {
            field: field.into(),
            problem: problem.into(),
        }
    }
}
