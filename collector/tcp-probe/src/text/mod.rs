// SPDX-License-Identifier: Apache-2.0
//! Parses lines of `trace_pipe` or `trace`, from kernel 4.16 to today, of `trace-cmd report`, and
//! of `perf script`. [`foreign`] recognises other formats.
//!
//! Fields are found by name, so that fields added over time (`family`, `mark`, `sock_cookie`,
//! `skbaddr`, …) or in the future do not matter; `data_len` was once called `length`. Numbers may
//! be decimal or, with `0x`, hexadecimal.

mod error;
mod fast_path;
mod fields;
mod foreign;
mod scan;
mod write;

use int_report::FlowKey;

use crate::event::{CongStateEvent, Event, RetransmitEvent, Sample, flow};
use fields::{SocketEnds, tokens};

pub use error::LineError;
pub use foreign::foreign;
pub use write::Line;

/// Parses one line. Returns `None` for comments, empty lines, other tracepoints and notices such as
/// `CPU:1 [LOST 12 EVENTS]` (see [`lost_events`]).
///
/// # Errors
/// If the line is of a known tracepoint but a field is missing or bad.
#[inline]
pub fn parse_line(line: &[u8]) -> Result<Option<Event>, LineError> {
    let Some(found) = scan::find_event(line) else {
        return Ok(None);
    };
    let time_ns = found.time_ns.ok_or(LineError::BadTime)?;
    Ok(Some(match found.kind {
        scan::Kind::Probe => Event::Probe(match fast_path::probe(time_ns, found.fields) {
            Some(sample) => sample,
            None => probe(time_ns, found.fields)?,
        }),
        scan::Kind::Retransmit => Event::Retransmit(RetransmitEvent {
            time_ns,
            flow: socket_flow(found.fields)?.0,
        }),
        scan::Kind::CongState => {
            let (flow, state) = socket_flow(found.fields)?;
            let state = state.ok_or(LineError::Missing {
                field: "cong_state",
            })?;
            Event::CongState(CongStateEvent {
                time_ns,
                flow,
                state,
            })
        }
    }))
}

/// Reads only the time, ns, of a line that [`parse_line`] gives an event for.
#[inline]
#[must_use]
pub fn time_ns(line: &[u8]) -> Option<u64> {
    scan::find_event(line)?.time_ns
}

/// Whether a line is of any event, known or not, as a trace prints it.
#[must_use]
pub fn is_of_a_trace(line: &[u8]) -> bool {
    scan::is_of_a_trace(line)
}

/// Returns the number of events lost, from a notice that a buffer overran: of the kernel
/// (`CPU:n [LOST m EVENTS]`), of trace-cmd (`CPU:n [m EVENTS DROPPED]`) or of perf
/// (`PERF_RECORD_LOST lost m`). A notice without a number counts as one.
#[must_use]
pub fn lost_events(line: &[u8]) -> Option<u64> {
    let line = line.trim_ascii();
    if let Some(at) = memchr::memmem::find(line, b"PERF_RECORD_LOST") {
        let rest = line.get(at + "PERF_RECORD_LOST".len()..)?;
        let words = rest.split(u8::is_ascii_whitespace);
        return Some(words.filter_map(scan::decimal).next().unwrap_or(1));
    }
    let rest = line.strip_prefix(b"CPU:")?;
    let notice = rest.get(memchr::memchr(b'[', rest)? + 1..)?;
    let notice = notice.strip_suffix(b"]")?;
    let number = match notice {
        b"LOST EVENTS" | b"EVENTS DROPPED" => return Some(1),
        _ => notice
            .strip_prefix(b"LOST ")
            .and_then(|n| n.strip_suffix(b" EVENTS"))
            .or_else(|| notice.strip_suffix(b" EVENTS DROPPED"))?,
    };
    scan::decimal(number)
}

fn probe(time_ns: u64, fields: &[u8]) -> Result<Sample, LineError> {
    let mut local = None;
    let mut remote = None;
    let mut numbers = fields::ProbeNumbers::default();
    let mut sock_cookie = 0;
    for (name, value) in tokens(fields) {
        match name {
            b"src" => local = Some(fields::endpoint("src", value)?),
            b"dest" => remote = Some(fields::endpoint("dest", value)?),
            b"sock_cookie" => {
                sock_cookie = scan::hex(value).ok_or(LineError::BadValue {
                    field: "sock_cookie",
                })?;
            }
            name => numbers.set(name, value)?,
        }
    }
    let local = local.ok_or(LineError::Missing { field: "src" })?;
    let remote = remote.ok_or(LineError::Missing { field: "dest" })?;
    numbers.require_all()?;
    Ok(Sample {
        time_ns,
        flow: flow(local, remote),
        data_len: numbers.data_len,
        snd_nxt: numbers.snd_nxt,
        snd_una: numbers.snd_una,
        snd_cwnd: numbers.snd_cwnd,
        ssthresh: numbers.ssthresh,
        snd_wnd: numbers.snd_wnd,
        srtt_us: numbers.srtt_us,
        rcv_wnd: numbers.rcv_wnd,
        sock_cookie,
    })
}

/// Reads the flow, and the congestion state if the line has one.
fn socket_flow(fields: &[u8]) -> Result<(FlowKey, Option<u8>), LineError> {
    let mut ends = SocketEnds::default();
    let mut state = None;
    for (name, value) in tokens(fields) {
        if name == b"cong_state" {
            let number = scan::decimal(value).and_then(|n| u8::try_from(n).ok());
            state = Some(number.ok_or(LineError::BadValue {
                field: "cong_state",
            })?);
        } else {
            ends.set(name, value)?;
        }
    }
    Ok((ends.flow()?, state))
}

#[cfg(test)]
mod tests;
