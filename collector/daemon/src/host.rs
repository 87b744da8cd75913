// SPDX-License-Identifier: Apache-2.0
//! Identity of this process and this machine.

use std::hash::{BuildHasher as _, RandomState};

/// Returns a random name for this run of the program.
pub(crate) fn instance() -> String {
    // The hasher's keys are random.
    let random = RandomState::new().hash_one(crate::time::unix_ns());
    format!("{random:016x}")
}

/// Returns the kernel's name, release and architecture.
pub(crate) fn kernel() -> String {
    nix::sys::utsname::uname().map_or_else(
        |_| "unknown".to_owned(),
        |u| {
            format!(
                "{} {} {}",
                u.sysname().to_string_lossy(),
                u.release().to_string_lossy(),
                u.machine().to_string_lossy()
            )
        },
    )
}
