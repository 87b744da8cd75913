// SPDX-License-Identifier: Apache-2.0
//! Giving up what a program needs only to open its sockets.
//!
//! Linux keeps capabilities per thread, and threads inherit them: a program calls
//! [`give_up`] while it has one thread, after it has opened what needs them and
//! before it starts anything.

use nix::unistd::{Uid, User, geteuid, getuid, initgroups, setresgid, setresuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
    set_no_new_privs,
};
use std::ffi::CString;
use thiserror::Error;

/// Errors when privileges are given up.
#[derive(Debug, Error)]
pub enum Error {
    /// The user that the configuration names is not there.
    #[error(
        "{key}: this machine has no user \"{name}\"; make one (useradd --system {name}), or remove the setting"
    )]
    NoUser {
        /// The setting.
        key: String,
        /// The name.
        name: String,
    },
    /// Only root becomes another user.
    #[error(
        "{key}: cannot become \"{name}\": {problem}; start as root, or as that user and without the setting"
    )]
    NotAllowed {
        /// The setting.
        key: String,
        /// The name.
        name: String,
        /// The system's message.
        problem: String,
    },
    /// A kernel that refuses, or a thread that keeps its capabilities.
    #[error("capabilities cannot be given up: {0}")]
    Kept(String),
}

/// Becomes `user` where one is named, and gives up every capability: for good, as
/// no program that is started later gets any either. Says as whom the program goes on;
/// for the log, and for errors of files that it cannot use any more.
///
/// `key` is what the setting of the user is called. Root without capabilities is
/// held to the modes of files as every other user.
///
/// # Errors
/// No such user, no right to become that user, more than one thread.
pub fn give_up(key: &str, user: Option<&str>) -> Result<String, Error> {
    give_up_all_but(CapabilitySet::empty(), key, user)
}

/// As [`give_up`], but keeps the right to open packet sockets where there is one and the user
/// stays who it is.
///
/// # Errors
/// As [`give_up`].
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
    // Before Linux 4.3 there are none.
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
    // The user last: who is no longer root cannot change groups.
    initgroups(&groups_of, user.gid)
        .and_then(|()| setresgid(user.gid, user.gid, user.gid))
        .and_then(|()| setresuid(user.uid, user.uid, user.uid))
        .map_err(|e| not_allowed(e.to_string()))
}

fn is_already(uid: Uid) -> bool {
    uid == getuid() && uid == geteuid()
}
