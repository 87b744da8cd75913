// SPDX-License-Identifier: Apache-2.0
//! Decides who may write. Per role this is the client with the highest election id ever seen or,
//! as in BMv2, the highest among connected clients.
//! Pure bookkeeping: messages are returned, not sent.

use crate::errors::{Failure, Outcome, refuse};
use std::collections::{BTreeMap, HashMap};
use tidemark_proto::google::rpc;
use tidemark_proto::p4::v1 as p4;
use tonic::Code;

/// Most clients at a time, and most roles: roles are remembered for their highest election id.
const MAX_STREAMS: usize = 64;

/// Identifies a client's open stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StreamId(pub u64);

/// A message for a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Notice {
    pub to: StreamId,
    pub update: p4::MasterArbitrationUpdate,
}

struct Client {
    role: String,
    election_id: Option<u128>,
}

#[derive(Default)]
struct Role {
    highest: Option<u128>,
    primary: Option<StreamId>,
}

/// Arbitration of one device.
pub(crate) struct Arbitration {
    device_id: u64,
    clients: BTreeMap<StreamId, Client>,
    roles: HashMap<String, Role>,
    /// As in BMv2, the connected client with the highest election id becomes primary, even if a
    /// higher id was seen before.
    pub promotes: bool,
}

impl Arbitration {
    pub(crate) fn new(device_id: u64) -> Self {
        Self {
            device_id,
            clients: BTreeMap::new(),
            roles: HashMap::new(),
            promotes: false,
        }
    }

    /// Handles a client's arbitration message. An error ends the client's stream; the
    /// caller then calls [`leave`](Self::leave).
    pub(crate) fn update(
        &mut self,
        from: StreamId,
        request: &p4::MasterArbitrationUpdate,
    ) -> Outcome<Vec<Notice>> {
        let role = role_name(request)?;
        let election_id = request.election_id.as_ref().map(to_u128);
        match self.clients.get(&from) {
            None => {
                self.check_device(request.device_id)?;
                self.check_clients()?;
                self.bound_roles(&role)?;
            }
            Some(c) if request.device_id != self.device_id || c.role != role => {
                refuse!(precondition:
                    "a stream keeps the device and the role it began with; open another"
                )
            }
            Some(_) => {}
        }
        if let Some(id) = election_id
            && self
                .clients
                .iter()
                .any(|(&s, c)| s != from && c.role == role && c.election_id == Some(id))
        {
            refuse!(invalid:
                "election id {id} is in use by another client of this role; use another"
            );
        }
        self.clients.insert(
            from,
            Client {
                role: role.clone(),
                election_id,
            },
        );
        let present = self.highest_present(&role);
        let state = self.roles.entry(role.clone()).or_default();
        let before = state.primary;
        if self.promotes {
            (state.highest, state.primary) = present;
        } else if election_id.is_some() && election_id >= state.highest {
            state.highest = election_id;
            state.primary = Some(from);
        } else if before == Some(from) {
            state.primary = None;
        }
        // An election id raised by the primary itself is also news to all.
        if state.primary == Some(from) || before != state.primary {
            Ok(self.notify_all(&role))
        } else {
            Ok(vec![self.notice(from, &role)])
        }
    }

    /// Forgets a stream; returns notices for the other clients.
    pub(crate) fn leave(&mut self, stream: StreamId) -> Vec<Notice> {
        let Some(client) = self.clients.remove(&stream) else {
            return Vec::new();
        };
        let present = self.highest_present(&client.role);
        match self.roles.get_mut(&client.role) {
            Some(role) if role.primary == Some(stream) => {
                role.primary = None;
                if self.promotes {
                    (role.highest, role.primary) = present;
                }
                self.notify_all(&client.role)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the connected client of a role with the highest election id.
    fn highest_present(&self, role: &str) -> (Option<u128>, Option<StreamId>) {
        let of_role = self.clients.iter().filter(|(_, c)| c.role == role);
        let ids = of_role.filter_map(|(s, c)| Some((c.election_id?, *s)));
        match ids.max_by_key(|(id, _)| *id) {
            Some((id, stream)) => (Some(id), Some(stream)),
            None => (None, None),
        }
    }

    /// Checks that a request with this role and election id comes from a primary.
    pub(crate) fn check_primary(
        &self,
        role: &str,
        election_id: Option<&p4::Uint128>,
    ) -> Outcome<()> {
        let state = self.roles.get(role);
        let id = election_id.map(to_u128);
        match state {
            Some(r) if r.primary.is_some() && id.is_some() && id == r.highest => Ok(()),
            Some(r) if r.primary.is_some() => Err(Failure::denied(format!(
                "not the primary client: the request's election id is {}, the primary's {}",
                show(id),
                show(r.highest)
            ))),
            _ => Err(Failure::denied(format!(
                "there is no primary client{}; open a StreamChannel and send an arbitration \
                 update with an election id of at least {}",
                if role.is_empty() {
                    String::new()
                } else {
                    format!(" for role {role:?}")
                },
                state.and_then(|r| r.highest).unwrap_or(1)
            ))),
        }
    }

    pub(crate) fn is_primary(&self, stream: StreamId) -> bool {
        self.roles.values().any(|r| r.primary == Some(stream))
    }

    pub(crate) fn primaries(&self) -> impl Iterator<Item = StreamId> + '_ {
        self.roles.values().filter_map(|r| r.primary)
    }

    fn check_device(&self, device_id: u64) -> Outcome<()> {
        if device_id != self.device_id {
            return Err(unknown_device(device_id, self.device_id));
        }
        Ok(())
    }

    /// Returns the client that has to leave for a newcomer, if all places are taken: the
    /// non-primary client with no election id or the lowest; of several, the oldest.
    pub(crate) fn gives_way(&self, newcomer: StreamId) -> Option<StreamId> {
        if self.clients.len() < MAX_STREAMS || self.clients.contains_key(&newcomer) {
            return None;
        }
        let others = self.clients.iter().filter(|(s, _)| !self.is_primary(**s));
        let last = others.min_by_key(|(s, c)| (c.election_id, **s));
        last.map(|(stream, _)| *stream)
    }

    /// Forgets a role without clients if too many are remembered.
    fn bound_roles(&mut self, role: &str) -> Outcome<()> {
        if self.roles.contains_key(role) || self.roles.len() < MAX_STREAMS {
            return Ok(());
        }
        let is_used = |name: &String| self.clients.values().any(|c| c.role == *name);
        // The default role, which has no name, is never forgotten.
        let unused = self.roles.keys().find(|r| !r.is_empty() && !is_used(r));
        match unused.cloned() {
            Some(unused) => {
                self.roles.remove(&unused);
                Ok(())
            }
            None => Err(Failure::exhausted(format!(
                "{MAX_STREAMS} roles have clients; close one, or use an existing role"
            ))),
        }
    }

    fn check_clients(&self) -> Outcome<()> {
        if self.clients.len() >= MAX_STREAMS {
            return Err(Failure::exhausted(format!(
                "{MAX_STREAMS} clients are primaries of as many roles; close one"
            )));
        }
        Ok(())
    }

    fn notify_all(&self, role: &str) -> Vec<Notice> {
        self.clients
            .iter()
            .filter(|(_, c)| c.role == role)
            .map(|(&s, _)| self.notice(s, role))
            .collect()
    }

    fn notice(&self, to: StreamId, role: &str) -> Notice {
        let (primary, highest) = self
            .roles
            .get(role)
            .map_or((None, None), |r| (r.primary, r.highest));
        let (code, message) = match primary {
            Some(p) if p == to => (Code::Ok, "primary".to_owned()),
            Some(_) => (
                Code::AlreadyExists,
                "backup: another client is primary".to_owned(),
            ),
            None => (
                Code::NotFound,
                match highest {
                    Some(h) => format!(
                        "backup: there is no primary; an election id of at least {h} becomes primary"
                    ),
                    None => "backup: there is no primary".to_owned(),
                },
            ),
        };
        Notice {
            to,
            update: p4::MasterArbitrationUpdate {
                device_id: self.device_id,
                role: (!role.is_empty()).then(|| p4::Role {
                    name: role.to_owned(),
                    ..Default::default()
                }),
                election_id: highest.map(from_u128),
                status: Some(rpc::Status {
                    code: code as i32,
                    message,
                    details: Vec::new(),
                }),
            },
        }
    }
}

pub(crate) fn unknown_device(asked: u64, ours: u64) -> Failure {
    Failure::not_found(format!(
        "no device with id {asked}; this server's device has id {ours}"
    ))
}

fn role_name(request: &p4::MasterArbitrationUpdate) -> Outcome<String> {
    match &request.role {
        None => Ok(String::new()),
        Some(r) if r.config.is_some() => Err(Failure::invalid(
            "role configurations are not supported; leave role.config unset",
        )),
        Some(r) if r.id != 0 && r.name.is_empty() => Err(Failure::invalid(
            "numeric role ids are not supported; use role.name",
        )),
        Some(r) => Ok(r.name.clone()),
    }
}

fn to_u128(id: &p4::Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

fn from_u128(id: u128) -> p4::Uint128 {
    p4::Uint128 {
        high: (id >> 64) as u64,
        low: id as u64,
    }
}

fn show(id: Option<u128>) -> String {
    id.map_or_else(|| "not set".to_owned(), |id| id.to_string())
}

#[cfg(test)]
#[path = "tests/arbitration.rs"]
mod tests;
