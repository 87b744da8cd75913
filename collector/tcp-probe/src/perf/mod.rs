// SPDX-License-Identifier: Apache-2.0
//! Reads the tracepoints of the running kernel in binary, from one ring buffer
//! per CPU. Nothing stays in the kernel when the reader is dropped.

mod clock;
mod cpu_ring;
mod error;
mod filter;
mod options;
mod tracefs;
mod tracepoints;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::event::Event;
use crate::layout::Layout;
use crate::ring::Record;
use cpu_ring::{CpuRing, Totals};
use tracepoints::Tracepoints;

pub use clock::Clock;
pub use error::OpenError;
pub use filter::{AddressRange, Filter, FilterError};
pub use options::Options;
pub use tracepoints::Missing;

/// How often the kernel is asked for losses: records show them as well, but only once there is room
/// for the records.
const ASK_LOST_NS: u64 = 1_000_000_000;
/// A CPU needs at most this long from stamping a record to making it visible.
const IN_FLIGHT_NS: u64 = 500_000;

/// Totals of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Events read that passed the filter.
    pub events: u64,
    /// Records the kernel had no room for.
    pub lost: u64,
    /// At least this many occurrences were counted by the kernel, but neither recorded nor counted
    /// as lost. (Some virtual machines record nothing that interrupts an idle CPU.)
    pub unrecorded: u64,
    /// Events left out by the filter, except those that the kernel itself left out.
    pub filtered: u64,
    /// Records or samples that could not be read.
    pub malformed: u64,
}

/// The rings of all CPUs.
pub struct PerfReader {
    rings: Vec<CpuRing>,
    layout: Layout,
    missing: Vec<Missing>,
    filter: Filter,
    clock: Clock,
    offset: clock::Offset,
    /// Events read but not handed out yet, see [`PerfReader::drain`].
    held: Vec<Event>,
    counts: Counts,
    /// Time of the last query for losses, on the clock that stamps the records.
    asked_lost_ns: u64,
    /// Occurrences of all tracepoints by then.
    occurred: u64,
    /// Number of samples read from the rings.
    samples: u64,
}

impl PerfReader {
    /// Opens the tracepoints on every online CPU and starts them.
    ///
    /// # Errors
    /// If tracefs is not mounted, `tcp_probe` is missing, a tracepoint has unknown fields, or the
    /// right to trace is missing; the message says what to do. It is no error if another tracepoint
    /// is missing, see [`PerfReader::missing`].
    pub fn open(options: &Options) -> Result<Self, OpenError> {
        options.check_sizes()?;
        let Tracepoints {
            layout,
            ids,
            missing,
        } = Tracepoints::find(options)?;
        for event in &missing {
            tracing::warn!("{}", event.lost());
        }
        let mut rings = Vec::new();
        for cpu in tracefs::online_cpus()? {
            rings.push(CpuRing::open(cpu, &ids, options)?);
        }
        for event in rings.iter_mut().flat_map(CpuRing::events) {
            event.enable().map_err(|source| OpenError::Io {
                what: "start a perf event".to_owned(),
                source,
            })?;
        }
        Ok(Self {
            rings,
            layout,
            missing,
            filter: options.filter.clone(),
            clock: options.clock,
            offset: clock::Offset::new(options.clock),
            held: Vec::new(),
            counts: Counts::default(),
            asked_lost_ns: options.clock.stamped().now_ns(),
            occurred: 0,
            samples: 0,
        })
    }

    /// Waits until a ring has reached its watermark, at most `timeout`; returns whether one has.
    /// Rings below the watermark can also be drained: drain after a timeout as well.
    ///
    /// # Errors
    /// Errors of `poll`, except an interruption by a signal, which counts as a timeout.
    pub fn poll(&self, timeout: Duration) -> io::Result<bool> {
        let mut fds: Vec<PollFd<'_>> = self
            .fds()
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        match poll(&mut fds, timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(nix::errno::Errno::EINTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Empties the rings and gives `f` the events in order of time, also across CPUs: the events of
    /// one flow come from several. Returns the number of events.
    ///
    /// Events of the last half millisecond are held back until the next call,
    /// since another CPU may still be writing an earlier one.
    pub fn drain(&mut self, mut f: impl FnMut(Event)) -> usize {
        // Read before the rings: older records have been written by then.
        let now_ns = self.clock.stamped().now_ns();
        self.read_rings();
        let horizon_ns = self.offset.apply(now_ns.saturating_sub(IN_FLIGHT_NS));
        let ready = self
            .held
            .partition_point(|event| event.time_ns() <= horizon_ns);
        self.held.drain(..ready).for_each(&mut f);
        ready
    }

    /// Stops the tracepoints and gives `f` everything that the rings still hold,
    /// in order of time; the counts are final then. Returns the number of events.
    pub fn finish(&mut self, f: impl FnMut(Event)) -> usize {
        for event in self.rings.iter_mut().flat_map(CpuRing::events) {
            if let Err(error) = event.disable() {
                // It also ends with its descriptor, only later.
                tracing::warn!(%error, "stopping a perf event");
            }
        }
        self.read_rings();
        let events = self.held.len();
        self.held.drain(..).for_each(f);
        self.ask_lost();
        self.note_unrecorded();
        events
    }

    fn ask_lost(&mut self) {
        self.asked_lost_ns = self.clock.stamped().now_ns();
        let (mut occurred, mut lost) = (0, 0);
        for cpu in &mut self.rings {
            match cpu.totals() {
                Ok(Some(Totals {
                    occurred: o,
                    lost: l,
                })) => {
                    occurred += o;
                    lost += l;
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "reading the losses of a perf event");
                    return;
                }
            }
        }
        self.counts.lost = self.counts.lost.max(lost);
        // Records of events counted at the last query have been read since.
        self.note_unrecorded();
        self.occurred = occurred;
    }

    /// Compares the occurrences counted by the last query with the samples read and lost.
    fn note_unrecorded(&mut self) {
        let told = self.samples.saturating_add(self.counts.lost);
        let unrecorded = self.occurred.saturating_sub(told);
        if self.counts.unrecorded == 0 && unrecorded > 0 {
            tracing::warn!(
                unrecorded,
                "the kernel counts tracepoint events that it does not record: \
                 some retransmissions and samples will be missing"
            );
        }
        self.counts.unrecorded = self.counts.unrecorded.max(unrecorded);
    }

    /// Moves the events in the rings to `held`, in order of time.
    fn read_rings(&mut self) {
        self.offset.refresh();
        for cpu in &mut self.rings {
            let (counts, held, samples) = (&mut self.counts, &mut self.held, &mut self.samples);
            let (layout, filter, offset) = (&self.layout, &self.filter, &self.offset);
            cpu.consume(|record| {
                *samples += u64::from(matches!(record, Record::Sample { .. }));
                held.extend(take(record, layout, filter, offset, counts));
            });
        }
        // A merge of one ascending run per CPU.
        self.held.sort_by_key(Event::time_ns);
        let now_ns = self.clock.stamped().now_ns();
        if now_ns.saturating_sub(self.asked_lost_ns) >= ASK_LOST_NS {
            self.ask_lost();
        }
    }

    /// Returns the requested tracepoints that this kernel does not have.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Returns all totals.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns one file descriptor per CPU, which becomes readable at the watermark.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.rings.iter().map(CpuRing::fd)
    }
}

#[inline]
fn take(
    record: Record<'_>,
    layout: &Layout,
    filter: &Filter,
    offset: &clock::Offset,
    counts: &mut Counts,
) -> Option<Event> {
    match record {
        Record::Sample { time_ns, raw } => match layout.read(offset.apply(time_ns), raw) {
            Some(event) if filter.passes(event.flow()) => {
                counts.events += 1;
                return Some(event);
            }
            Some(_) => counts.filtered += 1,
            None => counts.malformed += 1,
        },
        Record::Lost(lost) => counts.lost += lost,
        Record::Malformed => counts.malformed += 1,
        Record::Other(_) => {}
    }
    None
}
