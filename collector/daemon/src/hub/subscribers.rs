// SPDX-License-Identifier: Apache-2.0
//! Limits on subscribers: per connection, per address and in total, with some places reserved for
//! controllers, so that viewers cannot keep controllers out.

use super::queue::Sender;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Maximum number of subscribers.
const PLACES: usize = 64;
/// Number of places reserved for controllers.
const OF_CONTROLLERS: usize = 16;
/// Maximum number of subscribers per connection.
const OF_CONNECTION: usize = 4;
/// Maximum number of subscribers per address: controllers, and others.
const OF_ADDRESS: [usize; 2] = [8, 24];

/// A subscriber and the sending end of its queue.
pub(super) struct Subscriber {
    pub name: String,
    pub peer: Option<SocketAddr>,
    pub sender: Sender,
}

/// Why a subscriber is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TooManySubscribers {
    /// Too many over one connection.
    #[error("this connection has {OF_CONNECTION} subscriptions already; end one")]
    OfConnection,
    /// Too many from one address.
    #[error("{0} has {1} subscriptions already (`tidemark-collector status` names them); end one")]
    OfAddress(IpAddr, usize),
    /// Too many in total.
    #[error(
        "all places of subscribers are taken ({PLACES}, {OF_CONTROLLERS} of them for controllers); end one, or ask another collector"
    )]
    All,
}

/// Checks whether there is a place for one more subscriber.
pub(super) fn place(
    all: &[Subscriber],
    name: &str,
    peer: Option<SocketAddr>,
) -> Result<(), TooManySubscribers> {
    let is_controller = |name: &str| name == tidemark_proto::CONTROLLER;
    let own = is_controller(name);
    let count = |of: &dyn Fn(&&Subscriber) -> bool| all.iter().filter(of).count();
    if let Some(peer) = peer {
        if count(&|s| s.peer == Some(peer)) >= OF_CONNECTION {
            return Err(TooManySubscribers::OfConnection);
        }
        let [controllers, others] = OF_ADDRESS;
        let most = if own { controllers } else { others };
        let same = |s: &&Subscriber| {
            s.peer.is_some_and(|p| p.ip() == peer.ip()) && is_controller(&s.name) == own
        };
        if count(&same) >= most {
            return Err(TooManySubscribers::OfAddress(peer.ip(), most));
        }
    }
    let others = count(&|s| !is_controller(&s.name));
    let is_full = all.len() >= PLACES || !own && others >= PLACES - OF_CONTROLLERS;
    match is_full {
        true => Err(TooManySubscribers::All),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::Hub;
    use tidemark_proto::CONTROLLER;

    fn peer(host: u8, port: u16) -> Option<SocketAddr> {
        Some(SocketAddr::from(([192, 0, 2, host], port)))
    }

    #[test]
    fn who_looks_keeps_no_controller_out() {
        let hub = Hub::new(100);
        let mut all = Vec::new();
        let mut refused = Vec::new();
        for n in 0..1000u16 {
            // One connection, one address, and then many of both.
            let from = match n {
                0..100 => peer(1, 1),
                100..200 => peer(1, n),
                _ => peer((n / 8) as u8, n),
            };
            match hub.subscribe("looks", from) {
                Ok(receiver) => all.push(receiver),
                Err(e) => refused.push(e),
            }
        }
        assert_eq!(all.len(), PLACES - OF_CONTROLLERS);
        for why in [
            TooManySubscribers::OfConnection,
            TooManySubscribers::OfAddress([192, 0, 2, 1].into(), 24),
            TooManySubscribers::All,
        ] {
            assert!(refused.contains(&why), "{why}");
        }
        // Also from the address that has taken all it could.
        let controllers: Vec<_> = (0..20)
            .map_while(|n| {
                hub.subscribe(CONTROLLER, peer(1 + n / 8, 5000 + u16::from(n)))
                    .ok()
            })
            .collect();
        assert_eq!(controllers.len(), OF_CONTROLLERS);
        drop(all);
        assert!(
            hub.subscribe("looks", peer(1, 1)).is_ok(),
            "places are free again"
        );
    }
}
