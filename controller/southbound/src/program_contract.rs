// SPDX-License-Identifier: Apache-2.0
//! What the P4 program expects of every driver, whatever its protocol.

use crate::values::mac;
use crate::{Error, ReportDestination};

/// The multicast group of flooded frames (contract with the P4 program).
pub(crate) const FLOOD_GROUP: u32 = 1;

/// Arguments of the action `set_destination` of the table `report_to`.
///
/// # Errors
/// The field of the destination that cannot be used.
pub(crate) fn destination(d: &ReportDestination) -> Result<[(&'static str, u64); 7], Error> {
    if d.source_port_bits > 4 {
        return Err(Error::value(
            "reports.source_port_bits",
            format!("{} is more than 4", d.source_port_bits),
        ));
    }
    Ok([
        ("src_mac", mac(&d.src_mac, "reports.src_mac")?),
        ("dst_mac", mac(&d.dst_mac, "reports.dst_mac")?),
        ("src_ip", u64::from(u32::from(d.src_ip))),
        ("dst_ip", u64::from(u32::from(d.dst_ip))),
        ("udp_dst_port", u64::from(d.udp_port)),
        ("src_port_mask", (1 << d.source_port_bits) - 1),
        ("node_id", u64::from(d.node_id)),
    ])
}
