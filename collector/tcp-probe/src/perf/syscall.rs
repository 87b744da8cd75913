// SPDX-License-Identifier: Apache-2.0
//! The system calls of perf events.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use perf_event_open_sys::bindings::{
    PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_LOST, PERF_SAMPLE_RAW, PERF_SAMPLE_TIME,
    PERF_TYPE_TRACEPOINT, perf_event_attr,
};
use perf_event_open_sys::{ioctls, perf_event_open};

use super::options::Options;

/// Opens a tracepoint for all processes on one CPU, not yet started. True when
/// [`read_totals`] can be asked of it (Linux 6.0 and later).
pub(super) fn open_tracepoint(id: u16, cpu: u32, options: &Options) -> io::Result<(OwnedFd, bool)> {
    match open_with(id, cpu, options, u64::from(PERF_FORMAT_LOST)) {
        Ok(fd) => Ok((fd, true)),
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            Ok((open_with(id, cpu, options, 0)?, false))
        }
        Err(e) => Err(e),
    }
}

fn open_with(id: u16, cpu: u32, options: &Options, read_format: u64) -> io::Result<OwnedFd> {
    let mut attr = perf_event_attr::default();
    attr.type_ = PERF_TYPE_TRACEPOINT;
    attr.size = size_of::<perf_event_attr>() as u32;
    attr.config = u64::from(id);
    attr.sample_type = u64::from(PERF_SAMPLE_TIME | PERF_SAMPLE_RAW);
    attr.read_format = read_format;
    attr.clockid = options.clock.stamped().id();
    // Every occurrence.
    attr.__bindgen_anon_1.sample_period = 1;
    attr.__bindgen_anon_2.wakeup_watermark = options.wakeup_bytes.max(1);
    attr.set_disabled(1);
    attr.set_watermark(1);
    attr.set_use_clockid(1);
    let cpu = i32::try_from(cpu).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: `attr` is a complete, initialised structure of the size it names.
    let fd = unsafe {
        perf_event_open(
            &raw mut attr,
            -1,
            cpu,
            -1,
            libc::c_ulong::from(PERF_FLAG_FD_CLOEXEC),
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Starts an event.
pub(super) fn enable(event: &OwnedFd) -> io::Result<()> {
    // SAFETY: a perf event's descriptor; no pointer is passed.
    check(unsafe { ioctls::ENABLE(event.as_raw_fd(), 0) })
}

/// Stops an event; what its ring holds stays there.
pub(super) fn disable(event: &OwnedFd) -> io::Result<()> {
    // SAFETY: as above.
    check(unsafe { ioctls::DISABLE(event.as_raw_fd(), 0) })
}

/// What the kernel counts of an event, since it was opened.
pub(super) struct Totals {
    /// Those that passed the kernel's filter.
    pub occurred: u64,
    /// Records that found the ring full.
    pub lost: u64,
}

/// Asks the kernel for its counts of an event.
pub(super) fn read_totals(event: &OwnedFd) -> io::Result<Totals> {
    let mut values = [0u64; 2];
    // SAFETY: the buffer has the length that is given.
    let got = unsafe {
        libc::read(
            event.as_raw_fd(),
            values.as_mut_ptr().cast(),
            size_of_val(&values),
        )
    };
    match got {
        16 => Ok(Totals {
            occurred: values[0],
            lost: values[1],
        }),
        n if n < 0 => Err(io::Error::last_os_error()),
        _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

/// Makes an event write into the ring of another on the same CPU.
pub(super) fn share_ring(event: &OwnedFd, owner: RawFd) -> io::Result<()> {
    // SAFETY: two perf events' descriptors.
    check(unsafe { ioctls::SET_OUTPUT(event.as_raw_fd(), owner) })
}

/// Lets only those occurrences pass for which `expression` holds.
pub(super) fn set_filter(event: &OwnedFd, expression: &str) -> io::Result<()> {
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
