// SPDX-License-Identifier: Apache-2.0
//! The queue of one subscriber: numbered updates, bounded in number and bytes.

use futures::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tidemark_proto::telemetry::Update;
use tokio::sync::mpsc;

/// Maximum number of updates that wait.
const MAX_UPDATES: usize = 1024;
/// Maximum size on the wire of the updates that wait, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// A waiting update, shared with the other subscribers.
struct Waiting {
    update: Arc<Update>,
    bytes: usize,
    sequence: u64,
    updates_lost: u64,
}

/// Sending end of a queue of updates.
pub(super) struct Sender {
    sender: mpsc::Sender<Waiting>,
    waiting_bytes: Arc<AtomicUsize>,
    /// Updates so far, including lost ones.
    pub sequence: u64,
    /// Updates dropped because the queue was full.
    pub lost: u64,
}

/// Receiving end, which gives each update its sequence number in this queue.
pub struct Receiver {
    first: Box<dyn Iterator<Item = Update> + Send>,
    sequence: u64,
    receiver: mpsc::Receiver<Waiting>,
    waiting_bytes: Arc<AtomicUsize>,
}

/// Creates a queue that starts with the updates `first`, whatever their size.
pub(super) fn channel(
    first: impl ExactSizeIterator<Item = Update> + Send + 'static,
) -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel(MAX_UPDATES);
    let waiting_bytes = Arc::new(AtomicUsize::new(0));
    let sender = Sender {
        sender,
        waiting_bytes: Arc::clone(&waiting_bytes),
        sequence: first.len() as u64,
        lost: 0,
    };
    let receiver = Receiver {
        first: Box::new(first),
        sequence: 0,
        receiver,
        waiting_bytes,
    };
    (sender, receiver)
}

impl Sender {
    /// Puts an update of `bytes` into the queue, or counts it as lost; returns false if the
    /// subscriber is gone.
    pub(super) fn send(&mut self, update: &Arc<Update>, bytes: usize) -> bool {
        let waiting = self.waiting_bytes.load(Ordering::Relaxed);
        let sequence = self.sequence;
        self.sequence += 1;
        // An update larger than the limit can still pass through an empty queue.
        if waiting > 0 && waiting.saturating_add(bytes) > MAX_BYTES {
            self.lost += 1;
            return !self.is_closed();
        }
        let item = Waiting {
            update: Arc::clone(update),
            bytes,
            sequence,
            updates_lost: self.lost,
        };
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        match self.sender.try_send(item) {
            Ok(()) => true,
            Err(error) => {
                self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
                self.lost += 1;
                matches!(error, mpsc::error::TrySendError::Full(_))
            }
        }
    }

    /// Whether the receiver is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

impl Stream for Receiver {
    type Item = Update;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Update>> {
        if let Some(update) = self.first.next() {
            let sequence = self.sequence;
            self.sequence += 1;
            return Poll::Ready(Some(Update { sequence, ..update }));
        }
        let waiting = std::task::ready!(self.receiver.poll_recv(context));
        Poll::Ready(waiting.map(|w| {
            self.waiting_bytes.fetch_sub(w.bytes, Ordering::Relaxed);
            Update {
                sequence: w.sequence,
                updates_lost: w.updates_lost,
                // The last subscriber to read the update takes it without a copy.
                ..Arc::unwrap_or_clone(w.update)
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;

    fn update() -> Arc<Update> {
        Arc::new(Update::default())
    }

    #[tokio::test]
    async fn a_slow_subscriber_sees_a_gap() {
        let (mut sender, mut receiver) = channel([Update::default()].into_iter());
        for _ in 0..MAX_UPDATES + 5 {
            assert!(sender.send(&update(), 1));
        }
        assert_eq!(sender.lost, 5);
        for expected in 0..=MAX_UPDATES as u64 {
            assert_eq!(receiver.next().await.unwrap().sequence, expected);
        }
        assert!(sender.send(&update(), 1));
        let next = receiver.next().await.unwrap();
        assert_eq!(
            (next.sequence, next.updates_lost),
            (MAX_UPDATES as u64 + 6, 5)
        );
        drop(receiver);
        assert!(!sender.send(&update(), 1));
    }

    #[tokio::test]
    async fn bytes_are_bounded_and_given_back() {
        let (mut sender, mut receiver) = channel(std::iter::empty());
        assert!(sender.send(&update(), 2 * MAX_BYTES), "alone it may pass");
        assert!(sender.send(&update(), 1));
        assert_eq!(sender.lost, 1);
        receiver.next().await.unwrap();
        for _ in 0..10 {
            sender.send(&update(), MAX_BYTES / 4);
        }
        assert_eq!(sender.lost, 1 + 6);
    }
}
