// SPDX-License-Identifier: Apache-2.0
//! Multicast groups and clone sessions: checks and conversion.

use crate::bytestring::to_u32;
use crate::errors::{Failure, Outcome, refuse, refuse_at};
use crate::target::{CloneSession, Replica};
use std::collections::HashSet;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::replica::PortKind;

/// Largest multicast group: v1model has 16 bits.
const MAX_GROUP: u32 = 0xffff;
/// Largest clone session: v1model on BMv2 has 15 bits, as the top bit is in use.
const MAX_SESSION: u32 = 0x7fff;
/// Largest port: v1model has 9 bits.
const MAX_PORT: u32 = 511;

pub(crate) fn group(entry: &p4::MulticastGroupEntry) -> Outcome<Vec<Replica>> {
    let id = entry.multicast_group_id;
    if id == 0 || id > MAX_GROUP {
        refuse!(invalid: "multicast group id {id} is not in 1..={MAX_GROUP}");
    }
    replicas(&entry.replicas).map_err(|f| f.at(format!("multicast group {id}")))
}

pub(crate) fn session(entry: &p4::CloneSessionEntry) -> Outcome<CloneSession> {
    let id = entry.session_id;
    if id == 0 || id > MAX_SESSION {
        refuse!(invalid: "clone session id {id} is not in 1..={MAX_SESSION}");
    }
    let at = |f: Failure| f.at(format!("clone session {id}"));
    if entry.class_of_service != 0 {
        refuse_at!(at, unsupported: "class_of_service is not supported; a program sets standard_metadata.priority");
    }
    let packet_length_bytes = match u32::try_from(entry.packet_length_bytes) {
        Ok(0) => None,
        Ok(n) => Some(n),
        Err(_) => refuse_at!(at, invalid: "packet_length_bytes is {}", entry.packet_length_bytes),
    };
    Ok(CloneSession {
        replicas: replicas(&entry.replicas).map_err(at)?,
        packet_length_bytes,
    })
}

fn replicas(given: &[p4::Replica]) -> Outcome<Vec<Replica>> {
    let mut seen = HashSet::new();
    given
        .iter()
        .map(|r| {
            if !r.backup_replicas.is_empty() {
                refuse!(unsupported: "backup replicas are not supported");
            }
            let port = match &r.port_kind {
                Some(PortKind::EgressPort(p)) => Some(*p),
                Some(PortKind::Port(bytes)) => to_u32(bytes),
                // Clients older than P4Runtime 1.4 omit port 0, as proto3 does with zeros.
                None => Some(0),
            }
            .filter(|p| *p <= MAX_PORT)
            .ok_or_else(|| {
                Failure::invalid(format!("the port of a replica is not in 0..={MAX_PORT}"))
            })?;
            let instance = u16::try_from(r.instance).map_err(|_| {
                Failure::invalid(format!("instance {} has more than 16 bits", r.instance))
            })?;
            let replica = Replica { port, instance };
            if !seen.insert(replica) {
                refuse!(invalid: "port {port} with instance {instance} occurs twice");
            }
            Ok(replica)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    fn replica(port: PortKind, instance: u32) -> p4::Replica {
        p4::Replica {
            port_kind: Some(port),
            instance,
            ..Default::default()
        }
    }

    #[test]
    fn both_spellings_of_a_port() {
        let entry = p4::MulticastGroupEntry {
            multicast_group_id: 1,
            replicas: vec![
                replica(PortKind::EgressPort(3), 1),
                replica(PortKind::Port(vec![0, 1, 0xfe]), 2),
            ],
            ..Default::default()
        };
        let ports: Vec<_> = group(&entry)
            .unwrap()
            .iter()
            .map(|r| (r.port, r.instance))
            .collect();
        assert_eq!(ports, [(3, 1), (510, 2)]);
    }

    #[test]
    fn port_0_of_clients_that_leave_it_out() {
        let entry = p4::MulticastGroupEntry {
            multicast_group_id: 1,
            replicas: vec![p4::Replica::default()],
            ..Default::default()
        };
        let ports: Vec<_> = group(&entry).unwrap().iter().map(|r| r.port).collect();
        assert_eq!(ports, [0]);
    }

    #[test]
    fn refusals() {
        let session_with = |id, cos, length, replicas| {
            session(&p4::CloneSessionEntry {
                session_id: id,
                class_of_service: cos,
                packet_length_bytes: length,
                replicas,
            })
            .map_err(|f| f.code)
        };
        let twice = vec![
            replica(PortKind::EgressPort(3), 1),
            replica(PortKind::Port(vec![3]), 1),
        ];
        assert_eq!(session_with(0, 0, 0, vec![]), Err(Code::InvalidArgument));
        assert_eq!(
            session_with(0x8000, 0, 0, vec![]),
            Err(Code::InvalidArgument)
        );
        assert_eq!(session_with(1, 1, 0, vec![]), Err(Code::Unimplemented));
        assert_eq!(session_with(1, 0, -1, vec![]), Err(Code::InvalidArgument));
        assert_eq!(session_with(1, 0, 0, twice), Err(Code::InvalidArgument));
        let wide = vec![replica(PortKind::EgressPort(512), 0)];
        assert_eq!(session_with(1, 0, 0, wide), Err(Code::InvalidArgument));
        assert_eq!(
            session_with(1, 0, 128, vec![]).unwrap().packet_length_bytes,
            Some(128)
        );
    }
}
