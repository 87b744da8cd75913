// SPDX-License-Identifier: Apache-2.0
//! A model of TCP: NewReno's additive increase and multiplicative decrease with fast retransmit,
//! fast recovery (RFC 6582) and timeouts (RFC 6298). A sender has unlimited data; its receiver
//! acknowledges every segment.

use std::collections::BTreeSet;

/// Payload of a segment, bytes.
pub(crate) const MSS: u32 = 1448;
/// Smallest retransmission timeout, ns (Linux's).
const MIN_RTO_NS: u64 = 200_000_000;
const MAX_RTO_NS: u64 = 10_000_000_000;
/// Receive window, segments.
const MAX_WINDOW: f64 = 400.0;

/// A segment to send: its number since the flow's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) retransmitted: bool,
}

/// Congestion state that a sender reports with an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CongState {
    Open = 0,
    Recovery = 3,
    Loss = 4,
}

/// A TCP sender.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    /// The next new segment, and the first unacknowledged one.
    pub(crate) next: u64,
    pub(crate) unacked: u64,
    pub(crate) srtt_ns: u64,
    rttvar_ns: u64,
    duplicates: u32,
    /// Recovery lasts until this segment is acknowledged.
    recover: Option<u64>,
    pub(crate) rto_ns: u64,
    /// Expiry of the retransmission timer; `None` while nothing is in flight.
    pub(crate) deadline_ns: Option<u64>,
    /// The timed segment, and when it was sent.
    timed: Option<(u64, u64)>,
    pub(crate) timeouts: u64,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
            next: 0,
            unacked: 0,
            srtt_ns: 0,
            rttvar_ns: 0,
            duplicates: 0,
            recover: None,
            rto_ns: 1_000_000_000,
            deadline_ns: None,
            timed: None,
            timeouts: 0,
        }
    }
}

impl Sender {
    /// Sends the segments that the window currently allows.
    pub(crate) fn send(&mut self, now_ns: u64, out: &mut Vec<Segment>) {
        let inflated = if self.recover.is_some() {
            self.cwnd + f64::from(self.duplicates)
        } else {
            self.cwnd
        };
        let window = inflated.min(MAX_WINDOW) as u64;
        while self.next < self.unacked + window.max(1) {
            if self.timed.is_none() {
                self.timed = Some((self.next, now_ns));
            }
            out.push(Segment {
                number: self.next,
                retransmitted: false,
            });
            self.next += 1;
        }
        if self.deadline_ns.is_none() && self.next > self.unacked {
            self.deadline_ns = Some(now_ns + self.rto_ns);
        }
    }

    /// Handles an acknowledgement of everything before `ack`. Returns a change of the congestion
    /// state, if any.
    pub(crate) fn acknowledged(
        &mut self,
        ack: u64,
        now_ns: u64,
        out: &mut Vec<Segment>,
    ) -> Option<CongState> {
        let mut state = None;
        if ack > self.unacked {
            let count = ack - self.unacked;
            self.unacked = ack;
            self.next = self.next.max(ack);
            self.measure(ack, now_ns);
            self.deadline_ns = (self.next > ack).then_some(now_ns + self.rto_ns);
            match self.recover {
                Some(end) if ack < end => {
                    // A partial acknowledgement: the next hole is retransmitted.
                    self.duplicates = self.duplicates.saturating_sub(count as u32);
                    self.again(out);
                }
                Some(_) => {
                    self.recover = None;
                    self.duplicates = 0;
                    self.cwnd = self.ssthresh.max(2.0);
                    state = Some(CongState::Open);
                }
                None => {
                    self.duplicates = 0;
                    self.grow(count as f64);
                }
            }
        } else if self.next > self.unacked {
            self.duplicates += 1;
            if self.duplicates == 3 && self.recover.is_none() {
                self.halve();
                self.recover = Some(self.next);
                self.again(out);
                state = Some(CongState::Recovery);
            }
        }
        self.send(now_ns, out);
        state
    }

    /// Handles a retransmission timeout.
    pub(crate) fn timed_out(&mut self, now_ns: u64, out: &mut Vec<Segment>) {
        self.timeouts += 1;
        self.halve();
        self.cwnd = 1.0;
        self.recover = None;
        self.duplicates = 0;
        self.timed = None;
        self.rto_ns = (self.rto_ns * 2).min(MAX_RTO_NS);
        self.deadline_ns = Some(now_ns + self.rto_ns);
        self.again(out);
        // Go back: all segments in flight count as lost.
        self.next = self.unacked + 1;
    }

    fn again(&mut self, out: &mut Vec<Segment>) {
        self.timed = None;
        out.push(Segment {
            number: self.unacked,
            retransmitted: true,
        });
    }

    fn halve(&mut self) {
        let flight = (self.next - self.unacked) as f64;
        self.ssthresh = (flight.min(self.cwnd) / 2.0).max(2.0);
        self.cwnd = self.ssthresh;
    }

    fn grow(&mut self, count: f64) {
        if self.cwnd < self.ssthresh {
            self.cwnd += count;
        } else {
            self.cwnd += count / self.cwnd;
        }
        self.cwnd = self.cwnd.min(MAX_WINDOW);
    }

    fn measure(&mut self, ack: u64, now_ns: u64) {
        let Some((number, left_ns)) = self.timed.filter(|(n, _)| *n < ack) else {
            return;
        };
        debug_assert!(number < ack);
        self.timed = None;
        let rtt_ns = now_ns - left_ns;
        if self.srtt_ns == 0 {
            self.srtt_ns = rtt_ns;
            self.rttvar_ns = rtt_ns / 2;
        } else {
            let off_ns = self.srtt_ns.abs_diff(rtt_ns);
            self.rttvar_ns = (3 * self.rttvar_ns + off_ns) / 4;
            self.srtt_ns = (7 * self.srtt_ns + rtt_ns) / 8;
        }
        self.rto_ns = (self.srtt_ns + 4 * self.rttvar_ns).clamp(MIN_RTO_NS, MAX_RTO_NS);
    }
}

/// A TCP receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    expected: u64,
    beyond: BTreeSet<u64>,
}

impl Receiver {
    /// Takes a segment; returns the acknowledgement: the next number expected.
    pub(crate) fn take(&mut self, number: u64) -> u64 {
        if number == self.expected {
            self.expected += 1;
            while self.beyond.remove(&self.expected) {
                self.expected += 1;
            }
        } else if number > self.expected {
            self.beyond.insert(number);
        }
        self.expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a path that loses the segments chosen by `lost`, one round trip per step.
    fn run(rounds: u64, mut lost: impl FnMut(Segment) -> bool) -> Sender {
        let (mut s, mut r) = (Sender::default(), Receiver::default());
        let mut out = Vec::new();
        s.send(0, &mut out);
        for round in 1..rounds {
            let now = round * 20_000_000;
            let sent = std::mem::take(&mut out);
            for segment in sent {
                if !lost(segment) {
                    let ack = r.take(segment.number);
                    s.acknowledged(ack, now, &mut out);
                }
            }
            if s.deadline_ns.is_some_and(|d| d <= now) {
                s.timed_out(now, &mut out);
            }
        }
        s
    }

    #[test]
    fn it_starts_slowly_and_halves_after_a_loss() {
        let s = run(5, |_| false);
        assert_eq!(s.cwnd, 160.0);
        let s = run(5, |p| p.number == 20 && !p.retransmitted);
        assert!(s.ssthresh < 30.0 && s.timeouts == 0, "{s:?}");
        assert!(s.unacked > 40);
    }

    #[test]
    fn a_dead_path_times_out_and_goes_on_when_it_lives() {
        let mut n = 0;
        let s = run(400, |_| {
            n += 1;
            (15..40).contains(&n)
        });
        assert!(s.timeouts > 0 && s.unacked > 1000, "{s:?}");
    }
}
