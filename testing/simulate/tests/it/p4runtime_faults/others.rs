// SPDX-License-Identifier: Apache-2.0
//! Other controllers, and the election ids that the server has seen.

use super::books::Books;
use super::controllers::{PORT, driver, limit};
use super::network::Network;
use super::plan::Fault;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidemark_southbound::{Health, Southbound};

/// Who has taken over.
pub(crate) struct Others {
    /// The start of the switch at which somebody else is the primary now, and its id.
    pub(crate) primary_at: Option<(u64, u64)>,
    /// The highest election id that anybody had. As P4Runtime asks for, the server
    /// remembers it: when its primary goes, nobody with a lower one takes its place.
    pub(crate) highest: u64,
}

/// One who takes over, writes a limit, and goes.
pub(crate) async fn usurp(
    network: Network,
    fault: Fault,
    bytes: u64,
    books: Arc<Mutex<Books>>,
    others: Arc<Mutex<Others>>,
) {
    tokio::time::sleep(Duration::from_millis(fault.at_ms)).await;
    let election_id = {
        let mut others = others.lock().unwrap();
        others.highest = others.highest.saturating_add(1);
        others.highest
    };
    let other = driver(&network, election_id);
    if !other.health().await.ready() {
        return;
    }
    others.lock().unwrap().primary_at = Some((network.starts(), election_id));
    books.lock().unwrap().asked(bytes);
    if other.set_limit(PORT, limit(bytes)).await.is_ok() {
        books.lock().unwrap().written(bytes);
    }
    tokio::time::sleep(Duration::from_millis(fault.for_ms)).await;
    others.lock().unwrap().primary_at = None;
}

/// The highest election id that the server has seen, as its operator reads it
/// where ours is not the primary.
pub(crate) fn highest_told(health: &Health) -> Option<u64> {
    let (_, told) = health
        .problem
        .as_deref()?
        .split_once("highest election id ")?;
    told.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}
