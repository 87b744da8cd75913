// SPDX-License-Identifier: Apache-2.0
//! Converts the raw data of a perf sample to an [`Event`], by the offsets of the running kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::event::{CongStateEvent, Event, RetransmitEvent, Sample, flow};
use crate::format::{Format, FormatError};

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const SOCKADDR_IN6_BYTES: usize = 28;

/// Offsets of the fields, for each tracepoint that is read.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    probe: Option<ProbeLayout>,
    retransmit: Option<SocketLayout>,
    cong_state: Option<SocketLayout>,
}

#[derive(Clone, Copy, Debug)]
struct ProbeLayout {
    id: u16,
    saddr: usize,
    daddr: usize,
    data_len: usize,
    data_len_bytes: usize,
    snd_nxt: usize,
    snd_una: usize,
    snd_cwnd: usize,
    ssthresh: usize,
    snd_wnd: usize,
    srtt: usize,
    rcv_wnd: usize,
    sock_cookie: Option<usize>,
}

/// Offsets for events that name the ends of a socket in separate fields.
#[derive(Clone, Copy, Debug)]
struct SocketLayout {
    id: u16,
    sport: usize,
    dport: usize,
    saddr_v6: usize,
    daddr_v6: usize,
    /// Offset of `cong_state`; 0 for events without it.
    state: usize,
}

impl Layout {
    /// Resolves the fields of `tcp_probe`.
    ///
    /// # Errors
    /// If this kernel's tracepoint lacks a field or has it in another size.
    pub fn set_probe(&mut self, format: &Format) -> Result<(), FormatError> {
        // Called `length` before kernel 4.20, and 4 bytes wide for a while.
        let data_len = format.find("data_len").or_else(|| format.find("length"));
        let data_len = data_len.ok_or_else(|| FormatError::MissingField {
            event: format.name.clone(),
            field: "data_len",
        })?;
        if !matches!(data_len.size_bytes, 2 | 4) {
            return Err(FormatError::WrongSize {
                event: format.name.clone(),
                field: "data_len",
                size_bytes: data_len.size_bytes,
                expected_bytes: 2,
            });
        }
        self.probe = Some(ProbeLayout {
            id: format.id,
            saddr: format.require("saddr", SOCKADDR_IN6_BYTES)?,
            daddr: format.require("daddr", SOCKADDR_IN6_BYTES)?,
            data_len: data_len.offset,
            data_len_bytes: data_len.size_bytes,
            snd_nxt: format.require("snd_nxt", 4)?,
            snd_una: format.require("snd_una", 4)?,
            snd_cwnd: format.require("snd_cwnd", 4)?,
            ssthresh: format.require("ssthresh", 4)?,
            snd_wnd: format.require("snd_wnd", 4)?,
            srtt: format.require("srtt", 4)?,
            rcv_wnd: format.require("rcv_wnd", 4)?,
            sock_cookie: match format.find("sock_cookie") {
                Some(_) => Some(format.require("sock_cookie", 8)?),
                None => None,
            },
        });
        Ok(())
    }

    /// Resolves the fields of `tcp_retransmit_skb`.
    ///
    /// # Errors
    /// As [`Layout::set_probe`].
    pub fn set_retransmit(&mut self, format: &Format) -> Result<(), FormatError> {
        self.retransmit = Some(socket_layout(format, 0)?);
        Ok(())
    }

    /// Resolves the fields of `tcp_cong_state_set`.
    ///
    /// # Errors
    /// As [`Layout::set_probe`].
    pub fn set_cong_state(&mut self, format: &Format) -> Result<(), FormatError> {
        self.cong_state = Some(socket_layout(format, format.require("cong_state", 1)?)?);
        Ok(())
    }

    /// Reads the raw data of one sample taken at `time_ns`; returns `None` if it is of an unknown
    /// tracepoint or family, or too short.
    #[inline]
    pub fn read(&self, time_ns: u64, raw: &[u8]) -> Option<Event> {
        let id = u16_at(raw, 0)?;
        if let Some(layout) = &self.probe
            && layout.id == id
        {
            return read_probe(layout, time_ns, raw);
        }
        if let Some(layout) = &self.retransmit
            && layout.id == id
        {
            let flow = read_socket(layout, raw)?;
            return Some(Event::Retransmit(RetransmitEvent { time_ns, flow }));
        }
        if let Some(layout) = &self.cong_state
            && layout.id == id
        {
            let flow = read_socket(layout, raw)?;
            let state = *raw.get(layout.state)?;
            return Some(Event::CongState(CongStateEvent {
                time_ns,
                flow,
                state,
            }));
        }
        None
    }
}

fn socket_layout(format: &Format, state: usize) -> Result<SocketLayout, FormatError> {
    Ok(SocketLayout {
        id: format.id,
        sport: format.require("sport", 2)?,
        dport: format.require("dport", 2)?,
        // Complete in either family: IPv4 addresses are mapped here, while the
        // IPv4 fields hold no address for IPv6 sockets.
        saddr_v6: format.require("saddr_v6", 16)?,
        daddr_v6: format.require("daddr_v6", 16)?,
        state,
    })
}

#[inline]
fn read_probe(layout: &ProbeLayout, time_ns: u64, raw: &[u8]) -> Option<Event> {
    let local = sockaddr(raw, layout.saddr)?;
    let remote = sockaddr(raw, layout.daddr)?;
    let data_len = match layout.data_len_bytes {
        2 => u16_at(raw, layout.data_len)?,
        _ => u16::try_from(u32_at(raw, layout.data_len)?).unwrap_or(u16::MAX),
    };
    let sock_cookie = match layout.sock_cookie {
        Some(offset) => u64_at(raw, offset)?,
        None => 0,
    };
    Some(Event::Probe(Sample {
        time_ns,
        flow: flow(local, remote),
        data_len,
        snd_nxt: u32_at(raw, layout.snd_nxt)?,
        snd_una: u32_at(raw, layout.snd_una)?,
        snd_cwnd: u32_at(raw, layout.snd_cwnd)?,
        ssthresh: u32_at(raw, layout.ssthresh)?,
        snd_wnd: u32_at(raw, layout.snd_wnd)?,
        srtt_us: u32_at(raw, layout.srtt)?,
        rcv_wnd: u32_at(raw, layout.rcv_wnd)?,
        sock_cookie,
    }))
}

#[inline]
fn read_socket(layout: &SocketLayout, raw: &[u8]) -> Option<int_report::FlowKey> {
    let address = |offset| Some(IpAddr::V6(Ipv6Addr::from(*chunk::<16>(raw, offset)?)));
    Some(flow(
        (address(layout.saddr_v6)?, u16_at(raw, layout.sport)?),
        (address(layout.daddr_v6)?, u16_at(raw, layout.dport)?),
    ))
}

/// Reads a `struct sockaddr_in` or `sockaddr_in6`: family in host order, port in network order,
/// then the address (IPv6: after the flow label).
#[inline]
fn sockaddr(raw: &[u8], offset: usize) -> Option<(IpAddr, u16)> {
    let bytes = chunk::<SOCKADDR_IN6_BYTES>(raw, offset)?;
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    match u16::from_ne_bytes([bytes[0], bytes[1]]) {
        AF_INET => Some((
            IpAddr::V4(Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7])),
            port,
        )),
        AF_INET6 => {
            let address = chunk::<16>(bytes, 8)?;
            Some((IpAddr::V6(Ipv6Addr::from(*address)), port))
        }
        _ => None,
    }
}

#[inline]
fn chunk<const N: usize>(raw: &[u8], offset: usize) -> Option<&[u8; N]> {
    raw.get(offset..)?.first_chunk::<N>()
}

#[inline]
fn u16_at(raw: &[u8], offset: usize) -> Option<u16> {
    chunk(raw, offset).map(|bytes| u16::from_ne_bytes(*bytes))
}

#[inline]
fn u32_at(raw: &[u8], offset: usize) -> Option<u32> {
    chunk(raw, offset).map(|bytes| u32::from_ne_bytes(*bytes))
}

#[inline]
fn u64_at(raw: &[u8], offset: usize) -> Option<u64> {
    chunk(raw, offset).map(|bytes| u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests;
