// SPDX-License-Identifier: Apache-2.0
//! The pcapng format: sections of blocks, some of which describe interfaces, and some of which
//! hold a frame of an interface.

use crate::MAX_FRAME_BYTES;
use crate::step::{Broken, Place, Step};
use pcap_parser::traits::PcapNGPacketBlock as _;
use pcap_parser::{
    Block, EnhancedPacketBlock, InterfaceDescriptionBlock, parse_block_be, parse_block_le,
};

/// First bytes of a section, the same in either byte order.
pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
/// Byte-order mark of a section written by a little-endian machine.
const LITTLE_ENDIAN: u32 = 0x1a2b_3c4d;
/// Byte-order mark of a section written by a big-endian machine.
const BIG_ENDIAN: u32 = LITTLE_ENDIAN.swap_bytes();
/// Type, length and byte order; every block has at least its type and, twice, its length.
const SECTION_HEADER_BYTES: usize = 12;
/// Largest block; blocks without a frame (names, TLS session keys) may be large.
const MAX_BLOCK_BYTES: u32 = 16 << 20;
/// Most interfaces of a section; a file with more is an attempt to fill memory.
const MAX_INTERFACES: usize = 65_536;
/// Size of an enhanced packet block's header before the frame.
const PACKET_HEADER_BYTES: usize = 28;
/// Block type of a packet block that the standard declared obsolete in 2014.
const OBSOLETE_PACKET: u32 = 2;
const NS_PER_S: u128 = 1_000_000_000;

/// Properties from the section's blocks so far.
#[derive(Debug, Default)]
pub(crate) struct PcapNg {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

#[derive(Debug)]
struct Interface {
    link: u32,
    units_per_s: u64,
    /// Offset added to every time.
    offset_s: i64,
}

impl PcapNg {
    /// Creates the state for a file that starts with `bytes`.
    ///
    /// # Errors
    /// The bytes do not start a section.
    pub(crate) fn begin(bytes: &[u8]) -> Result<Self, Broken> {
        let mut sections = Self::default();
        sections.block_length(bytes)?;
        Ok(sections)
    }

    /// Parses the block at the start of `bytes`.
    ///
    /// # Errors
    /// A block contradicts itself, or a frame has no time.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Result<Step, Broken> {
        let Some(length) = self.block_length(bytes)? else {
            return Ok(Step::Incomplete);
        };
        let Some(whole) = bytes.get(..length) else {
            return Ok(Step::Incomplete);
        };
        let block = if self.big_endian {
            parse_block_be(whole)
        } else {
            parse_block_le(whole)
        };
        // The whole block is there, so an "incomplete" error also means that it is broken.
        let (_, block) = block.map_err(|_| Broken::Block("a block contradicts its length"))?;
        match block {
            Block::SectionHeader(_) => self.interfaces.clear(),
            Block::InterfaceDescription(_) if self.interfaces.len() >= MAX_INTERFACES => {
                return Err(Broken::Block(
                    "more than 65536 interfaces in one section, which is the limit",
                ));
            }
            Block::InterfaceDescription(i) => {
                self.interfaces.push(Interface::new(&i, self.big_endian)?);
            }
            Block::EnhancedPacket(p) => return self.frame(&p, length),
            Block::SimplePacket(_) => {
                return Err(Broken::Block("a simple packet block, which has no time"));
            }
            Block::Unknown(b) if b.block_type == OBSOLETE_PACKET => {
                return Err(Broken::Block(
                    "an obsolete packet block; convert the file with `editcap -F pcap`",
                ));
            }
            _ => {}
        }
        Ok(Step::Other(length))
    }

    /// Returns the length of the block, `None` until known. Sets the byte order of a section.
    fn block_length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Broken> {
        let Some(header) = bytes.first_chunk::<SECTION_HEADER_BYTES>() else {
            return Ok(None);
        };
        let word = |at: usize| {
            let word = header.get(at..).and_then(|b| b.first_chunk::<4>());
            word.copied().unwrap_or_default()
        };
        if u32::from_le_bytes(word(0)) == SECTION {
            self.big_endian = match u32::from_le_bytes(word(8)) {
                LITTLE_ENDIAN => false,
                BIG_ENDIAN => true,
                _ => return Err(Broken::Block("a section without a byte order")),
            };
        }
        let length = if self.big_endian {
            u32::from_be_bytes(word(4))
        } else {
            u32::from_le_bytes(word(4))
        };
        if length < SECTION_HEADER_BYTES as u32 || length > MAX_BLOCK_BYTES {
            return Err(Broken::Length(length));
        }
        Ok(Some(length as usize))
    }

    fn frame(&self, p: &EnhancedPacketBlock<'_>, length: usize) -> Result<Step, Broken> {
        let Some(interface) = self.interfaces.get(p.if_id as usize) else {
            return Err(Broken::Block(
                "a frame of an interface that is not described",
            ));
        };
        let data_bytes = p.packet_data().len();
        if data_bytes > MAX_FRAME_BYTES as usize {
            return Err(Broken::Length(p.caplen));
        }
        Ok(Step::Frame(Place {
            time_ns: interface.time_ns(u64::from(p.ts_high) << 32 | u64::from(p.ts_low))?,
            link: interface.link,
            wire_bytes: p.origlen,
            data: PACKET_HEADER_BYTES..PACKET_HEADER_BYTES + data_bytes,
            bytes: length,
        }))
    }
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Result<Self, Broken> {
        // The upper bit means powers of 2, which the library does not know.
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let units_per_s = if block.if_tsresol & 0x80 == 0 {
            10u64.checked_pow(exponent)
        } else {
            1u64.checked_shl(exponent)
        };
        // The library reads the offset as little-endian in every file.
        let offset_s = if big_endian {
            block.if_tsoffset.swap_bytes()
        } else {
            block.if_tsoffset
        };
        Ok(Self {
            link: block.linktype.0 as u32,
            units_per_s: units_per_s
                .ok_or(Broken::Block("an interface with an unknown unit of time"))?,
            offset_s,
        })
    }

    /// Converts a time in the interface's unit to Unix time in ns.
    fn time_ns(&self, units: u64) -> Result<u64, Broken> {
        let ns = u128::from(units) * NS_PER_S / u128::from(self.units_per_s);
        let offset_ns = i128::from(self.offset_s) * NS_PER_S as i128;
        i128::try_from(ns)
            .ok()
            .and_then(|ns| u64::try_from(ns + offset_ns).ok())
            .ok_or(Broken::Block(
                "a time that is not within the next 500 years",
            ))
    }
}
