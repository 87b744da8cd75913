// SPDX-License-Identifier: Apache-2.0
//! The `name=value` fields of a line.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use int_report::FlowKey;

use super::error::LineError;
use super::scan::{decimal, number};
use crate::event::flow;

/// Iterates over every `name=value` of the line, in order; words without `=` are skipped.
pub(super) fn tokens(fields: &[u8]) -> Tokens<'_> {
    Tokens { rest: fields }
}

pub(super) struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let mut equals = None;
            let mut end = self.rest.len();
            for (at, &byte) in self.rest.iter().enumerate() {
                if byte == b' ' {
                    end = at;
                    break;
                }
                if byte == b'=' && equals.is_none() {
                    equals = Some(at);
                }
            }
            let (token, rest) = self.rest.split_at(end);
            self.rest = rest.get(1..).unwrap_or_default();
            if let Some((name, value)) = equals.and_then(|at| token.split_at_checked(at)) {
                return Some((name, value.get(1..).unwrap_or_default()));
            }
        }
    }
}

/// The numeric fields of `tcp_probe`.
#[derive(Default)]
pub(super) struct ProbeNumbers {
    found: u16,
    pub data_len: u16,
    pub snd_nxt: u32,
    pub snd_una: u32,
    pub snd_cwnd: u32,
    pub ssthresh: u32,
    pub snd_wnd: u32,
    pub srtt_us: u32,
    pub rcv_wnd: u32,
}

const PROBE_NAMES: [&str; 8] = [
    "data_len", "snd_nxt", "snd_una", "snd_cwnd", "ssthresh", "snd_wnd", "srtt", "rcv_wnd",
];

impl ProbeNumbers {
    #[inline]
    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), LineError> {
        let (bit, place) = match name {
            b"data_len" | b"length" => {
                let length = number(value).and_then(|n| u16::try_from(n).ok());
                self.data_len = length.ok_or(LineError::BadValue { field: "data_len" })?;
                self.found |= 1;
                return Ok(());
            }
            b"snd_nxt" => (1, &mut self.snd_nxt),
            b"snd_una" => (2, &mut self.snd_una),
            b"snd_cwnd" => (3, &mut self.snd_cwnd),
            b"ssthresh" => (4, &mut self.ssthresh),
            b"snd_wnd" => (5, &mut self.snd_wnd),
            b"srtt" => (6, &mut self.srtt_us),
            b"rcv_wnd" => (7, &mut self.rcv_wnd),
            _ => return Ok(()),
        };
        match number(value).and_then(|n| u32::try_from(n).ok()) {
            Some(parsed) => *place = parsed,
            None => {
                let field = PROBE_NAMES.get(bit).copied().unwrap_or_default();
                return Err(LineError::BadValue { field });
            }
        }
        self.found |= 1 << bit;
        Ok(())
    }

    pub(super) fn require_all(&self) -> Result<(), LineError> {
        if self.found == 0xff {
            return Ok(());
        }
        let missing = self.found.trailing_ones() as usize;
        let field = PROBE_NAMES.get(missing).copied().unwrap_or_default();
        Err(LineError::Missing { field })
    }
}

/// Parses `a.b.c.d:port` or `[v6]:port`.
#[inline]
pub(super) fn endpoint(field: &'static str, value: &[u8]) -> Result<(IpAddr, u16), LineError> {
    split_endpoint(value).ok_or(LineError::BadValue { field })
}

#[inline]
fn split_endpoint(value: &[u8]) -> Option<(IpAddr, u16)> {
    let colon = value.iter().rposition(|&b| b == b':')?;
    let port = u16::try_from(decimal(value.get(colon + 1..)?)?).ok()?;
    let address = match value.get(..colon)? {
        [b'[', inner @ .., b']'] => IpAddr::V6(ipv6(inner)?),
        plain => IpAddr::V4(ipv4(plain)?),
    };
    Some((address, port))
}

#[inline]
fn ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    let mut octets = [0u8; 4];
    let mut place = 0;
    let mut value = 0u32;
    let mut digits = 0;
    for &byte in text {
        if byte == b'.' {
            if digits == 0 || place == 3 {
                return None;
            }
            octets[place] = u8::try_from(value).ok()?;
            (place, value, digits) = (place + 1, 0, 0);
        } else {
            let digit = byte.wrapping_sub(b'0');
            digits += 1;
            if digit > 9 || digits > 3 {
                return None;
            }
            value = value * 10 + u32::from(digit);
        }
    }
    if place != 3 || digits == 0 {
        return None;
    }
    octets[3] = u8::try_from(value).ok()?;
    Some(Ipv4Addr::from(octets))
}

fn ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Ends of a socket as the retransmission and state events print them.
#[derive(Default)]
pub(super) struct SocketEnds {
    sport: Option<u16>,
    dport: Option<u16>,
    saddr: Option<IpAddr>,
    daddr: Option<IpAddr>,
    saddr_v6: Option<Ipv6Addr>,
    daddr_v6: Option<Ipv6Addr>,
}

impl SocketEnds {
    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), LineError> {
        let port = |field| {
            let port = decimal(value).and_then(|n| u16::try_from(n).ok());
            port.ok_or(LineError::BadValue { field }).map(Some)
        };
        let v4 = |field| {
            let address = ipv4(value).map(IpAddr::V4);
            address.ok_or(LineError::BadValue { field }).map(Some)
        };
        let v6 = |field| ipv6(value).ok_or(LineError::BadValue { field }).map(Some);
        match name {
            b"sport" => self.sport = port("sport")?,
            b"dport" => self.dport = port("dport")?,
            b"saddr" => self.saddr = v4("saddr")?,
            b"daddr" => self.daddr = v4("daddr")?,
            b"saddrv6" => self.saddr_v6 = v6("saddrv6")?,
            b"daddrv6" => self.daddr_v6 = v6("daddrv6")?,
            _ => {}
        }
        Ok(())
    }

    /// Returns the flow. The IPv6 form is complete in either family (IPv4 appears mapped); the IPv4
    /// form is meaningless for IPv6 sockets.
    pub(super) fn flow(&self) -> Result<FlowKey, LineError> {
        let need = |field| LineError::Missing { field };
        let local = self.saddr_v6.map(IpAddr::V6).or(self.saddr);
        let remote = self.daddr_v6.map(IpAddr::V6).or(self.daddr);
        Ok(flow(
            (
                local.ok_or(need("saddr"))?,
                self.sport.ok_or(need("sport"))?,
            ),
            (
                remote.ok_or(need("daddr"))?,
                self.dport.ok_or(need("dport"))?,
            ),
        ))
    }
}
