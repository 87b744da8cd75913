// SPDX-License-Identifier: Apache-2.0
//! Refusals in words: the server's own, the table's name, the field's, and what to do.

use crate::bfrt::info::Info;
use tonic::Code;

/// The server's words with the names of table and field, and the remedy.
pub(super) fn explained(info: &Info, table_id: u32, code: i32, message: &str) -> String {
    let words = match info.by_id(table_id) {
        Some(table) => {
            let words = table.explained(message);
            let named = message.contains(&table.name);
            if named {
                words
            } else {
                format!("{words} table:{}", table.name)
            }
        }
        None => format!("{message} table id {table_id}"),
    };
    match remedy(Code::from_i32(code)) {
        Some(remedy) => format!("{words}; {remedy}"),
        None => words,
    }
}

fn remedy(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::InvalidArgument | Code::OutOfRange => {
            "the value is outside of what the chip takes: bf_switchd's log names the bound"
        }
        Code::NotFound => {
            "what it names is not there: ports by $PORT, queues by tm.port.cfg, groups by $pre"
        }
        Code::ResourceExhausted => {
            "the table or the pool is full: take entries away, or lower another queue's \
             guaranteed_cells (tm.queue.buffer)"
        }
        Code::PermissionDenied | Code::FailedPrecondition => {
            "another client may hold the program: each needs a bfrt.client_id of its own"
        }
        Code::Unimplemented => {
            "this version of the driver cannot do it for this table: tell it in an issue, with \
             the version"
        }
        Code::Unavailable | Code::Aborted => "the daemon is busy or reloads: try again",
        Code::Internal | Code::Unknown | Code::DataLoss => {
            "the daemon's own fault: bf_switchd's log says more"
        }
        _ => return None,
    })
}
