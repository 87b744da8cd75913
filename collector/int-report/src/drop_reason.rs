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
    /// fabric-tna: like switch-p4-16, with some codes of its own from 128 on.
    FabricTna,
    /// p4lang/switch of 2013 (P4_14).
    Switch2013,
}

impl DropTable {
    /// Whether a drop with this code may be a loss that depends on the size of a buffer: a tail
    /// drop, a drop by queue management (WRED, ECN of non-capable packets), or a code that the
    /// table does not know.
    #[must_use]
    pub fn is_queue_loss(self, code: u8) -> bool {
        // Forwarding failed (no route, TTL, MTU, VLAN), meters and storm control, access
        // lists, the PFC watchdog.
        let of_switch_p4_16 = matches!(code,
            26 | 29 | 41 | 51 | 52 | 55 | 70 | 72 | 75..=78 | 80 | 89..=92 | 101 | 102 | 115
            | 180..=184);
        !match self {
            Self::SwitchP416 => of_switch_p4_16,
            // Forwarding and the user plane function, access list, meter, blackhole.
            Self::FabricTna => of_switch_p4_16 || matches!(code, 128..=140 | 150 | 160 | 170 | 171),
            // Forwarding and an access list; its tail drop is 51.
            Self::Switch2013 => matches!(code, 26 | 29 | 31 | 40 | 50 | 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_code_differs_between_tables() {
        assert!(DropTable::Switch2013.is_queue_loss(51));
        assert!(!DropTable::SwitchP416.is_queue_loss(51));
        for table in [DropTable::SwitchP416, DropTable::FabricTna] {
            assert!(table.is_queue_loss(71) && table.is_queue_loss(73));
        }
    }

    #[test]
    fn only_fabric_knows_its_own_codes() {
        assert!(!DropTable::FabricTna.is_queue_loss(160));
        assert!(DropTable::SwitchP416.is_queue_loss(160));
    }

    #[test]
    fn what_a_table_knows_but_tail_and_aqm_drops_is_no_queue_loss() {
        let others = |table: DropTable| (0..=255).filter(move |&code| !table.is_queue_loss(code));
        let of_switch: Vec<u8> = others(DropTable::SwitchP416).collect();
        let known = [
            26, 29, 41, 51, 52, 55, 70, 72, 75, 76, 77, 78, 80, 89, 90, 91, 92, 101, 102, 115, 180,
            181, 182, 183, 184,
        ];
        assert_eq!(of_switch, known);
        let own = (128..=140).chain([150, 160, 170, 171]);
        let mut of_fabric: Vec<u8> = known.into_iter().chain(own).collect();
        of_fabric.sort_unstable();
        assert_eq!(others(DropTable::FabricTna).collect::<Vec<_>>(), of_fabric);
        let of_2013: Vec<u8> = others(DropTable::Switch2013).collect();
        assert_eq!(of_2013, [26, 29, 31, 40, 50, 60]);
    }
}
