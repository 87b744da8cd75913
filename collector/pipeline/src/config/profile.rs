// SPDX-License-Identifier: Apache-2.0
//! Profiles of well-known switch programs: a node's configuration names one and may override single
//! keys of it.

use super::{DepthUnit, Exporters, NodeConfig, PortConfig, TimeUnit};
use int_report::drop_reason::DropTable;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A kind of switch and its program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Profile {
    /// Tidemark's v1model program, on BMv2 or the embedded switch: nanoseconds,
    /// bytes.
    #[default]
    Tidemark,
    /// Other programs on BMv2: a 48-bit clock of microseconds, and queues in packets.
    Bmv2,
    /// Tofino 1: 48 bits of nanoseconds, cells of 80 bytes.
    Tofino,
    /// Tofino 2: cells of 176 bytes.
    Tofino2,
    /// Tofino 3: cells of 256 bytes.
    Tofino3,
    /// switch-p4-16 ("DTel") on Tofino 1. Its hw_id is pipe * 4, its inner packets begin with
    /// Ethernet, it rounds the report length down, and a tail drop may have D clear: the decoder
    /// accepts all of that.
    SwitchP416,
    /// switch-p4-16 on Tofino 2.
    SwitchP416Tofino2,
    /// fabric-tna: v0.5 reports with the low 32 bits of the clock, and its own drop codes from 128
    /// on.
    FabricTna,
}

impl Profile {
    fn node(self) -> NodeConfig {
        let tofino = |cell_bytes| NodeConfig {
            time_bits: 48,
            depth_unit: DepthUnit::Cells,
            cell_bytes: Some(cell_bytes),
            ..NodeConfig::default()
        };
        match self {
            Self::Tidemark => NodeConfig::default(),
            Self::Bmv2 => NodeConfig {
                time_unit: TimeUnit::Us,
                time_bits: 48,
                depth_unit: DepthUnit::Packets,
                ..NodeConfig::default()
            },
            Self::Tofino | Self::SwitchP416 => tofino(80),
            Self::Tofino2 | Self::SwitchP416Tofino2 => tofino(176),
            Self::Tofino3 => tofino(256),
            Self::FabricTna => NodeConfig {
                time_bits: 32,
                drop_codes: DropTable::FabricTna,
                ..tofino(80)
            },
        }
    }
}

/// A node as the configuration file has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NodeText {
    profile: Profile,
    name: String,
    exporters: Exporters,
    key_file: Option<PathBuf>,
    time_unit: Option<TimeUnit>,
    time_bits: Option<u8>,
    depth_unit: Option<DepthUnit>,
    packet_bytes: Option<u32>,
    cell_bytes: Option<u32>,
    drop_codes: Option<DropTable>,
    ports: BTreeMap<u32, PortConfig>,
}

impl From<NodeText> for NodeConfig {
    fn from(text: NodeText) -> Self {
        let base = text.profile.node();
        Self {
            name: text.name,
            exporters: text.exporters,
            key_file: text.key_file,
            time_unit: text.time_unit.unwrap_or(base.time_unit),
            time_bits: text.time_bits.unwrap_or(base.time_bits),
            depth_unit: text.depth_unit.unwrap_or(base.depth_unit),
            packet_bytes: text.packet_bytes.unwrap_or(base.packet_bytes),
            cell_bytes: text.cell_bytes.or(base.cell_bytes),
            drop_codes: text.drop_codes.unwrap_or(base.drop_codes),
            ports: text.ports,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(json: &str) -> Result<NodeConfig, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn profiles_are_complete() {
        for (profile, unit_bytes, time_ns, bits) in [
            ("tidemark", 1, 1, 64),
            ("bmv2", 1500, 1000, 48),
            ("tofino", 80, 1, 48),
            ("tofino2", 176, 1, 48),
            ("tofino3", 256, 1, 48),
            ("switch-p416", 80, 1, 48),
            ("switch-p416-tofino2", 176, 1, 48),
            ("fabric-tna", 80, 1, 32),
        ] {
            let n = node(&format!("{{\"profile\":\"{profile}\"}}")).unwrap();
            assert_eq!(n.depth_unit_bytes(), unit_bytes, "{profile}");
            assert_eq!(
                (n.time_unit.ns(), n.time_bits),
                (time_ns, bits),
                "{profile}"
            );
            let config = crate::Config {
                nodes: [(1, n)].into(),
                ..crate::Config::default()
            };
            config.validate().unwrap();
        }
        assert!(node("{\"profile\":\"tofino9\"}").is_err());
    }

    #[test]
    fn single_keys_change_a_profile() {
        let n = node("{\"profile\":\"tofino2\",\"time_bits\":32,\"name\":\"x\"}").unwrap();
        assert_eq!((n.time_bits, n.cell_bytes), (32, Some(176)));
        assert_eq!(n.name, "x");
        assert!(node("{\"profil\":\"tofino2\"}").is_err());
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let n = node("{\"profile\":\"fabric-tna\"}").unwrap();
        let text = serde_json::to_string(&n).unwrap();
        assert_eq!(node(&text).unwrap(), n);
    }
}
