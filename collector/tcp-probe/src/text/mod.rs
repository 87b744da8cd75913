// SPDX-License-Identifier: Apache-2.0
//! Lines of `trace_pipe` or `trace`, from kernel 4.16 to today.
//!
//! Fields are found by name, so that those added over time (`family`, `mark`,
//! `sock_cookie`, `skbaddr`, …) and those to come do not matter; `data_len` was
//! once called `length`. Numbers may be decimal or, with `0x`, hexadecimal.

mod error;
mod fast_path;
mod fields;
mod scan;

use int_report::FlowKey;

use crate::event::{CongStateEvent, Event, RetransmitEvent, Sample, flow};
use fields::{SocketEnds, tokens};

pub use error::LineError;

/// Parses one line. `None` for comments, empty lines, other tracepoints and
/// notices such as `CPU:1 [LOST 12 EVENTS]` (see [`lost_events`]).
///
/// # Errors
/// When the line is of a known tracepoint but a field is missing or bad.
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

/// Number of events of a notice `CPU:n [LOST m EVENTS]`, which the kernel
/// prints when its buffer overran.
#[must_use]
pub fn lost_events(line: &[u8]) -> Option<u64> {
    let rest = line.trim_ascii().strip_prefix(b"CPU:")?;
    let at = rest.windows(6).position(|window| window == b"[LOST ")?;
    let digits = rest.get(at + 6..)?;
    let end = digits.iter().position(|b| !b.is_ascii_digit())?;
    if digits.get(end..) != Some(b" EVENTS]") {
        return None;
    }
    scan::decimal(digits.get(..end)?)
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

/// Flow, and the congestion state if the line has one.
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
