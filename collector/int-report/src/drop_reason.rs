// SPDX-License-Identifier: Apache-2.0
//! Drop codes: two incompatible numberings are in use, so each node's
//! configuration names one.

use serde::{Deserialize, Serialize};

/// Which numbering a node uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropTable {
    /// switch-p4-16, int-host-reporter, Tidemark's programs.
    #[default]
    SwitchP416,
    /// fabric-tna: as switch-p4-16 with some of its own from 128 on.
    FabricTna,
    /// p4lang/switch of 2013 (P4_14).
    Switch2013,
}

/// What a drop means for the study of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropClass {
    /// The queue was full.
    TailDrop,
    /// Active queue management dropped early (WRED and such).
    Aqm,
    /// A meter or storm control refused the packet.
    Policer,
    /// Access list.
    Acl,
    /// Forwarding failed: no route, TTL, MTU, VLAN.
    Forwarding,
    /// PFC watchdog.
    Pfc,
    /// Not in the table.
    Unknown,
}

impl DropClass {
    /// True for losses that the size of a buffer decides.
    #[must_use]
    pub fn is_queue_loss(self) -> bool {
        matches!(self, Self::TailDrop | Self::Aqm)
    }
}

/// Code of a tail drop in [`DropTable::SwitchP416`] and Tidemark's programs.
pub const TAIL_DROP: u8 = 71;
/// Code of a drop by queue management (WRED, ECN of non-capable packets).
pub const AQM_DROP: u8 = 73;

/// Class and short name of a drop code.
#[must_use]
pub fn describe(table: DropTable, code: u8) -> (DropClass, &'static str) {
    match table {
        DropTable::SwitchP416 => switch_p4_16(code),
        DropTable::FabricTna => fabric_tna(code),
        DropTable::Switch2013 => switch_2013(code),
    }
}

fn switch_p4_16(code: u8) -> (DropClass, &'static str) {
    match code {
        0 => (DropClass::Unknown, "unknown"),
        26 => (DropClass::Forwarding, "outer IP TTL zero"),
        29 => (DropClass::Forwarding, "IP route miss"),
        41 => (DropClass::Forwarding, "inner IP TTL zero"),
        51 => (DropClass::Forwarding, "IPv4 route miss"),
        52 => (DropClass::Forwarding, "IPv6 route miss"),
        55 => (DropClass::Forwarding, "port VLAN mapping miss"),
        70 => (DropClass::Forwarding, "MTU exceeded"),
        TAIL_DROP => (DropClass::TailDrop, "traffic manager tail drop"),
        72 => (DropClass::Policer, "storm control"),
        AQM_DROP => (DropClass::Aqm, "queue management drop"),
        75 => (DropClass::Policer, "ingress port meter"),
        76 => (DropClass::Policer, "ingress ACL meter"),
        77 => (DropClass::Policer, "egress port meter"),
        78 => (DropClass::Policer, "egress ACL meter"),
        80 | 115 => (DropClass::Acl, "ingress ACL"),
        92 => (DropClass::Acl, "egress ACL"),
        89..=91 => (DropClass::Forwarding, "layer-2 miss"),
        101 => (DropClass::Pfc, "PFC watchdog, ingress"),
        102 => (DropClass::Pfc, "PFC watchdog, egress"),
        180..=184 => (DropClass::Forwarding, "dropped by the host"),
        _ => (DropClass::Unknown, "not in the table"),
    }
}

fn fabric_tna(code: u8) -> (DropClass, &'static str) {
    match code {
        128 => (DropClass::Forwarding, "next id miss"),
        129 => (DropClass::Forwarding, "MPLS miss"),
        130 => (DropClass::Forwarding, "egress next miss"),
        131 => (DropClass::Forwarding, "MPLS TTL zero"),
        132..=140 => (DropClass::Forwarding, "user plane function"),
        150 => (DropClass::Acl, "recirculation denied"),
        160 => (DropClass::Policer, "ingress QoS meter"),
        170 | 171 => (DropClass::Forwarding, "blackhole route"),
        other => switch_p4_16(other),
    }
}

fn switch_2013(code: u8) -> (DropClass, &'static str) {
    match code {
        0 => (DropClass::Unknown, "unknown"),
        26 => (DropClass::Forwarding, "outer IP TTL zero"),
        29 => (DropClass::Forwarding, "IP route miss"),
        31 => (DropClass::Forwarding, "inner IP TTL zero"),
        40 => (DropClass::Forwarding, "port VLAN mapping miss"),
        50 => (DropClass::Forwarding, "MTU exceeded"),
        51 => (DropClass::TailDrop, "traffic manager tail drop"),
        60 => (DropClass::Acl, "ACL"),
        _ => (DropClass::Unknown, "not in the table"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_code_differs_between_tables() {
        assert_eq!(describe(DropTable::Switch2013, 51).0, DropClass::TailDrop);
        assert_eq!(describe(DropTable::SwitchP416, 51).0, DropClass::Forwarding);
        assert_eq!(describe(DropTable::SwitchP416, 71).0, DropClass::TailDrop);
        assert_eq!(describe(DropTable::FabricTna, 71).0, DropClass::TailDrop);
        assert_eq!(describe(DropTable::Switch2013, 71).0, DropClass::Unknown);
        assert_eq!(describe(DropTable::SwitchP416, 73).0, DropClass::Aqm);
    }

    #[test]
    fn only_fabric_knows_its_own_codes() {
        assert_eq!(describe(DropTable::FabricTna, 160).0, DropClass::Policer);
        assert_eq!(describe(DropTable::SwitchP416, 160).0, DropClass::Unknown);
    }

    #[test]
    fn queue_losses_are_tail_and_aqm_drops() {
        let losses: Vec<u8> = (0..=255)
            .filter(|&code| describe(DropTable::SwitchP416, code).0.is_queue_loss())
            .collect();
        assert_eq!(losses, [71, 73]);
    }
}
