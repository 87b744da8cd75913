// SPDX-License-Identifier: Apache-2.0
//! Creates sockets inside another network namespace.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::sched::{CloneFlags, setns};

/// Directory in which `ip netns` and the lab keep named namespaces.
const NAMED: &str = "/run/netns";

/// Returns the file of a namespace, given by a name below `/run/netns` or by a path.
pub(crate) fn path_of(name: &str) -> PathBuf {
    if name.contains('/') {
        PathBuf::from(name)
    } else {
        Path::new(NAMED).join(name)
    }
}

/// Runs `make` with the calling thread in namespace `name` (`None`: the current one). A socket that
/// it creates stays in that namespace, so one thread can serve sockets of many namespaces.
pub(crate) fn within<T>(name: Option<&str>, make: impl FnOnce() -> T) -> Result<T, String> {
    let Some(name) = name else {
        return Ok(make());
    };
    let open = |path: PathBuf| {
        File::open(&path).map_err(|e| {
            format!(
                "cannot open network namespace {name} at {}: {e}; create it first or correct `netns` in the spec",
                path.display()
            )
        })
    };
    let home = open(PathBuf::from("/proc/thread-self/ns/net"))?;
    let there = open(path_of(name))?;
    setns(&there, CloneFlags::CLONE_NEWNET).map_err(|e| {
        format!("cannot enter network namespace {name}: {e}; run as root (CAP_SYS_ADMIN)")
    })?;
    let made = make();
    // The thread is stuck in the other namespace and must not go on.
    setns(&home, CloneFlags::CLONE_NEWNET)
        .map_err(|e| format!("cannot return from network namespace {name}: {e}"))?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths() {
        assert_eq!(path_of("h1"), PathBuf::from("/run/netns/h1"));
        assert_eq!(path_of("/proc/1/ns/net"), PathBuf::from("/proc/1/ns/net"));
    }

    #[test]
    fn a_missing_namespace_is_named() {
        let error = within(Some("tm-no-such-namespace"), || ()).unwrap_err();
        assert!(error.contains("tm-no-such-namespace"), "{error}");
    }

    #[test]
    fn without_a_name_the_thread_stays() {
        assert_eq!(within(None, || 7).unwrap(), 7);
    }
}
