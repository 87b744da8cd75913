// SPDX-License-Identifier: Apache-2.0
//! Why the tracepoints cannot be read, and what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::clock::Clock;
use super::filter::FilterError;
use crate::format::FormatError;

/// Why [`super::PerfReader::open`] failed.
#[derive(Debug, Error)]
// The messages name what the fields hold.
#[allow(missing_docs)]
pub enum OpenError {
    #[error(
        "tracefs is not mounted (looked at {}); run: mount -t tracefs nodev /sys/kernel/tracing \
         (under `ip netns exec`, which has its own /sys: use nsenter --net=/run/netns/NAME instead)",
        list(.looked_at)
    )]
    TracefsNotMounted { looked_at: Vec<PathBuf> },
    #[error(
        "no permission to read {path}: run as root, or let the user read tracefs \
         (mount -o remount,gid=GROUP,mode=750 /sys/kernel/tracing)"
    )]
    TracefsPermission { path: PathBuf },
    #[error(
        "this kernel has no tracepoint tcp:{event} ({path} is missing): \
         Linux 4.16 or later with CONFIG_FTRACE is needed"
    )]
    NoTracepoint { event: &'static str, path: PathBuf },
    #[error("{path}: {source}")]
    Format {
        path: PathBuf,
        #[source]
        source: FormatError,
    },
    #[error("tracepoint not usable: {0}")]
    Layout(#[from] FormatError),
    #[error(
        "the kernel does not let this process trace tcp:{event}: run as root, or give the \
         binary the capability: setcap cap_perfmon+ep FILE \
         (or set kernel.perf_event_paranoid to -1)"
    )]
    Permission { event: &'static str },
    #[error(
        "the kernel refuses a perf event on tcp:{event} stamped with clock {clock}: \
         Linux 4.16 or later with perf events is needed"
    )]
    Clock { event: &'static str, clock: Clock },
    #[error(
        "cannot map a ring of {bytes} bytes for CPU {cpu}: locked memory is limited; \
         raise kernel.perf_event_mlock_kb, give CAP_IPC_LOCK, or make ring_bytes smaller"
    )]
    RingMemory { cpu: u32, bytes: usize },
    #[error("ring_bytes = {bytes} is not a power of two of at least {least} and at most 1 GiB")]
    RingSize { bytes: usize, least: usize },
    #[error("wakeup_bytes = {wakeup_bytes} must be below ring_bytes = {ring_bytes}")]
    Watermark {
        wakeup_bytes: u32,
        ring_bytes: usize,
    },
    #[error("filter: {0}")]
    Filter(#[from] FilterError),
    #[error("no tracepoint to read")]
    NothingToRead,
    #[error("cannot {what}: {source}")]
    Io {
        what: String,
        #[source]
        source: io::Error,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    shown.join(" and ")
}

impl OpenError {
    /// Converts an error of the system call `perf_event_open`.
    pub(super) fn of_open(event: &'static str, cpu: u32, clock: Clock, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => Self::Permission { event },
            Some(libc::EINVAL) => Self::Clock { event, clock },
            _ => Self::Io {
                what: format!("open a perf event on tcp:{event} for CPU {cpu}"),
                source,
            },
        }
    }

    /// Converts an error of mapping the ring.
    pub(super) fn of_mmap(cpu: u32, bytes: usize, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::EPERM | libc::ENOMEM) => Self::RingMemory { cpu, bytes },
            _ => Self::Io {
                what: format!("map the perf ring of CPU {cpu}"),
                source,
            },
        }
    }
}
