// SPDX-License-Identifier: Apache-2.0
//! The tracepoints of one CPU and the ring that they share.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use perf_event::events::Tracepoint;
use perf_event::{Builder, Counter, ReadFormat, SampleFlag, Sampler};
use perf_event_open_sys::ioctls;

use super::error::OpenError;
use super::options::Options;
use crate::ring::Record;

/// Header of a record: type, flags, size.
const HEADER_BYTES: usize = 8;

/// One CPU: the event that owns the ring, and the other events that write into it.
pub(super) struct CpuRing {
    owner: Sampler,
    others: Vec<Counter>,
    ring_bytes: usize,
    /// Buffer for a record that wraps around the end of the ring.
    scratch: Vec<u8>,
}

/// The kernel's counts of an event, since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    /// Events that passed the kernel's filter.
    pub occurred: u64,
    /// Records that found the ring full.
    pub lost: u64,
}

impl CpuRing {
    /// Opens the tracepoints `ids` (name, id) on one CPU, without starting them.
    pub(super) fn open(
        cpu: u32,
        ids: &[(&'static str, u16)],
        options: &Options,
    ) -> Result<Self, OpenError> {
        let mut counters = Vec::new();
        for &(name, id) in ids {
            let counter = open_tracepoint(id, cpu, options)
                .map_err(|source| OpenError::of_open(name, cpu, options.clock, source))?;
            if let Some(expression) = options.filter.kernel_expression() {
                // Saves work only: the filter is applied again on reading.
                if let Err(error) = set_filter(&counter, &expression) {
                    tracing::warn!(%error, name, expression, "kernel refused the filter");
                }
            }
            counters.push(counter);
        }
        let mut counters = counters.into_iter();
        let owner = counters.next().ok_or(OpenError::NothingToRead)?;
        let owner = owner
            .sampled(options.ring_bytes)
            .map_err(|source| OpenError::of_mmap(cpu, options.ring_bytes, source))?;
        let others: Vec<Counter> = counters.collect();
        // Only a ring that exists can be shared.
        for other in &others {
            share_ring(other, &owner).map_err(|source| OpenError::Io {
                what: format!("direct a perf event of CPU {cpu} into the common ring"),
                source,
            })?;
        }
        Ok(Self {
            owner,
            others,
            ring_bytes: options.ring_bytes,
            scratch: Vec::new(),
        })
    }

    pub(super) fn events(&mut self) -> impl Iterator<Item = &mut Counter> {
        std::iter::once(self.owner.as_counter_mut()).chain(&mut self.others)
    }

    /// Reads the kernel's counts of all events; `None` if the kernel does not give them (before
    /// Linux 6.0).
    pub(super) fn totals(&mut self) -> io::Result<Option<Totals>> {
        let mut totals = Totals::default();
        for event in self.events() {
            let told = event.read_full()?;
            let Some(lost) = told.lost() else {
                return Ok(None);
            };
            totals.occurred += told.count();
            totals.lost += lost;
        }
        Ok(Some(totals))
    }

    /// Returns the descriptor, which becomes readable at the watermark.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open for the life of `self`.
        unsafe { BorrowedFd::borrow_raw(self.owner.as_raw_fd()) }
    }

    /// Gives `f` the records in the ring, at most a whole ring of them: records may come
    /// as fast as they are read.
    pub(super) fn consume(&mut self, mut f: impl FnMut(Record<'_>)) {
        let mut left_bytes = self.ring_bytes;
        while left_bytes > 0
            && let Some(record) = self.owner.next_record()
        {
            left_bytes = left_bytes.saturating_sub(HEADER_BYTES + record.len());
            f(match record.data() {
                [body] => Record::read(record.ty(), body),
                parts => {
                    self.scratch.clear();
                    for part in parts {
                        self.scratch.extend_from_slice(part);
                    }
                    Record::read(record.ty(), &self.scratch)
                }
            });
        }
    }
}

/// Opens a tracepoint for all processes on one CPU.
fn open_tracepoint(id: u16, cpu: u32, options: &Options) -> io::Result<Counter> {
    let mut builder = Builder::new(Tracepoint::with_id(id.into()));
    builder
        .any_pid()
        .one_cpu(cpu as usize)
        .include_kernel()
        .include_hv()
        // Every occurrence.
        .sample_period(1)
        .sample(SampleFlag::TIME | SampleFlag::RAW)
        .clockid(perf_event::Clock::new(options.clock.stamped().id()))
        .wakeup_watermark(options.wakeup_bytes.max(1) as usize)
        .read_format(ReadFormat::LOST);
    match builder.build() {
        // Before Linux 6.0.
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            builder.read_format(ReadFormat::empty()).build()
        }
        built => built,
    }
}

/// Makes an event write into another event's ring on the same CPU. The crate has no call for it.
fn share_ring(event: &Counter, owner: &Sampler) -> io::Result<()> {
    // SAFETY: two perf events' descriptors.
    check(unsafe { ioctls::SET_OUTPUT(event.as_raw_fd(), owner.as_raw_fd()) })
}

/// Passes only the occurrences for which `expression` holds. The crate has no call for it.
fn set_filter(event: &Counter, expression: &str) -> io::Result<()> {
    let text = CString::new(expression)?;
    // SAFETY: the kernel copies the zero-terminated text and does not write.
    check(unsafe { ioctls::SET_FILTER(event.as_raw_fd(), text.as_ptr().cast_mut()) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
