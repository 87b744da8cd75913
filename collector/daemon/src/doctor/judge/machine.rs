// SPDX-License-Identifier: Apache-2.0
//! Checks the machine that the collector runs on.

use daemon_kit::doctor::Finding;
use std::net::SocketAddr;

/// The oldest kernel that is supported.
const OLDEST_KERNEL: (u32, u32) = (5, 10);
/// Free space that a capture of 20 000 reports per second fills within the hour.
const LITTLE_SPACE_BYTES: u64 = 1 << 30;

/// Checks the version of the kernel; `release` is what `uname -r` prints.
pub(in crate::doctor) fn kernel(release: &str) -> Finding {
    let check = "kernel";
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        let remedy = "5.10 or newer is needed; check by hand";
        return Finding::warning(check, format!("{release}: no version"), remedy);
    };
    let (oldest_major, oldest_minor) = OLDEST_KERNEL;
    if (major, minor) < OLDEST_KERNEL {
        let remedy = format!("a kernel from {oldest_major}.{oldest_minor} on");
        return Finding::problem(check, release, remedy);
    }
    Finding::ok(check, release)
}

/// Checks a socket buffer of `wanted_bytes` against `most_bytes`, the kernel's limit without
/// CAP_NET_ADMIN; `forced`: the process has that capability.
pub(in crate::doctor) fn receive_buffer(
    wanted_bytes: u64,
    most_bytes: u64,
    forced: bool,
) -> Finding {
    let check = "receive buffer";
    if forced || wanted_bytes <= most_bytes {
        return Finding::ok(check, format!("{wanted_bytes} bytes are available"));
    }
    Finding::warning(
        check,
        format!("{wanted_bytes} bytes are wanted, and net.core.rmem_max is {most_bytes}"),
        format!("sysctl -w net.core.rmem_max={wanted_bytes} (the package's sysctl file does it)"),
    )
}

/// Checks whether an address can be listened on; `runs`: whether a collector answers at
/// `http.listen`.
pub(in crate::doctor) fn address(
    key: &str,
    address: SocketAddr,
    bound: Result<(), std::io::ErrorKind>,
    runs: bool,
) -> Finding {
    use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
    let check = format!("{key} {address}");
    match bound {
        Ok(()) if runs => Finding::warning(
            check,
            "free, although a collector answers at http.listen",
            "it runs with another configuration; start it again with this one",
        ),
        Ok(()) => Finding::ok(check, "free"),
        Err(AddrInUse) if runs => Finding::ok(check, "in use by the running collector"),
        Err(AddrInUse) => Finding::problem(
            check,
            "in use by another program",
            format!("find it with `ss -lnp`, or set another address as {key}"),
        ),
        Err(AddrNotAvailable) => Finding::problem(
            check,
            "no interface of this machine has the address",
            format!("set one that `ip -brief addr` shows, or 0.0.0.0, as {key}"),
        ),
        Err(PermissionDenied) => Finding::problem(
            check,
            "not permitted",
            "ports below 1024 need CAP_NET_BIND_SERVICE; take one above",
        ),
        Err(other) => Finding::problem(check, other.to_string(), "see the error"),
    }
}

pub(in crate::doctor) fn space(directory: &str, free_bytes: u64) -> Finding {
    let check = format!("capture.dir {directory}");
    let found = format!("writable, {:.1} GB free", free_bytes as f64 / 1e9);
    if free_bytes < LITTLE_SPACE_BYTES {
        return Finding::warning(
            check,
            found,
            "make room: 1 million reports take about 15 MB",
        );
    }
    Finding::ok(check, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use daemon_kit::doctor::Verdict;
    use std::io::ErrorKind;

    const HERE: &str = "192.0.2.1:32766";

    fn verdict(f: &Finding) -> Verdict {
        f.verdict
    }

    #[test]
    fn kernels() {
        assert_eq!(verdict(&kernel("6.1.0-18-amd64")), Verdict::Ok);
        assert_eq!(verdict(&kernel("5.10.0")), Verdict::Ok);
        assert_eq!(verdict(&kernel("5.4.0-generic")), Verdict::Problem);
        assert_eq!(verdict(&kernel("unknown")), Verdict::Warning);
    }

    #[test]
    fn a_buffer_is_given_or_forced() {
        assert_eq!(
            verdict(&receive_buffer(1 << 20, 1 << 20, false)),
            Verdict::Ok
        );
        assert_eq!(
            verdict(&receive_buffer(1 << 24, 1 << 20, true)),
            Verdict::Ok
        );
        let small = receive_buffer(1 << 24, 212_992, false);
        assert_eq!(verdict(&small), Verdict::Warning);
        assert!(small.remedy.unwrap().contains("rmem_max=16777216"));
    }

    #[test]
    fn addresses() {
        let at = |bound, runs| address("listen", HERE.parse().unwrap(), bound, runs).verdict;
        assert_eq!(at(Ok(()), false), Verdict::Ok);
        assert_eq!(at(Err(ErrorKind::AddrInUse), true), Verdict::Ok);
        assert_eq!(at(Ok(()), true), Verdict::Warning);
        assert_eq!(at(Err(ErrorKind::AddrInUse), false), Verdict::Problem);
        assert_eq!(
            at(Err(ErrorKind::AddrNotAvailable), false),
            Verdict::Problem
        );
    }

    #[test]
    fn little_space_is_told() {
        assert_eq!(space("/x", 10 << 30).verdict, Verdict::Ok);
        assert_eq!(space("/x", 1 << 20).verdict, Verdict::Warning);
    }
}
