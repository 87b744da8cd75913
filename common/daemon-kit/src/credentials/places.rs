// SPDX-License-Identifier: Apache-2.0
//! Limits the number of a server's connections, in total and per address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Mask of the network part (64 bits) of an IPv6 address.
const NETWORK: u128 = !0 << 64;

/// A pool of places for connections or similarly long uses. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Places {
    free: Arc<Semaphore>,
    of: Arc<Mutex<HashMap<IpAddr, usize>>>,
    most_of_one: usize,
}

/// A place reserved for the next connection; dropping it frees the place.
#[derive(Debug)]
pub struct FreePlace {
    permit: OwnedSemaphorePermit,
    places: Places,
}

/// A place taken by an address; dropping it frees the place.
#[derive(Debug)]
pub struct Place {
    _permit: OwnedSemaphorePermit,
    places: Places,
    of: IpAddr,
}

impl Places {
    /// Creates a pool of `places`, of which one address (in IPv6, one /64 network) may take
    /// `most_of_one`.
    pub fn new(places: usize, most_of_one: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(places)),
            of: Arc::default(),
            most_of_one,
        }
    }

    /// Waits for a free place.
    pub async fn free(&self) -> FreePlace {
        loop {
            // The semaphore is never closed.
            if let Ok(permit) = Arc::clone(&self.free).acquire_owned().await {
                let places = self.clone();
                return FreePlace { permit, places };
            }
        }
    }

    /// Takes a place for an address; `None` if no place is free or the address has its maximum.
    pub fn take(&self, of: IpAddr) -> Option<Place> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        let places = self.clone();
        FreePlace { permit, places }.take(of)
    }

    fn of(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FreePlace {
    /// Takes the place for an address; `None` if the address has its maximum.
    pub fn take(self, of: IpAddr) -> Option<Place> {
        let of = party(of);
        {
            let mut all = self.places.of();
            let taken = all.entry(of).or_default();
            if *taken >= self.places.most_of_one {
                return None;
            }
            *taken += 1;
        }
        Some(Place {
            _permit: self.permit,
            places: self.places,
            of,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.places.of();
        if let Some(taken) = all.get_mut(&self.of) {
            *taken -= 1;
            if *taken == 0 {
                all.remove(&self.of);
            }
        }
    }
}

/// Returns the key under which an address counts: a host has many IPv6 addresses.
pub(super) fn party(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(a) => IpAddr::V6(Ipv6Addr::from_bits(a.to_bits() & NETWORK)),
        a @ IpAddr::V4(_) => a,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_leaves_places_for_the_others() {
        let places = Places::new(4, 2);
        let one = address("192.0.2.1");
        let first = places.take(one).unwrap();
        let _second = places.take(address("::ffff:192.0.2.1")).unwrap();
        assert!(places.take(one).is_none());
        let _third = places.take(address("2001:db8::1")).unwrap();
        let fourth = places.take(address("2001:db8::2:3")).unwrap();
        assert!(places.take(address("192.0.2.2")).is_none(), "all are taken");
        drop(first);
        assert!(places.take(address("2001:db8::4")).is_none());
        let _first = places.take(one).unwrap();
        drop(fourth);
        assert!(places.take(one).is_none());
        assert!(places.take(address("2001:db8::4")).is_some());
        drop((_first, _second, _third));
        assert!(places.of().is_empty());
    }
}
