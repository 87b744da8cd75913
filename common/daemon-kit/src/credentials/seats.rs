// SPDX-License-Identifier: Apache-2.0
//! Chooses the connection to end when an address with its maximum of connections opens
//! another: the connection that has been silent for longest. So idle connections do not
//! keep out a client that wants to call.

use crate::credentials::places::party;
use futures::task::AtomicWaker;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Time for which a connection keeps its place after its peer last sent something.
const KEPT: Duration = Duration::from_secs(1);

/// Handle of a connection that can end it from outside.
#[derive(Debug)]
pub(super) struct Seat {
    begun: Instant,
    /// Time from `begun` until the peer last sent something, in ms.
    heard_ms: AtomicU64,
    is_ended: AtomicBool,
    waker: AtomicWaker,
}

impl Seat {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            begun: Instant::now(),
            heard_ms: AtomicU64::new(0),
            is_ended: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        })
    }

    /// Records that the peer sent something.
    pub(super) fn heard(&self) {
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard_ms.store(ms, Ordering::Relaxed);
    }

    /// Returns ready when the connection has to end.
    pub(super) fn poll_ended(&self, context: &Context<'_>) -> Poll<()> {
        self.waker.register(context.waker());
        match self.is_ended.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    fn silent(&self) -> Duration {
        let heard = Duration::from_millis(self.heard_ms.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(heard)
    }

    fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// The connections of a server.
#[derive(Debug, Default)]
pub(super) struct Seats(Vec<(IpAddr, Weak<Seat>)>);

impl Seats {
    /// Makes a seat for a connection of an address.
    pub(super) fn take(&mut self, of: IpAddr) -> Arc<Seat> {
        self.0.retain(|(_, seat)| seat.strong_count() > 0);
        let seat = Seat::new();
        self.0.push((party(of), Arc::downgrade(&seat)));
        seat
    }

    /// Ends the longest silent connection of an address; returns false if none has been silent
    /// for [`KEPT`].
    pub(super) fn end_one(&self, of: IpAddr) -> bool {
        let of = party(of);
        let its = self.0.iter().filter(|(who, _)| *who == of);
        let its = its.filter_map(|(_, seat)| seat.upgrade());
        let its = its.filter(|seat| !seat.is_ended.load(Ordering::Relaxed));
        let longest = its.max_by_key(|seat| seat.silent());
        let longest = longest.filter(|seat| seat.silent() >= KEPT);
        longest.inspect(|seat| seat.end()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_silent_connection_of_the_address_ends() {
        let (one, other) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let mut seats = Seats::default();
        let all: Vec<_> = (0..3).map(|_| seats.take(one)).collect();
        let stranger = seats.take(other);
        assert!(!seats.end_one(one), "none has been silent for long");
        std::thread::sleep(KEPT);
        all[0].heard();
        all[2].heard();
        assert!(seats.end_one(one));
        let ended = |seat: &Seat| seat.is_ended.load(Ordering::Relaxed);
        assert_eq!(
            all.iter().map(|s| ended(s)).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert!(!seats.end_one(one), "those that speak stay");
        assert!(!ended(&stranger));
    }
}
