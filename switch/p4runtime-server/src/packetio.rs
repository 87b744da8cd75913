// SPDX-License-Identifier: Apache-2.0
//! Packet-in and packet-out headers: metadata fields packed bit by bit before the payload,
//! in the order of the P4Info.

use crate::bytestring;
use crate::errors::{Failure, Outcome, refuse};
use bytes::Bytes;
use p4_ir::bits::{BitWriter, bytes_from_words, read_wide, words_for, words_from_bytes};
use tidemark_proto::p4::config::v1::ControllerPacketMetadata;
use tidemark_proto::p4::v1 as p4;

/// Layout of a controller header; empty if the program has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderInfo {
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    id: u32,
    name: String,
    bits: u32,
    /// Pads the last byte; clients may omit it.
    padding: bool,
}

impl HeaderInfo {
    pub(crate) fn new(info: &ControllerPacketMetadata) -> Outcome<Self> {
        let fields = info
            .metadata
            .iter()
            .map(|m| match u32::try_from(m.bitwidth) {
                Ok(bits) if bits > 0 => Ok(Field {
                    id: m.id,
                    name: m.name.clone(),
                    bits,
                    padding: m.annotations.iter().any(|a| a.starts_with("@padding")),
                }),
                _ => Err(Failure::unsupported(format!(
                    "P4Info: packet metadata {} has no bit width",
                    m.name
                ))),
            })
            .collect::<Outcome<_>>()?;
        Ok(Self { fields })
    }

    fn bytes(&self) -> usize {
        bytestring::bytes_for(self.fields.iter().map(|f| f.bits).sum())
    }

    /// Returns the frame of a packet-out.
    pub(crate) fn pack(&self, packet: &p4::PacketOut) -> Outcome<Bytes> {
        if let Some(m) = packet
            .metadata
            .iter()
            .find(|m| self.fields.iter().all(|f| f.id != m.metadata_id))
        {
            refuse!(invalid:
                "the program's packet-out header has no field with id {}",
                m.metadata_id
            );
        }
        let mut frame = Vec::new();
        let mut bits = BitWriter::default();
        for field in &self.fields {
            let mut given = packet.metadata.iter().filter(|m| m.metadata_id == field.id);
            let value = match (given.next(), given.next()) {
                (Some(m), None) => bytestring::parse(&m.value, field.bits)
                    .map_err(|f| f.at(format!("metadata {}", field.name)))?,
                (None, _) if field.padding => Vec::new(),
                (None, _) => refuse!(invalid:
                    "metadata {} (id {}) is missing",
                    field.name, field.id
                ),
                (Some(_), Some(_)) => refuse!(invalid: "metadata {} is given twice", field.name),
            };
            bits.push_wide(
                &mut frame,
                &words_from_bytes(&value, field.bits),
                field.bits,
            );
        }
        bits.finish(&mut frame);
        frame.extend_from_slice(&packet.payload);
        Ok(frame.into())
    }

    /// Returns the packet-in of a frame; `None` if the frame is shorter than the header.
    pub(crate) fn unpack(&self, frame: &Bytes) -> Option<p4::PacketIn> {
        let header = frame.get(..self.bytes())?;
        let mut at = 0;
        let mut metadata = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let mut words = vec![0; words_for(field.bits)];
            read_wide(header, at, field.bits, &mut words);
            metadata.push(p4::PacketMetadata {
                metadata_id: field.id,
                value: bytestring::canonical(&bytes_from_words(&words, field.bits)),
            });
            at += field.bits as usize;
        }
        Some(p4::PacketIn {
            payload: frame.slice(self.bytes()..).to_vec(),
            metadata,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> HeaderInfo {
        let field = |id, bits, padding| Field {
            id,
            name: format!("f{id}"),
            bits,
            padding,
        };
        HeaderInfo {
            fields: vec![field(1, 9, false), field(2, 16, false), field(3, 7, true)],
        }
    }

    fn packet(fields: &[(u32, &[u8])]) -> p4::PacketOut {
        p4::PacketOut {
            payload: b"xyz".to_vec(),
            metadata: fields
                .iter()
                .map(|(id, v)| p4::PacketMetadata {
                    metadata_id: *id,
                    value: v.to_vec(),
                })
                .collect(),
        }
    }

    #[test]
    fn fields_cross_byte_borders() {
        let frame = header()
            .pack(&packet(&[(2, &[0xbe, 0xef]), (1, &[1, 0x01])]))
            .unwrap();
        // 100000001 1011111011101111 0000000
        assert_eq!(&frame[..], b"\x80\xdf\x77\x80xyz");
        let back = header().unpack(&frame).unwrap();
        assert_eq!(back.payload, b"xyz");
        assert_eq!(back.metadata[0].value, [1, 1]);
        assert_eq!(back.metadata[1].value, [0xbe, 0xef]);
        assert_eq!(back.metadata[2].value, [0]);
    }

    #[test]
    fn refusals() {
        let h = header();
        assert!(h.pack(&packet(&[(1, &[1])])).is_err(), "missing");
        assert!(h.pack(&packet(&[(1, &[2, 0]), (2, &[0])])).is_err(), "wide");
        assert!(
            h.pack(&packet(&[(1, &[1]), (1, &[1]), (2, &[0])])).is_err(),
            "twice"
        );
        assert!(h.pack(&packet(&[(9, &[1])])).is_err(), "unknown");
        assert!(h.unpack(&Bytes::from_static(b"abc")).is_none());
    }

    #[test]
    fn no_header() {
        let none = HeaderInfo::default();
        assert_eq!(&none.pack(&packet(&[])).unwrap()[..], b"xyz");
        assert!(none.pack(&packet(&[(1, &[0])])).is_err());
        let frame = Bytes::from_static(b"abc");
        assert_eq!(none.unpack(&frame).unwrap().payload, b"abc");
    }
}
