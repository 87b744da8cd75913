// SPDX-License-Identifier: Apache-2.0
//! Drops privileges that a program needs only to open its sockets.
//!
//! Linux keeps capabilities per thread, and threads inherit them. So a program calls
//! [`give_up`] while it has one thread: after opening the sockets that need
//! capabilities, and before starting anything.

use nix::unistd::{Uid, User, geteuid, getuid, initgroups, setresgid, setresuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
    set_no_new_privs,
};
use std::ffi::CString;
use thiserror::Error;

/// Error when giving up privileges.
#[derive(Debug, Error)]
pub enum Error {
    /// The configured user does not exist.
    #[error(
        "{key}: this machine has no user \"{name}\"; make one (useradd --system {name}), or remove the setting"
    )]
    NoUser {
        /// Name of the setting.
        key: String,
        /// Name of the user.
        name: String,
    },
    /// The program may not become this user; only root may.
    #[error(
        "{key}: cannot become \"{name}\": {problem}; start as root, or as that user and without the setting"
    )]
    NotAllowed {
        /// Name of the setting.
        key: String,
        /// Name of the user.
        name: String,
        /// The system's error message.
        problem: String,
    },
    /// The kernel refused, or another thread would keep its capabilities.
    #[error("capabilities cannot be given up: {0}")]
    Kept(String),
}

/// Becomes `user`, if given, and gives up every capability for good: programs started
/// later get none either. Returns a description of the program's new identity, for the
/// log and for errors of files that it can no longer use.
///
/// `key` is the name of the setting for the user. Root without capabilities is bound
/// by file modes like any other user.
///
/// # Errors
/// The user does not exist or may not be assumed, or there is more than one thread.
pub fn give_up(key: &str, user: Option<&str>) -> Result<String, Error> {
    give_up_all_but(CapabilitySet::empty(), key, user)
}

/// Like [`give_up`], but keeps the right to open packet sockets if the program has it and the
/// user does not change.
///
/// # Errors
/// Same as [`give_up`].
pub fn give_up_all_but_packet_sockets(key: &str, user: Option<&str>) -> Result<String, Error> {
    give_up_all_but(CapabilitySet::NET_RAW, key, user)
}

fn give_up_all_but(keep: CapabilitySet, key: &str, user: Option<&str>) -> Result<String, Error> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        return Err(Error::Kept(format!("{threads} threads run already")));
    }
    if let Some(name) = user {
        become_user(key, name)?;
    }
    let kept = |e: rustix::io::Errno| Error::Kept(e.to_string());
    set_no_new_privs(true).map_err(kept)?;
    // Linux before 4.3 has no ambient capabilities.
    let _ = clear_ambient_capability_set();
    let held = capabilities(None).map_err(kept)?.permitted & keep;
    let sets = CapabilitySets {
        effective: held,
        permitted: held,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).map_err(kept)?;
    let own = User::from_uid(getuid()).ok().flatten();
    let own = own.map_or_else(|| getuid().to_string(), |u| u.name);
    let which = match held.is_empty() {
        true => "without capabilities",
        false => "with the capability of packet sockets alone",
    };
    Ok(format!("as user {own}, {which}"))
}

fn become_user(key: &str, name: &str) -> Result<(), Error> {
    let not_allowed = |problem: String| Error::NotAllowed {
        key: key.to_owned(),
        name: name.to_owned(),
        problem,
    };
    let found = User::from_name(name).map_err(|e| not_allowed(e.to_string()))?;
    let user = found.ok_or_else(|| Error::NoUser {
        key: key.to_owned(),
        name: name.to_owned(),
    })?;
    if is_already(user.uid) {
        return Ok(());
    }
    let groups_of = CString::new(name).map_err(|e| not_allowed(e.to_string()))?;
    // Change the user last: only root can change groups.
    initgroups(&groups_of, user.gid)
        .and_then(|()| setresgid(user.gid, user.gid, user.gid))
        .and_then(|()| setresuid(user.uid, user.uid, user.uid))
        .map_err(|e| not_allowed(e.to_string()))
}

fn is_already(uid: Uid) -> bool {
    uid == getuid() && uid == geteuid()
}
