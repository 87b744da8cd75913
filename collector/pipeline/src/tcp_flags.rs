// SPDX-License-Identifier: Apache-2.0
//! Bits of the TCP header (RFC 9293, section 3.1) and its IP protocol number.

pub(crate) const TCP: u8 = 6;
pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const ACK: u8 = 0x10;
/// RFC 3168.
pub(crate) const CWR: u8 = 0x80;
