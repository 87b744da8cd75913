// SPDX-License-Identifier: Apache-2.0
//! One decoded report, of any version.

/// One individual report. Numbers are as the node sent them: times in the
/// node's unit and width, depths in the node's unit, codes of the node's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report<'a> {
    /// Version: 0 = v0.5, 1 = v1.0, 2 = v2.0.
    pub version: u8,
    /// The reporting node; 0 in a v0.5 report that names none.
    pub node_id: u32,
    /// The part of the node that numbers its own reports.
    pub hw_id: u8,
    /// Number of the datagram: `sequence_bits` wide.
    pub sequence: u32,
    /// Width of `sequence`: 22 in v2.0, 32 before.
    pub sequence_bits: u8,
    /// Whether D is set or a drop word is present.
    pub dropped: bool,
    /// Q: the packet met a congested queue.
    pub congested: bool,
    /// F: the packet belongs to a watched flow.
    pub tracked: bool,
    /// Level-1 interface id, else level-2; `None` when absent or all ones.
    pub ingress_port: Option<u32>,
    /// Intended egress port when the packet was dropped by the traffic manager.
    pub egress_port: Option<u32>,
    /// Queue of the egress port.
    pub queue_id: Option<u8>,
    /// Queue occupancy, 24 bits, in the node's unit (bytes, cells or packets).
    pub queue_occupancy: Option<u32>,
    /// Ingress timestamp in the node's unit and width.
    pub ingress_ts: Option<u64>,
    /// Egress timestamp in the node's unit and width.
    pub egress_ts: Option<u64>,
    /// Time in the node, in its unit.
    pub hop_latency: Option<u32>,
    /// Code of the node's drop-reason table, see [`crate::drop_reason`].
    pub drop_reason: Option<u8>,
    /// Queue limit in force, in the unit of the occupancy; `u32::MAX` = unlimited.
    pub limit: Option<u32>,
    /// The report stands for 2^shift packets; for one if it is a drop or out of the sample.
    pub sampling_shift: Option<u8>,
    /// Bit 0: this node marked the packet CE; bit 1: it is reported only for that.
    pub policy_flags: Option<u8>,
    /// Of a v0.5 drop summary: number of packets of the flow lost somewhere between two hosts. It
    /// is about no particular queue.
    pub summary_drops: Option<u32>,
    /// The truncated original packet.
    pub inner: Inner<'a>,
    /// Whether it is the first of its datagram: only then is the sequence number accounted for.
    pub first_in_datagram: bool,
    /// Set in the record of a hop whose metadata the packet carried.
    pub hop: Option<Hop>,
}

/// A hop of a stack that the packet carried (INT-MD).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The node that reported the hop, and that numbers the reports.
    pub reporter_id: u32,
    /// Whether another record of the same report came before.
    pub further: bool,
    /// Number of hops of the report without a record: the packet is cut before them, or they have
    /// no node id. In the first record only.
    pub left_out: u8,
    /// Bytes of the stack that the packet carried on the link after this hop.
    pub carried_bytes: u16,
}

impl Report<'_> {
    /// Flag of [`Report::policy_flags`]: this node marked the packet CE.
    pub const POLICY_CE_MARKED: u8 = 1;
    /// Flag of [`Report::policy_flags`]: the packet is not in the sample.
    pub const POLICY_OUT_OF_SAMPLE: u8 = 2;

    /// Returns whether the node marked this packet CE.
    #[must_use]
    #[inline]
    pub fn ce_marked(&self) -> bool {
        self.policy_flags
            .is_some_and(|flags| flags & Self::POLICY_CE_MARKED != 0)
    }

    /// Returns whether this packet is reported only for its mark: it is out of the sample.
    #[must_use]
    #[inline]
    pub fn out_of_sample(&self) -> bool {
        const BOTH: u8 = Report::POLICY_CE_MARKED | Report::POLICY_OUT_OF_SAMPLE;
        self.policy_flags.is_some_and(|flags| flags & BOTH == BOTH)
    }
}

/// The truncated original packet of a report, or other contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inner<'a> {
    /// The packet from the header that `kind` names; may be cut anywhere, may have up to 3 bytes of
    /// padding after it.
    pub packet: &'a [u8],
    /// First header of `packet`.
    pub kind: InnerKind,
    /// Metadata of hops that was inserted into it on its way.
    pub stack: Stack,
}

impl<'a> Inner<'a> {
    /// Creates a packet without inserted metadata.
    #[must_use]
    #[inline(always)]
    pub fn new(packet: &'a [u8], kind: InnerKind) -> Self {
        Self {
            packet,
            kind,
            stack: Stack {
                bytes: 0,
                dst_port: None,
                original: None,
                is_of_tunnel: false,
            },
        }
    }
}

/// Metadata of hops that was inserted into a packet and lengthened it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Number of bytes inserted; 0 if none were.
    pub bytes: u16,
    /// Original destination port, if another port marks the packet.
    pub dst_port: Option<u16>,
    /// Protocol and offset of the original transport header, if another was put in front.
    pub original: Option<(u8, u16)>,
    /// Whether it is in the header of the tunnel that the packet goes through.
    pub is_of_tunnel: bool,
}

/// The first header of [`Inner::packet`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InnerKind {
    /// The report holds no packet.
    #[default]
    None,
    /// An Ethernet frame.
    Ethernet,
    /// An IPv4 packet.
    Ipv4,
    /// An IPv6 packet.
    Ipv6,
    /// Bytes of a format unknown here.
    Opaque,
}
