// SPDX-License-Identifier: Apache-2.0
//! Other controllers, and the election ids that the server has seen.

use super::books::Books;
use super::controllers::{PORT, driver, limit};
use super::network::Network;
use super::plan::Fault;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidemark_southbound::{Health, Southbound};

/// State of other controllers.
pub(crate) struct Others {
    /// Start of the switch at which another controller is the primary now, and its id.
    pub(crate) primary_at: Option<(u64, u64)>,
    /// Highest election id of any controller. The server remembers it, as P4Runtime requires: when
    /// its primary leaves, no controller with a lower one replaces it.
    pub(crate) highest: u64,
}

/// Lets a controller take over, write a limit, and leave.
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

/// Returns the highest election id that the server has seen, as its operator reads it if ours is
/// not the primary.
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
