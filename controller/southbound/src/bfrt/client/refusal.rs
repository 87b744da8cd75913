// SPDX-License-Identifier: Apache-2.0
//! Explains refusals: the server's message, the names of table and field, and a remedy.

use crate::bfrt::info::Info;
use tonic::Code;

/// Returns the server's message with the names of table and field, and the remedy.
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
            "the value is outside the range of the chip: bf_switchd's log names the bound"
        }
        Code::NotFound => {
            "it names a missing object: ports are in $PORT, queues in tm.port.cfg, groups in $pre"
        }
        Code::ResourceExhausted => {
            "the table or the pool is full: remove entries, or lower another queue's \
             guaranteed_cells (tm.queue.buffer)"
        }
        Code::PermissionDenied | Code::FailedPrecondition => {
            "another client may hold the program: each needs a bfrt.client_id of its own"
        }
        Code::Unimplemented => {
            "this version of the driver does not support this table: report it in an issue, with \
             the version"
        }
        Code::Unavailable | Code::Aborted => "the daemon is busy or reloading: try again",
        Code::Internal | Code::Unknown | Code::DataLoss => {
            "an internal error of the daemon: see bf_switchd's log"
        }
        _ => return None,
    })
}
