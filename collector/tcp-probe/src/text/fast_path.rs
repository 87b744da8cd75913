// SPDX-License-Identifier: Apache-2.0
//! The fast path for a `tcp_probe` line that has the fields in the order in which kernels print
//! them. The slow path (`fields`) takes every other line: it finds fields by name and reports
//! errors. Property tests in `tests.rs` check that both agree. Justified by the benchmark row
//! "text" of `make bench-collector`.

use std::net::{IpAddr, Ipv4Addr};

use crate::event::{Sample, flow};

/// Reads the sample; `None` leaves the line to the slow path.
#[inline]
pub(super) fn probe(time_ns: u64, fields: &[u8]) -> Option<Sample> {
    let mut at = Cursor(fields);
    // Since Linux 6.2; IPv4 only: IPv6 takes the slow path.
    at.skip(b"family=AF_INET ");
    at.expect(b"src=")?;
    let local = at.endpoint()?;
    at.expect(b" dest=")?;
    let remote = at.endpoint()?;
    at.expect(b" mark=")?;
    at.hex_or_decimal()?;
    if !at.skip(b" data_len=") {
        at.expect(b" length=")?;
    }
    let data_len = u16::try_from(at.decimal()?).ok()?;
    at.expect(b" snd_nxt=0x")?;
    let snd_nxt = at.hex32()?;
    at.expect(b" snd_una=0x")?;
    let snd_una = at.hex32()?;
    at.expect(b" snd_cwnd=")?;
    let snd_cwnd = at.decimal()?;
    at.expect(b" ssthresh=")?;
    let ssthresh = at.decimal()?;
    at.expect(b" snd_wnd=")?;
    let snd_wnd = at.decimal()?;
    at.expect(b" srtt=")?;
    let srtt_us = at.decimal()?;
    at.expect(b" rcv_wnd=")?;
    let rcv_wnd = at.decimal()?;
    let mut sock_cookie = 0;
    if at.skip(b" sock_cookie=") {
        sock_cookie = at.hex64()?;
        // Two kernel addresses may follow, which are not used. Any other field might repeat one of
        // the above.
        if !at.0.is_empty() && !at.0.starts_with(b" skbaddr=") {
            return None;
        }
    } else if !at.0.is_empty() {
        return None;
    }
    Some(Sample {
        time_ns,
        flow: flow(local, remote),
        data_len,
        snd_nxt,
        snd_una,
        snd_cwnd,
        ssthresh,
        snd_wnd,
        srtt_us,
        rcv_wnd,
        sock_cookie,
    })
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    #[inline(always)]
    fn skip(&mut self, text: &[u8]) -> bool {
        match self.0.strip_prefix(text) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.skip(text).then_some(())
    }

    /// Reads digits up to the first other byte; at least one, 32 bits.
    #[inline(always)]
    fn decimal(&mut self) -> Option<u32> {
        let mut value = 0u64;
        let mut length = 0;
        for &byte in self.0.iter().take(11) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value * 10 + u64::from(digit);
            length += 1;
        }
        self.0 = self.0.get(length..)?;
        if length == 0 || length > 10 {
            return None;
        }
        u32::try_from(value).ok()
    }

    #[inline(always)]
    fn hex64(&mut self) -> Option<u64> {
        let mut value = 0u64;
        let mut length = 0;
        for &byte in self.0.iter().take(17) {
            // The byte after the digits ends the number.
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => break,
            };
            value = value << 4 | u64::from(digit);
            length += 1;
        }
        self.0 = self.0.get(length..)?;
        (length > 0 && length <= 16).then_some(value)
    }

    #[inline(always)]
    fn hex32(&mut self) -> Option<u32> {
        u32::try_from(self.hex64()?).ok()
    }

    #[inline(always)]
    fn hex_or_decimal(&mut self) -> Option<()> {
        if self.skip(b"0x") {
            self.hex32().map(|_| ())
        } else {
            self.decimal().map(|_| ())
        }
    }

    /// Reads `a.b.c.d:port`.
    #[inline(always)]
    fn endpoint(&mut self) -> Option<(IpAddr, u16)> {
        let mut address = 0u32;
        for place in 0..4 {
            if place > 0 {
                self.expect(b".")?;
            }
            address = address << 8 | u32::from(self.octet()?);
        }
        self.expect(b":")?;
        let port = u16::try_from(self.decimal()?).ok()?;
        Some((IpAddr::V4(Ipv4Addr::from(address)), port))
    }

    /// Reads one to three digits.
    #[inline(always)]
    fn octet(&mut self) -> Option<u8> {
        let mut value = 0u32;
        let mut length = 0;
        for &byte in self.0.iter().take(3) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value * 10 + u32::from(digit);
            length += 1;
        }
        self.0 = self.0.get(length..)?;
        if length == 0 {
            return None;
        }
        u8::try_from(value).ok()
    }
}
