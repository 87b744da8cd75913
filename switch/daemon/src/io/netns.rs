// SPDX-License-Identifier: Apache-2.0
//! Runs functions in another network namespace.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns};

/// Folder in which `ip netns` and the lab keep named namespaces.
const NAMED: &str = "/run/netns";

/// Returns `/run/netns/NAME` for a name; anything with a slash is already a path.
pub fn path_of(name: &str) -> PathBuf {
    if name.contains('/') {
        PathBuf::from(name)
    } else {
        Path::new(NAMED).join(name)
    }
}

/// Runs `f` in the namespace on a thread of its own, so that the process stays in its own
/// namespace. Sockets that `f` opens keep belonging to the other namespace.
pub fn within<T: Send>(name: &str, f: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let path = path_of(name);
    let file = File::open(&path).with_context(|| {
        format!(
            "network namespace {}: not found; create it first (for example `ip netns add {name}`)",
            path.display()
        )
    })?;
    std::thread::scope(|s| {
        s.spawn(move || {
            setns(file, CloneFlags::CLONE_NEWNET).with_context(|| {
                format!(
                    "cannot enter network namespace {}; run as root (CAP_SYS_ADMIN)",
                    path.display()
                )
            })?;
            f()
        })
        .join()
        .map_err(|_| anyhow!("internal error: namespace thread died"))?
    })
}
