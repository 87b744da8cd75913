// SPDX-License-Identifier: Apache-2.0
//! A subscription to the collector's updates that checks their sequence numbers: missing updates
//! must be announced.

use futures::Stream as _;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tidemark_collector::hub::Receiver;
use tidemark_proto::telemetry::Update;

/// Largest number of updates waiting for a slow reader, including those at its start.
const MAX_WAITING: usize = 1_100;

/// A subscription.
pub(crate) struct Subscriber {
    receiver: Receiver,
    next: u64,
    lost: u64,
    /// An impossible sequence number, reported once.
    pub(crate) wrong: Option<String>,
}

impl Subscriber {
    pub(crate) fn new(receiver: Receiver) -> Self {
        Self {
            receiver,
            next: 0,
            lost: 0,
            wrong: None,
        }
    }

    /// Returns the next update; ready with `None` when the stream has ended.
    pub(crate) fn poll(&mut self) -> Poll<Option<Update>> {
        let mut context = Context::from_waker(Waker::noop());
        let polled = Pin::new(&mut self.receiver).poll_next(&mut context);
        if let Poll::Ready(Some(u)) = &polled {
            let missing = u.updates_lost.wrapping_sub(self.lost);
            if u.sequence != self.next.wrapping_add(missing) {
                self.wrong = Some(format!(
                    "update {} comes where {} is expected and {missing} are said to be lost",
                    u.sequence, self.next
                ));
            }
            self.next = u.sequence + 1;
            self.lost = u.updates_lost;
        }
        polled
    }

    /// Reads all waiting updates, like a subscriber that has not read for long.
    pub(crate) fn catch_up(&mut self) {
        let mut read = 0;
        while let Poll::Ready(Some(_)) = self.poll() {
            read += 1;
        }
        if read > MAX_WAITING {
            self.wrong = Some(format!("{read} updates waited"));
        }
    }
}
