// SPDX-License-Identifier: Apache-2.0
//! The tracepoints of one CPU and the ring that they share.

use std::os::fd::{AsRawFd, OwnedFd};

use super::error::OpenError;
use super::options::Options;
use super::{mmap, syscall};

/// One CPU: the event that owns the ring, and those that write into it too.
#[derive(Debug)]
pub(super) struct CpuRing {
    pub ring: mmap::Ring,
    pub events: Vec<OwnedFd>,
    /// The kernel tells each event's losses when asked.
    pub tells_lost: bool,
}

impl CpuRing {
    /// Opens the tracepoints `ids` (name, id) on one CPU.
    pub(super) fn open(
        cpu: u32,
        ids: &[(&'static str, u16)],
        pages: usize,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let mut events = Vec::new();
        let mut tells_lost = true;
        for &(name, id) in ids {
            let (fd, tells) = syscall::open_tracepoint(id, cpu, options)
                .map_err(|source| OpenError::of_open(name, cpu, options.clock, source))?;
            tells_lost &= tells;
            if let Some(expression) = options.filter.kernel_expression() {
                // Saves work only: the filter is applied again on reading.
                if let Err(error) = syscall::set_filter(&fd, &expression) {
                    tracing::warn!(%error, name, expression, "kernel refused the filter");
                }
            }
            events.push(fd);
        }
        let Some((owner, others)) = events.split_first() else {
            return Err(OpenError::NothingToRead);
        };
        let ring_fd = owner.try_clone().map_err(|source| OpenError::Io {
            what: "duplicate a perf event's file descriptor".to_owned(),
            source,
        })?;
        let ring = mmap::Ring::map(ring_fd, pages)
            .map_err(|source| OpenError::of_mmap(cpu, pages, source))?;
        // Only a ring that exists can be shared.
        for other in others {
            syscall::share_ring(other, owner.as_raw_fd()).map_err(|source| OpenError::Io {
                what: format!("direct a perf event of CPU {cpu} into the common ring"),
                source,
            })?;
        }
        Ok(Self {
            ring,
            events,
            tells_lost,
        })
    }
}
