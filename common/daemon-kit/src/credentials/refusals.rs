// SPDX-License-Identifier: Apache-2.0
//! Counts, slows down and logs refused calls.

use crate::credentials::token::Refusal;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Delay of the answer to a wrong token.
const AFTER_WRONG_TOKEN: Duration = Duration::from_millis(500);
/// Most answers delayed at the same time. Further answers wait their turn, so that guessing on
/// many connections is no faster.
const MAX_HELD: usize = 256;
/// Period in which at most one refusal is logged, and one summary.
const QUIET: Duration = Duration::from_secs(10);

/// Counts refused calls, slows down guessing, and logs refusals at a limited rate.
#[derive(Debug)]
pub struct Refusals {
    server: &'static str,
    missing: AtomicU64,
    wrong: AtomicU64,
    pause: Duration,
    held: Semaphore,
    quiet: AtomicBool,
}

impl Refusals {
    /// Creates the counters of one server; `server` is its name in the log.
    pub fn new(server: &'static str) -> Arc<Self> {
        Arc::new(Self::pausing(server, AFTER_WRONG_TOKEN))
    }

    fn pausing(server: &'static str, pause: Duration) -> Self {
        Self {
            server,
            pause,
            missing: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
            held: Semaphore::new(MAX_HELD),
            quiet: AtomicBool::new(false),
        }
    }

    /// Returns the number of calls without a token, and with a wrong token.
    pub fn counts(&self) -> [u64; 2] {
        [&self.missing, &self.wrong].map(|n| n.load(Ordering::Relaxed))
    }

    /// Counts a refusal, and waits if the token was wrong. Needs a tokio runtime.
    pub async fn refused(self: &Arc<Self>, why: Refusal, from: Option<SocketAddr>) {
        let (counter, what) = match why {
            Refusal::Missing | Refusal::NotBearer => (&self.missing, "without a token"),
            Refusal::Wrong => (&self.wrong, "with a wrong token"),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.tell(what, from);
        if why == Refusal::Wrong {
            // The permit is released even if the caller goes away. The number of callers is
            // limited where connections are accepted.
            let _held = self.held.acquire().await;
            tokio::time::sleep(self.pause).await;
        }
    }

    fn tell(self: &Arc<Self>, what: &str, from: Option<SocketAddr>) {
        if self.quiet.swap(true, Ordering::Relaxed) {
            return;
        }
        let from = from.map_or_else(String::new, |a| format!(" from {a}"));
        tracing::warn!("{}: refused a call {what}{from}", self.server);
        let told: u64 = self.counts().iter().sum();
        let refusals = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(QUIET).await;
            let more = refusals.counts().iter().sum::<u64>() - told;
            refusals.quiet.store(false, Ordering::Relaxed);
            if more > 0 {
                tracing::warn!(
                    "{}: refused {more} more calls within {} s",
                    refusals.server,
                    QUIET.as_secs()
                );
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wrong_token_waits() {
        let r = Refusals::new("test");
        let started = std::time::Instant::now();
        r.refused(Refusal::Missing, None).await;
        r.refused(Refusal::Wrong, None).await;
        assert!(started.elapsed() >= AFTER_WRONG_TOKEN);
        assert_eq!(r.counts(), [1, 1]);
    }

    #[tokio::test]
    async fn whoever_guesses_at_many_connections_waits_for_each() {
        let for_ever = Duration::from_secs(1 << 30);
        let r = Arc::new(Refusals::pausing("test", for_ever));
        r.refused(Refusal::Missing, None).await;
        let guesses = MAX_HELD as u64 + 50;
        let waiting: Vec<_> = (0..guesses)
            .map(|_| {
                let r = Arc::clone(&r);
                tokio::spawn(async move { r.refused(Refusal::Wrong, None).await })
            })
            .collect();
        while r.counts()[1] < guesses || r.held.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(waiting.iter().all(|w| !w.is_finished()), "none is answered");
        for w in waiting {
            w.abort();
            assert!(w.await.unwrap_err().is_cancelled());
        }
        assert_eq!(r.held.available_permits(), MAX_HELD);
    }
}
