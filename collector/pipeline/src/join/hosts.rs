// SPDX-License-Identifier: Apache-2.0
//! The hosts that send samples, by the index that rows refer to.
//!
//! Their number is bounded, their names are not: hosts come and go, and anyone who reaches
//! the collector can make names up. A new host gets the place of one whose samples no report
//! has ever matched, or else of one that has not been matched for long.

/// Maximum number of hosts.
pub(crate) const MAX_HOSTS: usize = 1024;
/// How long a host keeps its place after its last match, ns.
const KEPT_NS: u64 = 60_000_000_000;

/// Names of hosts, bounded in number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    /// Names by host index.
    pub names: Vec<String>,
    uses: Vec<Use>,
    /// Whether the first host's clock also stamps the reception of reports.
    has_local: bool,
}

/// When a host was used last, ns of the collector's clock; the host with the earliest is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    /// Last sample of a flow in the reports; 0 if there was none.
    matched_rx_ns: u64,
    heard_rx_ns: u64,
}

/// A place for a new host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub host: u16,
    /// Whether it was another host's, of which nothing may be left.
    pub is_reused: bool,
}

impl Hosts {
    /// Starts with `local`, if any: the host whose clock also stamps the reception of reports.
    pub(crate) fn new(local: Option<&str>) -> Self {
        Self {
            names: local.into_iter().map(str::to_owned).collect(),
            uses: local.into_iter().map(|_| Use::default()).collect(),
            has_local: local.is_some(),
        }
    }

    /// Index of the host whose clock also stamps reports.
    pub(crate) fn local(&self) -> Option<u16> {
        self.has_local.then_some(0)
    }

    /// Returns the index of a known host, and notes that it was heard at `now_rx_ns`.
    pub(crate) fn find(&mut self, name: &str, now_rx_ns: u64) -> Option<u16> {
        let host = self.names.iter().position(|h| h == name)?;
        if let Some(of) = self.uses.get_mut(host) {
            of.heard_rx_ns = now_rx_ns;
        }
        Some(host as u16)
    }

    /// Notes that a sample of the host was of a flow in the reports.
    #[inline]
    pub(crate) fn matched(&mut self, host: u16, now_rx_ns: u64) {
        if let Some(of) = self.uses.get_mut(usize::from(host)) {
            of.matched_rx_ns = now_rx_ns.max(1);
        }
    }

    /// Gives a new host a place; `None` if all places are of recently matched hosts.
    pub(crate) fn add(&mut self, name: &str, now_rx_ns: u64) -> Option<Place> {
        let of_new = Use {
            matched_rx_ns: 0,
            heard_rx_ns: now_rx_ns,
        };
        if self.names.len() < MAX_HOSTS {
            self.names.push(name.to_owned());
            self.uses.push(of_new);
            return Some(Place {
                host: (self.names.len() - 1) as u16,
                is_reused: false,
            });
        }
        let places = self.names.iter_mut().zip(&mut self.uses).enumerate();
        let free = places.skip(usize::from(self.has_local));
        let (host, (its_name, its_use)) = free.min_by_key(|(_, (_, of))| **of)?;
        let matched_rx_ns = its_use.matched_rx_ns;
        if matched_rx_ns > 0 && now_rx_ns.saturating_sub(matched_rx_ns) < KEPT_NS {
            return None;
        }
        name.clone_into(its_name);
        *its_use = of_new;
        Some(Place {
            host: host as u16,
            is_reused: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn made_up_names_take_no_place_of_a_host_that_is_matched() {
        let mut hosts = Hosts::new(Some("local"));
        let honest = hosts.add("honest", SECOND).unwrap().host;
        hosts.matched(honest, SECOND);
        for n in 0..5 * MAX_HOSTS as u64 {
            assert!(hosts.add(&format!("h{n}"), 2 * SECOND + n).is_some());
            assert_eq!(hosts.names.len() as u64, (n + 3).min(MAX_HOSTS as u64));
        }
        assert_eq!(hosts.find("honest", 3 * SECOND), Some(honest));
        assert_eq!(hosts.find("local", 3 * SECOND), Some(0));
        // A new host still gets a place, and loses it only to names after it.
        let new = hosts.add("new", 3 * SECOND).unwrap();
        assert!(new.is_reused);
        for n in 0..MAX_HOSTS as u64 - 3 {
            hosts.add(&format!("g{n}"), 4 * SECOND + n).unwrap();
        }
        assert_eq!(hosts.find("new", 5 * SECOND), Some(new.host));
    }

    #[test]
    fn hosts_that_are_all_matched_keep_their_places_for_a_while() {
        let mut hosts = Hosts::new(None);
        for n in 0..MAX_HOSTS {
            let place = hosts.add(&n.to_string(), SECOND).unwrap();
            hosts.matched(place.host, 2 * SECOND + n as u64);
        }
        assert_eq!(hosts.add("new", 60 * SECOND), None);
        let place = hosts.add("new", 62 * SECOND).unwrap();
        assert_eq!(
            place,
            Place {
                host: 0,
                is_reused: true
            }
        );
        assert_eq!(hosts.find("0", 62 * SECOND), None);
    }
}
