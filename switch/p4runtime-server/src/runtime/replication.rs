// SPDX-License-Identifier: Apache-2.0
//! Multicast nodes and groups, and mirroring sessions.

use super::codes::McError;
use super::nodes::{Node, Nodes, port};
use super::types::{Mirror, Runtime};
use crate::errors::{Failure, Outcome};
use crate::target::{CloneSession, Replica};
use crate::write::Writer;
use std::collections::BTreeSet;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;
use tidemark_proto::p4::v1::replica::PortKind;
use tidemark_proto::p4::v1::update::Type;

/// Largest session number in BMv2.
const MAX_SESSION: u32 = 0x7fff;

type Result<T> = std::result::Result<T, McError>;

fn pre(entry: Pre) -> Entity {
    Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(entry),
    })
}

impl Writer<'_> {
    fn nodes(&mut self) -> Nodes {
        self.store.nodes.follow(&self.store.groups);
        self.store.nodes.clone()
    }

    /// Applies the groups that the nodes form; after an error the nodes stay as they were.
    async fn commit(&mut self, new: Nodes) -> Outcome<()> {
        for &group in new.groups.keys() {
            let replicas = new.replicas(group);
            let before = self.store.groups.get(&group);
            if before.is_some_and(|b| b.replicas == replicas) {
                continue;
            }
            let kind = match before {
                Some(_) => Type::Modify,
                None => Type::Insert,
            };
            let entry = p4::MulticastGroupEntry {
                multicast_group_id: group,
                replicas,
                ..Default::default()
            };
            self.apply_new(kind, pre(Pre::MulticastGroupEntry(entry)))
                .await?;
        }
        let gone: Vec<u32> = self.store.groups.keys().copied().collect();
        for group in gone.into_iter().filter(|g| !new.groups.contains_key(g)) {
            let entry = p4::MulticastGroupEntry {
                multicast_group_id: group,
                ..Default::default()
            };
            self.apply_new(Type::Delete, pre(Pre::MulticastGroupEntry(entry)))
                .await?;
        }
        self.store.nodes = new;
        self.follow_groups().await
    }

    /// Updates the replicas of sessions that mirror to a group.
    async fn follow_groups(&mut self) -> Outcome<()> {
        let mirrors: Vec<_> = self
            .store
            .nodes
            .mirrors
            .iter()
            .map(|(s, g)| (*s, *g))
            .collect();
        for (session, group) in mirrors {
            let own = self.own_port(session);
            let replicas = self.store.nodes.replicas(group);
            self.put_session(session, own, replicas).await?;
        }
        Ok(())
    }

    /// Returns the port of a session that also has a group.
    fn own_port(&self, session: u32) -> Option<u32> {
        let s = self.store.sessions.get(&session)?;
        let replicas = s.replicas.len();
        let group = self.store.nodes.mirrors.get(&session);
        let of_group = group.map_or(0, |g| self.store.nodes.replicas(*g).len());
        (replicas == of_group + 1).then(|| s.replicas.first().map(port))?
    }

    async fn put_session(
        &mut self,
        session_id: u32,
        own: Option<u32>,
        of_group: Vec<p4::Replica>,
    ) -> Outcome<()> {
        let own = own.map(|p| p4::Replica {
            port_kind: Some(PortKind::EgressPort(p)),
            ..Default::default()
        });
        let replicas: Vec<p4::Replica> = own.into_iter().chain(of_group).collect();
        let copies = replicas.iter().map(|r| Replica {
            port: port(r),
            instance: u16::try_from(r.instance).unwrap_or(0),
        });
        let session = CloneSession {
            replicas: copies.collect(),
            packet_length_bytes: None,
        };
        if let Some(t) = self.target {
            t.set_clone_session(session_id, Some(&session)).await?;
        }
        let entry = p4::CloneSessionEntry {
            session_id,
            replicas,
            ..Default::default()
        };
        self.store.sessions.insert(session_id, entry);
        Ok(())
    }

    pub(super) async fn reset_groups(&mut self) -> Outcome<()> {
        let mut new = self.nodes();
        (new.groups, new.nodes, new.lags) = Default::default();
        self.commit(new).await
    }
}

impl Runtime {
    async fn change<T>(&self, f: impl FnOnce(&mut Nodes) -> Result<T> + Send) -> Result<T> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(McError::Error)?;
        let mut new = w.nodes();
        let out = f(&mut new)?;
        w.commit(new).await?;
        Ok(out)
    }

    /// Creates a group, unless it exists.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn create_multicast_group(&self, group: u32) -> Result<()> {
        self.change(|n| match n.add_group(group) {
            true => Ok(()),
            false => Err(McError::TableFull),
        })
        .await
    }

    /// Removes a group; its nodes stay.
    ///
    /// # Errors
    /// The data plane has stopped.
    pub async fn destroy_multicast_group(&self, group: u32) -> Result<()> {
        self.change(|n| {
            for node in n.groups.remove(&group).unwrap_or_default() {
                if let Some(node) = n.nodes.get_mut(&node) {
                    node.group = None;
                }
            }
            Ok(())
        })
        .await
    }

    /// Creates a node and returns its handle.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn create_node(
        &self,
        rid: u16,
        ports: BTreeSet<u32>,
        lags: BTreeSet<u32>,
    ) -> Result<u32> {
        let node = Node {
            rid,
            ports,
            lags,
            group: None,
        };
        self.change(|n| n.add(node).ok_or(McError::TableFull)).await
    }

    /// Changes the ports of a node.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn update_node(
        &self,
        handle: u32,
        ports: BTreeSet<u32>,
        lags: BTreeSet<u32>,
    ) -> Result<()> {
        self.change(|n| {
            let node = n.nodes.get_mut(&handle).ok_or(McError::InvalidNode)?;
            (node.ports, node.lags) = (ports, lags);
            Ok(())
        })
        .await
    }

    /// Adds a node to a group.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn associate_node(&self, group: u32, handle: u32) -> Result<()> {
        self.change(|n| {
            let node = n.nodes.get_mut(&handle).ok_or(McError::InvalidNode)?;
            let list = n.groups.get_mut(&group).ok_or(McError::InvalidGroup)?;
            if node.group.is_some() {
                return Err(McError::Error);
            }
            node.group = Some(group);
            list.push(handle);
            Ok(())
        })
        .await
    }

    /// Removes a node from a group.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn dissociate_node(&self, group: u32, handle: u32) -> Result<()> {
        self.change(|n| {
            let node = n.nodes.get(&handle).ok_or(McError::InvalidNode)?;
            if !n.groups.contains_key(&group) {
                return Err(McError::InvalidGroup);
            }
            if node.group != Some(group) {
                return Err(McError::Error);
            }
            n.dissociate(handle);
            Ok(())
        })
        .await
    }

    /// Removes a node, also from its group.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn destroy_node(&self, handle: u32) -> Result<()> {
        self.change(|n| {
            if !n.nodes.contains_key(&handle) {
                return Err(McError::InvalidNode);
            }
            n.dissociate(handle);
            n.nodes.remove(&handle);
            Ok(())
        })
        .await
    }

    /// Sets the ports of a link-aggregation group.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn set_lag(&self, lag: u32, ports: BTreeSet<u32>) -> Result<()> {
        self.change(|n| {
            if lag > 256 {
                return Err(McError::Error);
            }
            n.lags.insert(lag, ports);
            Ok(())
        })
        .await
    }

    /// Returns groups, nodes and link aggregation in BMv2's JSON.
    pub async fn multicast_json(&self) -> String {
        let mut device = self.shared.device.write().await;
        let n = match device.writer() {
            Some(mut w) => w.nodes(),
            None => Nodes::default(),
        };
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        let numbers = |n: &mut dyn Iterator<Item = &u32>| list(n.map(u32::to_string).collect());
        let groups = n.groups.iter().map(|(id, nodes)| {
            let nodes = numbers(&mut nodes.iter());
            format!("{{\"id\": {id}, \"l1_handles\": {nodes}}}")
        });
        let l1 = n.nodes.iter().map(|(h, node)| {
            let rid = node.rid;
            format!("{{\"handle\": {h}, \"rid\": {rid}, \"l2_handle\": {h}}}")
        });
        let l2 = n.nodes.iter().map(|(h, node)| {
            let (ports, lags) = (
                numbers(&mut node.ports.iter()),
                numbers(&mut node.lags.iter()),
            );
            format!("{{\"handle\": {h}, \"ports\": {ports}, \"lags\": {lags}}}")
        });
        let lags = n.lags.iter().map(|(id, ports)| {
            let ports = numbers(&mut ports.iter());
            format!("{{\"id\": {id}, \"ports\": {ports}}}")
        });
        format!(
            "{{\"mgrps\": {}, \"l1_handles\": {}, \"l2_handles\": {}, \"lags\": {}}}",
            list(groups.collect()),
            list(l1.collect()),
            list(l2.collect()),
            list(lags.collect())
        )
    }

    /// Sets a mirroring session; an impossible number is ignored, as in BMv2.
    ///
    /// # Errors
    /// There is no program, or the data plane has stopped.
    pub async fn set_mirror(&self, session: u32, mirror: Mirror) -> Outcome<()> {
        let mut device = self.shared.device.write().await;
        let w = device.writer();
        let mut w = w.ok_or_else(|| Failure::precondition("no program is loaded"))?;
        if session > MAX_SESSION {
            tracing::debug!(session, "impossible mirroring session");
            return Ok(());
        }
        w.nodes();
        let replicas = mirror.group.map(|g| w.store.nodes.replicas(g));
        w.put_session(session, mirror.port, replicas.unwrap_or_default())
            .await?;
        match mirror.group {
            Some(g) => w.store.nodes.mirrors.insert(session, g),
            None => w.store.nodes.mirrors.remove(&session),
        };
        Ok(())
    }

    /// Returns the destinations of a session; `None` if there is no such session.
    pub async fn mirror(&self, session: u32) -> Option<Mirror> {
        let mut device = self.shared.device.write().await;
        let w = device.writer()?;
        w.store.sessions.get(&session)?;
        Some(Mirror {
            port: w.own_port(session),
            group: w.store.nodes.mirrors.get(&session).copied(),
        })
    }

    /// Removes a session; returns `false` if there is no such session.
    ///
    /// # Errors
    /// The data plane has stopped.
    pub async fn delete_mirror(&self, session: u32) -> Outcome<bool> {
        let mut device = self.shared.device.write().await;
        let Some(w) = device.writer() else {
            return Ok(false);
        };
        if w.store.sessions.remove(&session).is_none() {
            return Ok(false);
        }
        w.store.nodes.mirrors.remove(&session);
        if let Some(t) = w.target {
            t.set_clone_session(session, None).await?;
        }
        Ok(true)
    }
}
