// SPDX-License-Identifier: Apache-2.0
//! From datagrams to reports: a few are looked at, and the memory of their flows
//! fetched, before the first of them is taken.

use super::Pipeline;
use crate::index::Packed;
use crate::rows::Sink;
use crate::table::Found;
use int_report::{DecodeError, InnerError, InnerPacket, Report, Usual, parse_inner, usual};
use std::net::IpAddr;

/// Datagrams looked at before the first of them is taken.
const STAGE: usize = 8;
/// Of them, those whose flows' packets are fetched before their turn.
const PACKETS_AHEAD: usize = 4;

/// A UDP payload and where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    pub exporter: IpAddr,
    /// Reception, collector's clock.
    pub rx_ns: u64,
    pub payload: &'a [u8],
}

/// A datagram that has been looked at, not yet taken.
#[derive(Clone, Copy)]
struct Staged<'a> {
    exporter: IpAddr,
    rx_ns: u64,
    payload: &'a [u8],
    usual: Option<Usual<'a>>,
    /// The flow of its first report, if it is known.
    found: Option<Found>,
}

impl<S: Sink> Pipeline<S> {
    /// Takes one report of `exporter`, received at `rx_ns` of the collector's
    /// clock. Reports of one datagram come one after the other.
    pub fn push_report(&mut self, exporter: IpAddr, report: &Report<'_>, rx_ns: u64) {
        let inner = parse_inner(&report.inner);
        self.take(exporter, rx_ns, report, inner.as_ref(), None);
    }

    /// Decodes datagrams and takes their reports; `failed` hears of those that
    /// could not be decoded to their end. The same as decoding each and calling
    /// [`Pipeline::push_report`], but quicker: several are looked at before the
    /// first of them is taken, while their flows' memory is fetched.
    pub fn push_datagrams<'a>(
        &mut self,
        datagrams: impl Iterator<Item = Datagram<'a>>,
        mut failed: impl FnMut(&mut S, DecodeError),
    ) {
        let mut datagrams = datagrams;
        let mut staged = [None; STAGE];
        loop {
            let mut count = 0;
            for place in &mut staged {
                let Some(Datagram {
                    exporter,
                    rx_ns,
                    payload,
                }) = datagrams.next()
                else {
                    break;
                };
                let usual = usual(payload);
                let found = match &usual {
                    Some(usual) => self.flows.find_ahead(Packed::of_usual(usual)),
                    None => self.look_into(payload),
                };
                *place = Some(Staged {
                    exporter,
                    rx_ns,
                    payload,
                    usual,
                    found,
                });
                count += 1;
            }
            self.take_staged(staged.get(..count).unwrap_or_default(), &mut failed);
            if count < STAGE {
                return;
            }
        }
    }

    /// Finds the flow of the first report of any datagram.
    #[inline(never)]
    fn look_into(&self, payload: &[u8]) -> Option<Found> {
        let mut found = None;
        // What is wrong with it shows when it is taken.
        let _ = int_report::decode(payload, |report| {
            if report.first_in_datagram
                && let Ok(inner) = parse_inner(&report.inner)
            {
                found = self.flows.find_ahead(Packed::of(&inner.flow_key()));
            }
        });
        found
    }

    #[inline(always)]
    fn take_staged(
        &mut self,
        staged: &[Option<Staged<'_>>],
        failed: &mut impl FnMut(&mut S, DecodeError),
    ) {
        for s in staged.iter().take(PACKETS_AHEAD).flatten() {
            self.prefetch_packets(s.found);
        }
        for (i, s) in staged.iter().enumerate() {
            if let Some(Some(s)) = staged.get(i + PACKETS_AHEAD) {
                self.prefetch_packets(s.found);
            }
            let Some(s) = s else { continue };
            if let Some(usual) = &s.usual {
                let inner = usual.inner();
                self.take(s.exporter, s.rx_ns, &usual.report(), Ok(&inner), s.found);
            } else if let Err(e) = self.take_any(s) {
                failed(&mut self.sink, e);
            }
        }
    }

    #[inline(always)]
    fn prefetch_packets(&self, found: Option<Found>) {
        if let Some(found) = found {
            self.flows.prefetch_packets(found.slot);
        }
    }

    /// Takes all reports of any datagram.
    #[inline(never)]
    fn take_any(&mut self, s: &Staged<'_>) -> Result<usize, DecodeError> {
        int_report::decode(s.payload, |report| {
            let inner = parse_inner(&report.inner);
            let found = s.found.filter(|_| report.first_in_datagram);
            self.take_unusual(s, &report, inner.as_ref(), found);
        })
    }

    #[inline(never)]
    fn take_unusual(
        &mut self,
        s: &Staged<'_>,
        report: &Report<'_>,
        inner: Result<&InnerPacket, &InnerError>,
        found: Option<Found>,
    ) {
        self.take(s.exporter, s.rx_ns, report, inner, found);
    }

    #[inline(always)]
    fn take(
        &mut self,
        exporter: IpAddr,
        rx_ns: u64,
        report: &Report<'_>,
        inner: Result<&InnerPacket, &InnerError>,
        found: Option<Found>,
    ) {
        self.stats.reports += 1;
        if rx_ns > self.now_rx_ns {
            self.now_rx_ns = rx_ns;
            self.release_held(rx_ns);
            self.periodic();
        }
        self.report(exporter, rx_ns, report, inner, found);
        self.emit_ready(self.now_rx_ns);
    }
}
