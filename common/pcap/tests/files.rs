// SPDX-License-Identifier: Apache-2.0
//! Tests complete files in every format, and broken files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use std::io::{Cursor, Read, Write as _};
use tidemark_pcap::{Datagrams, ETHERNET, Frames, PcapError, Writer};

/// A byte order, for writing words of 16 and 32 bits.
#[derive(Clone, Copy)]
struct Order {
    big: bool,
}

const ORDERS: [Order; 2] = [Order { big: false }, Order { big: true }];

impl Order {
    fn half(self, v: u16) -> [u8; 2] {
        if self.big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    }

    fn word(self, v: u32) -> [u8; 4] {
        if self.big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let length = (12 + body.len() + padding.len()) as u32;
        let (kind, length) = (self.word(kind), self.word(length));
        [&kind[..], &length, body, &padding, &length].concat()
    }

    fn section(self) -> Vec<u8> {
        let magic = self.word(0x1a2b_3c4d);
        let version = [self.half(1), self.half(0)].concat();
        self.block(0x0a0d_0d0a, &[&magic[..], &version, &[0xff; 8]].concat())
    }

    /// An interface block; without a unit, times are in microseconds.
    fn interface(self, link: u16, unit: Option<u8>, offset_s: i64) -> Vec<u8> {
        let mut body = [self.half(link), self.half(0)].concat();
        body.extend(self.word(0));
        if let Some(unit) = unit {
            body.extend([self.half(9), self.half(1)].concat());
            body.extend([unit, 0, 0, 0]);
        }
        if offset_s != 0 {
            body.extend([self.half(14), self.half(8)].concat());
            body.extend(if self.big {
                offset_s.to_be_bytes()
            } else {
                offset_s.to_le_bytes()
            });
        }
        body.extend([0; 4]);
        self.block(1, &body)
    }

    fn enhanced(self, interface: u32, units: u64, wire_bytes: u32, frame: &[u8]) -> Vec<u8> {
        let header = [
            interface,
            (units >> 32) as u32,
            units as u32,
            frame.len() as u32,
            wire_bytes,
        ];
        let mut body = header.map(|w| self.word(w)).concat();
        body.extend(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        // An option: the frame's flags.
        body.extend([self.half(2), self.half(4)].concat());
        body.extend([0; 8]);
        self.block(6, &body)
    }

    /// A file in the classic format.
    fn classic(self, magic: u32, link: u32, frames: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut file = [self.word(magic).to_vec(), self.half(2).to_vec()].concat();
        file.extend(self.half(4));
        file.extend([0, 0, 65_535, link].map(|w| self.word(w)).concat());
        for (s, fraction, frame) in frames {
            let length = frame.len() as u32;
            file.extend(
                [*s, *fraction, length, length]
                    .map(|w| self.word(w))
                    .concat(),
            );
            file.extend(*frame);
        }
        file
    }
}

/// A reader that returns one byte at a time, like a slow pipe.
struct Slow(Cursor<Vec<u8>>);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let room = buffer.len().min(1);
        self.0.read(&mut buffer[..room])
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Owned {
    time_ns: u64,
    link: u32,
    wire_bytes: u32,
    data: Vec<u8>,
}

type All = Result<(Vec<Owned>, bool), PcapError>;

fn all(mut frames: Frames) -> All {
    let mut found = Vec::new();
    while let Some(f) = frames.next_frame()? {
        found.push(Owned {
            time_ns: f.time_ns,
            link: f.link,
            wire_bytes: f.wire_bytes,
            data: f.data.to_vec(),
        });
    }
    Ok((found, frames.truncated))
}

fn read(file: &[u8]) -> All {
    let slow = Frames::from_reader(Box::new(Slow(Cursor::new(file.to_vec())))).and_then(all);
    let fast = Frames::from_reader(Box::new(Cursor::new(file.to_vec()))).and_then(all);
    // The result does not depend on how the bytes arrive.
    assert_eq!(format!("{slow:?}"), format!("{fast:?}"));
    fast
}

fn frame(time_ns: u64, data: &[u8]) -> Owned {
    Owned {
        time_ns,
        link: ETHERNET,
        wire_bytes: data.len() as u32,
        data: data.to_vec(),
    }
}

/// A frame with Ethernet, IPv4 and UDP to port 5.
fn udp(payload: &[u8]) -> Vec<u8> {
    let mut f = vec![0; 12];
    f.extend([8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0]);
    f.extend([192, 0, 2, 10, 192, 0, 2, 1, 0, 9, 0, 5]);
    f.extend((payload.len() as u16 + 8).to_be_bytes());
    f.extend([0, 0]);
    f.extend(payload);
    f
}

#[test]
fn the_classic_format_in_both_orders_and_units() {
    for order in ORDERS {
        for (magic, unit_ns) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            let file = order.classic(magic, 1, &[(3, 7, &[9]), (4, 0, &[])]);
            let want = vec![
                frame(3_000_000_000 + 7 * unit_ns, &[9]),
                frame(4_000_000_000, &[]),
            ];
            assert_eq!(read(&file).unwrap(), (want, false));
        }
    }
}

#[test]
fn pcapng_in_both_orders_with_units_offsets_and_several_interfaces() {
    for order in ORDERS {
        let mut file = order.section();
        file.extend(order.interface(1, None, 0));
        file.extend(order.interface(101, Some(9), 5));
        // Powers of 2: 1/1024 of a second.
        file.extend(order.interface(113, Some(0x80 | 10), -1));
        // Statistics, which hold no frame.
        file.extend(order.block(5, &[0; 12]));
        file.extend(order.enhanced(0, 3_000_007, 3, &[1, 2, 3]));
        file.extend(order.enhanced(1, 1 << 40, 90, &[4]));
        file.extend(order.enhanced(2, 3 * 1024 + 512, 0, &[]));
        let got = |time_ns, link, wire_bytes, data: &[u8]| Owned {
            time_ns,
            link,
            wire_bytes,
            data: data.to_vec(),
        };
        let want = vec![
            got(3_000_007_000, 1, 3, &[1, 2, 3]),
            got((1 << 40) + 5_000_000_000, 101, 90, &[4]),
            got(2_500_000_000, 113, 0, &[]),
        ];
        assert_eq!(read(&file).unwrap(), (want, false));
    }
}

#[test]
fn a_new_section_begins_its_own_interfaces_and_byte_order() {
    let mut file = Vec::new();
    for order in ORDERS {
        file.extend(order.section());
        file.extend(order.interface(1, Some(9), 0));
        file.extend(order.enhanced(0, 8, 1, &[7]));
    }
    let (frames, _) = read(&file).unwrap();
    assert_eq!(frames, [frame(8, &[7]), frame(8, &[7])]);
    let [little, _] = ORDERS;
    file.extend(little.section());
    file.extend(little.enhanced(0, 8, 1, &[7]));
    let error = read(&file).unwrap_err().to_string();
    assert!(error.contains("interface that is not described"), "{error}");
}

#[test]
fn a_file_that_ends_within_a_frame_says_so() {
    let [little, _] = ORDERS;
    let mut ng = little.section();
    ng.extend(little.interface(1, None, 0));
    ng.extend(little.enhanced(0, 0, 1, &[7]));
    let classic = little.classic(0xa1b2_c3d4, 1, &[(0, 0, &[7])]);
    for file in [ng, classic] {
        assert_eq!(read(&file).unwrap(), (vec![frame(0, &[7])], false));
        assert_eq!(read(&file[..file.len() - 1]).unwrap(), (vec![], true));
    }
}

#[test]
fn broken_files_are_refused_with_a_reason() {
    let [little, _] = ORDERS;
    let begun = [little.section(), little.interface(1, None, 0)].concat();
    let with = |block: Vec<u8>| [begun.clone(), block].concat();
    let mut cut = little.enhanced(0, 0, 1, &[7]);
    cut[20..24].copy_from_slice(&100u32.to_le_bytes());
    let mut long = little.section();
    long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    for (file, reason) in [
        (
            b"not a capture at all, is it".to_vec(),
            "is not a pcap or pcapng",
        ),
        (vec![], "input: is not a pcap: it is empty"),
        (
            little
                .classic(0xa1b2_c3d4, 1, &[])
                .into_iter()
                .chain([0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 0, 0, 0, 0, 0])
                .collect(),
            "frame 1 claims 16777215 bytes",
        ),
        (long, "frame 1 claims 4294967295 bytes"),
        (with(cut), "contradicts its length"),
        (with(little.block(3, &[0; 8])), "simple packet block"),
        (with(little.block(2, &[0; 24])), "obsolete packet block"),
        (
            with(little.interface(1, Some(20), 0)),
            "unknown unit of time",
        ),
        (
            [
                little.section(),
                little.interface(1, Some(0), 0),
                little.enhanced(0, u64::MAX, 0, &[]),
            ]
            .concat(),
            "500 years",
        ),
    ] {
        let error = read(&file).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn datagrams_of_links_that_are_known() {
    let [little, _] = ORDERS;
    let frame = udp(b"hello");
    let mut file = little.section();
    file.extend(little.interface(1, Some(9), 0));
    file.extend(little.enhanced(0, 12, 47, &frame));
    file.extend(little.enhanced(0, 13, 3, &[0; 3]));
    file.extend(little.enhanced(0, 14, 47, &frame));
    let mut datagrams = Datagrams::from_reader(Box::new(Cursor::new(file.clone()))).unwrap();
    for time_ns in [12, 14] {
        let d = datagrams.next_datagram().unwrap().unwrap();
        assert_eq!(
            (d.time_ns, d.dst_port, d.payload),
            (time_ns, 5, &b"hello"[..])
        );
        assert_eq!(d.src.to_string(), "192.0.2.10");
    }
    assert!(datagrams.next_datagram().unwrap().is_none());
    assert_eq!(
        (datagrams.unread.total(), datagrams.truncated()),
        (1, false)
    );
    // Bytes of another link type are not parsed as IP.
    file.extend(little.interface(147, Some(9), 0));
    file.extend(little.enhanced(1, 15, 33, &frame[14..]));
    let mut datagrams = Datagrams::from_reader(Box::new(Cursor::new(file))).unwrap();
    for _ in 0..2 {
        assert!(datagrams.next_datagram().unwrap().is_some());
    }
    let error = datagrams.next_datagram().unwrap_err().to_string();
    assert!(error.contains("link type 147"), "{error}");
    let classic = little.classic(0xa1b2_c3d4, 147, &[]);
    assert!(Datagrams::from_reader(Box::new(Cursor::new(classic))).is_err());
}

#[test]
fn a_packed_file_is_read_as_the_plain_one() {
    let dir = tempfile::tempdir().unwrap();
    let (plain, packed) = (dir.path().join("plain"), dir.path().join("packed"));
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, ETHERNET).unwrap();
    for i in 0..20_000u32 {
        writer.write(u64::from(i), &i.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
    std::fs::write(&plain, &file).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&file).unwrap();
    std::fs::write(&packed, gz.finish().unwrap()).unwrap();
    let (frames, truncated) = Frames::open(&plain).and_then(all).unwrap();
    assert_eq!((frames.len(), truncated), (20_000, false));
    assert!(
        frames
            .iter()
            .enumerate()
            .all(|(i, f)| f.time_ns == i as u64)
    );
    assert_eq!(Frames::open(&packed).and_then(all).unwrap().0, frames);
    let zst = zstd::encode_all(&file[..], 3).unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bz2.write_all(&file).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&file).unwrap();
    for bytes in [zst, bz2.finish().unwrap(), xz.finish().unwrap()] {
        std::fs::write(&packed, &bytes).unwrap();
        assert_eq!(Frames::open(&packed).and_then(all).unwrap().0, frames);
        // A cut file ends with an error or within a frame.
        std::fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap();
        let cut = Frames::open(&packed).and_then(all);
        assert!(cut.is_err() || cut.is_ok_and(|(_, truncated)| truncated));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(frames in prop::collection::vec(
        (0..u64::from(u32::MAX) * 1_000_000_000, prop::collection::vec(any::<u8>(), 0..3000)), 0..40)) {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, ETHERNET).unwrap();
        for (time_ns, data) in &frames {
            writer.write(*time_ns, data).unwrap();
        }
        writer.finish().unwrap();
        let (got, truncated) = Frames::from_reader(Box::new(Cursor::new(file))).and_then(all).unwrap();
        prop_assert!(!truncated);
        let want: Vec<Owned> = frames.iter().map(|(t, d)| frame(*t, d)).collect();
        prop_assert_eq!(got, want);
    }

    /// Any file of blocks is either read to an end or refused.
    #[test]
    fn damaged_files_end(
        big in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let order = Order { big };
        let mut file = order.section();
        file.extend(order.interface(1, Some(9), 1));
        for i in 0..4 {
            file.extend(order.enhanced(0, i, 60, &udp(&[1; 10])));
        }
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(cut.index(file.len()) + 1);
        let Ok(mut datagrams) = Datagrams::from_reader(Box::new(Cursor::new(file))) else {
            return Ok(());
        };
        let mut found = 0;
        while let Ok(Some(_)) = datagrams.next_datagram() {
            found += 1;
            prop_assert!(found <= 4);
        }
    }
}

#[test]
fn a_list_of_interfaces_without_end_is_refused() {
    let order = ORDERS[0];
    let one = order.interface(1, None, 0);
    let mut file = order.section();
    file.extend(one.repeat(65_536));
    let frames = |bytes: Vec<u8>| {
        let mut frames = Frames::from_reader(Box::new(Cursor::new(bytes))).unwrap();
        frames.next_frame().map(|f| f.is_some())
    };
    assert!(!frames(file.clone()).unwrap());
    file.extend(one);
    let error = frames(file).unwrap_err().to_string();
    assert!(error.contains("more than 65536 interfaces"), "{error}");
}
