// SPDX-License-Identifier: Apache-2.0
//! Multicast groups in BMv2's form: made of nodes, each with ports and link-aggregation
//! groups.

use std::collections::{BTreeMap, BTreeSet};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::replica::PortKind;

/// Most nodes, and most groups, as in BMv2.
const MOST: usize = 4096;
/// Hash by which a packet selects a port of a link-aggregation group, as in BMv2.
const LAG_HASH: usize = 0xff;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub rid: u16,
    pub ports: BTreeSet<u32>,
    pub lags: BTreeSet<u32>,
    pub group: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    /// Nodes of each group, in the order of their association.
    pub(super) groups: BTreeMap<u32, Vec<u32>>,
    pub(super) nodes: BTreeMap<u32, Node>,
    pub(super) lags: BTreeMap<u32, BTreeSet<u32>>,
    /// Multicast group of each clone session that has one.
    pub(super) mirrors: BTreeMap<u32, u32>,
}

impl Nodes {
    /// Adds a node and returns its handle; `None` if there are too many.
    pub(super) fn add(&mut self, node: Node) -> Option<u32> {
        if self.nodes.len() >= MOST {
            return None;
        }
        let mut handle = 0;
        for used in self.nodes.keys() {
            if *used > handle {
                break;
            }
            handle = used.saturating_add(1);
        }
        self.nodes.insert(handle, node);
        Some(handle)
    }

    /// Adds a group; returns `false` if there are too many.
    pub(super) fn add_group(&mut self, group: u32) -> bool {
        let room = self.groups.len() < MOST || self.groups.contains_key(&group);
        if room {
            self.groups.entry(group).or_default();
        }
        room
    }

    /// Removes a node from its group.
    pub(super) fn dissociate(&mut self, handle: u32) {
        if let Some(group) = self.nodes.get_mut(&handle).and_then(|n| n.group.take())
            && let Some(list) = self.groups.get_mut(&group)
        {
            list.retain(|n| *n != handle);
        }
    }

    /// Returns the copies made of a packet that is sent to a group.
    pub(super) fn replicas(&self, group: u32) -> Vec<p4::Replica> {
        let nodes = self.groups.get(&group).map(Vec::as_slice);
        let nodes = nodes.unwrap_or_default().iter();
        let mut out = Vec::new();
        for node in nodes.filter_map(|n| self.nodes.get(n)) {
            let of_lags = node.lags.iter().filter_map(|l| {
                let ports = self.lags.get(l).filter(|p| !p.is_empty())?;
                ports.iter().nth(LAG_HASH % ports.len())
            });
            out.extend(node.ports.iter().chain(of_lags).map(|p| p4::Replica {
                port_kind: Some(PortKind::EgressPort(*p)),
                instance: u32::from(node.rid),
                ..Default::default()
            }));
        }
        out
    }

    /// Adopts the groups as P4Runtime clients wrote them: one node per instance.
    pub(super) fn follow(&mut self, groups: &BTreeMap<u32, p4::MulticastGroupEntry>) {
        let gone: Vec<u32> = self.groups.keys().copied().collect();
        for group in gone.into_iter().filter(|g| !groups.contains_key(g)) {
            self.forget(group);
        }
        for (&group, entry) in groups {
            let theirs = by_instance(&entry.replicas);
            if self.groups.contains_key(&group) && by_instance(&self.replicas(group)) == theirs {
                continue;
            }
            self.forget(group);
            if !self.add_group(group) {
                return;
            }
            for (rid, ports) in theirs {
                let node = Node {
                    rid,
                    ports,
                    lags: BTreeSet::new(),
                    group: Some(group),
                };
                if let Some(handle) = self.add(node) {
                    self.groups.entry(group).or_default().push(handle);
                }
            }
        }
    }

    fn forget(&mut self, group: u32) {
        for handle in self.groups.remove(&group).unwrap_or_default() {
            self.nodes.remove(&handle);
        }
    }
}

fn by_instance(replicas: &[p4::Replica]) -> BTreeMap<u16, BTreeSet<u32>> {
    let mut out: BTreeMap<u16, BTreeSet<u32>> = BTreeMap::new();
    for r in replicas {
        let rid = u16::try_from(r.instance).unwrap_or(0);
        out.entry(rid).or_default().insert(port(r));
    }
    out
}

/// Returns the port of a replica, from either of its two forms.
pub(super) fn port(r: &p4::Replica) -> u32 {
    match &r.port_kind {
        Some(PortKind::EgressPort(p)) => *p,
        Some(PortKind::Port(bytes)) => crate::bytestring::to_u32(bytes).unwrap_or(0),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(rid: u16, ports: &[u32]) -> Node {
        Node {
            rid,
            ports: ports.iter().copied().collect(),
            ..Node::default()
        }
    }

    fn ports(n: &Nodes, group: u32) -> Vec<(u32, u32)> {
        let list = n.replicas(group);
        list.iter().map(|r| (port(r), r.instance)).collect()
    }

    #[test]
    fn replicas_of_nodes_and_of_link_aggregation() {
        let mut n = Nodes::default();
        assert!(n.add_group(1));
        let a = n.add(node(5, &[2, 1])).unwrap();
        let b = n.add(node(0, &[])).unwrap();
        n.nodes.get_mut(&b).unwrap().lags.insert(3);
        n.groups.insert(1, vec![a, b]);
        assert_eq!(ports(&n, 1), [(1, 5), (2, 5)]);
        n.lags.insert(3, [7, 8].into());
        // 255 modulo 2.
        assert_eq!(ports(&n, 1), [(1, 5), (2, 5), (8, 0)]);
        n.nodes.remove(&a);
        assert_eq!(n.add(node(9, &[])), Some(a));
    }

    #[test]
    fn groups_of_others_get_nodes() {
        let mut n = Nodes::default();
        let replica = |port, instance| p4::Replica {
            port_kind: Some(PortKind::EgressPort(port)),
            instance,
            ..Default::default()
        };
        let mut groups = BTreeMap::new();
        let entry = p4::MulticastGroupEntry {
            multicast_group_id: 4,
            replicas: vec![replica(1, 0), replica(2, 1), replica(3, 0)],
            ..Default::default()
        };
        groups.insert(4, entry);
        n.follow(&groups);
        assert_eq!(ports(&n, 4), [(1, 0), (3, 0), (2, 1)]);
        let before = n.nodes.clone();
        n.follow(&groups);
        assert_eq!(n.nodes, before);
        n.follow(&BTreeMap::new());
        assert!(n.nodes.is_empty() && n.groups.is_empty());
    }
}
