// SPDX-License-Identifier: Apache-2.0
//! Tests the limits of the codec exhaustively instead of by samples: every length of a datagram,
//! every value of each byte, of each two bytes that determine an offset, and every set of metadata.
use super::golden::{A, B, C, INNER};
use super::hex;
use crate::encode::{encode, postcard};
use crate::layout::{domain, flag, metadata};
use crate::{
    DS_TIDEMARK, DecodeError, Inner, InnerKind, Report, decode, fast_path, parse_inner,
    peek_header, tag,
};

/// Returns a report of each kind, and the offsets of the bytes that decide: types, lengths, bits
/// and the lengths of the inner packet.
fn datagrams() -> Vec<(&'static str, Vec<u8>, Vec<usize>)> {
    let inner = hex(INNER);
    let forwarded = encode(&[postcard(10, 77, (2, 1), &inner)]).unwrap();
    let mut tagged = forwarded.clone();
    tag::append(&mut tagged, None, |_| *b"0123456789abcdef").unwrap();
    let mut of_run = forwarded.clone();
    tag::append(&mut of_run, Some(tag::Run::default()), |_| [7; 16]).unwrap();
    let end = forwarded.len();
    let with_tag = [0, 9, 10, end, end + 1, end + 2, end + 6, end + 8];
    let three = hex(&format!(
        "20400005 0000000a {A} {INNER} {B} {INNER} {C} {INNER}"
    ));
    let second = 8 + 4 + 4 * 0x12;
    let tlvs = hex(
        "20000001 00000001 11060020 00000000 00000000 00010001 deadbeef
        20010000 45000014",
    );
    let v1 = hex(
        "1a3f81c5 00000007 fffffffe 00000064 00030004 00000032 02000040 000000c8
        02470000 00000010 45000014 00000000 40fd0000 0a000001 0a000002",
    );
    let v0_5 = |start: &str| hex(&format!("{start} 00000003 00000004 {INNER}"));
    let packet = 52;
    vec![
        (
            "forwarded",
            forwarded,
            vec![
                0,
                8,
                9,
                10,
                11,
                12,
                13,
                14,
                15,
                16,
                packet,
                packet + 2,
                packet + 3,
                packet + 6,
                packet + 7,
                packet + 9,
                packet + 32,
            ],
        ),
        ("tagged", tagged, with_tag.to_vec()),
        ("tagged with a run", of_run, with_tag.to_vec()),
        (
            "three",
            three,
            vec![
                8,
                9,
                10,
                12,
                13,
                16,
                second,
                second + 1,
                second + 2,
                second + 4,
                second + 5,
            ],
        ),
        ("in TLVs", tlvs, vec![8, 9, 10, 12, 13, 24, 25, 28, 29, 32]),
        ("v1.0", v1, vec![0, 1, 2, 40, 41, 42]),
        ("v0.5 sink", v0_5("04000001 00000002"), vec![0, 1, 16, 17]),
        (
            "v0.5 queue",
            v0_5("02200003 00000009 000003e8 0000000b 00010002"),
            vec![0, 1, 8, 12],
        ),
    ]
}

/// Checks any datagram: nothing panics, each packet lies within it and after the one before, and
/// all other readers read the same.
fn sound(payload: &[u8]) {
    let start = payload.as_ptr() as usize;
    let header = peek_header(payload);
    let (mut seen, mut behind) = (0, 0);
    let mut last = Report::default();
    let result = decode(payload, |report| {
        seen += 1;
        let packet = report.inner.packet;
        if !packet.is_empty() {
            let at = packet.as_ptr() as usize - start;
            assert!(at >= behind && at + packet.len() <= payload.len());
            behind = at + packet.len();
        }
        let numbered = header.map(|h| (h.version, h.hw_id, h.sequence));
        let numbers = (report.version, report.hw_id, report.sequence);
        assert_eq!(
            numbered,
            Some(numbers),
            "what numbers a report is read alone"
        );
        for kind in [InnerKind::Ethernet, InnerKind::Ipv4, InnerKind::Ipv6] {
            if let Ok(inner) = parse_inner(&Inner::new(packet, kind)) {
                assert!(inner.payload_bytes <= inner.ip_bytes);
            }
        }
        last = *report;
    });
    if let Ok(count) = result {
        assert_eq!(count, seen);
    }
    if let Some(fast) = fast_path(payload) {
        assert_eq!((result, last), (Ok(1), fast.report()));
        assert_eq!(parse_inner(&last.inner), Ok(fast.inner()));
    }
    if let Some(parts) = tag::split(payload) {
        assert_eq!(decode(parts.body, |_| {}), result);
    }
}

#[test]
fn every_length_and_every_byte() {
    for (name, whole, _) in datagrams() {
        assert!(decode(&whole, |_| {}).is_ok(), "{name}");
        for length in 0..=whole.len() {
            sound(&whole[..length]);
        }
        let mut changed = whole.clone();
        for at in 0..whole.len() {
            for value in 0..=u8::MAX {
                changed[at] = value;
                sound(&changed);
            }
            changed[at] = whole[at];
        }
    }
}

#[test]
fn every_pair_of_deciding_bytes() {
    for (_, whole, deciding) in datagrams() {
        let mut changed = whole.clone();
        for (i, &a) in deciding.iter().enumerate() {
            for &b in &deciding[i + 1..] {
                for values in 0..=u16::MAX {
                    [changed[a], changed[b]] = values.to_be_bytes();
                    sound(&changed);
                }
                (changed[a], changed[b]) = (whole[a], whole[b]);
            }
        }
    }
}

/// Returns the ends of reports of these lengths, by the specification: 4 bytes and `length` words;
/// 0xff and lengths below a word go to the end.
fn ends(payload: &[u8]) -> Result<Vec<usize>, DecodeError> {
    let (mut ends, mut offset) = (Vec::new(), 8);
    while payload.len() - offset >= 4 {
        let end = match payload[offset + 1] {
            0xff => payload.len(),
            words => offset + 4 + 4 * usize::from(words),
        };
        if end > payload.len() {
            return Err(DecodeError::ReportBeyondEnd { offset, end });
        }
        offset = if payload.len() - end < 4 {
            payload.len()
        } else {
            end
        };
        ends.push(offset);
    }
    Ok(ends)
}

#[test]
fn every_length_of_two_reports_and_of_what_follows_them() {
    for behind in 0..12 {
        // Packets without metadata; the third report takes the rest.
        let mut payload = hex("20000001 00000001");
        payload.resize(8 + 4 * 40 + behind, 0x20);
        for first in 0..=u8::MAX {
            payload[9] = first;
            let second = 8 + 4 + 4 * usize::from(first) + 1;
            for value in 0..=u8::MAX {
                if let Some(length) = payload.get_mut(second) {
                    *length = value;
                }
                let expected = ends(&payload);
                let mut seen = Vec::new();
                let start = payload.as_ptr() as usize;
                let result = decode(&payload, |r| {
                    let packet = r.inner.packet.as_ptr_range();
                    seen.push(packet.end as usize - start);
                });
                match expected {
                    Ok(expected) => assert_eq!((result, seen), (Ok(expected.len()), expected)),
                    Err(e) => assert_eq!(result, Err(e)),
                }
            }
            if let Some(length) = payload.get_mut(second) {
                *length = 0x20;
            }
        }
    }
}

/// Words of each item of the metadata, from the most significant bit on.
const ITEM_WORDS: [usize; 16] = [1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1];

/// The n-th word of metadata.
fn word(n: usize) -> u32 {
    0x0102_0300 * (n as u32 % 20 + 1) + n as u32
}

/// Returns the report with these items, each at the offset after the items before it.
fn expected(bits: u16, domain_bits: u16) -> (Report<'static>, usize) {
    let mut at = 0;
    let mut place = |present: bool, words: usize| {
        let here = present.then_some(at);
        at += if present { words } else { 0 };
        here
    };
    let items: Vec<Option<usize>> = (0..16)
        .map(|i| place(bits & 0x8000 >> i != 0, ITEM_WORDS[i]))
        .collect();
    let limit = place(domain_bits & domain::LIMIT != 0, 1);
    let policy = place(domain_bits & domain::POLICY != 0, 1);
    let item = |mask: u16| items[mask.leading_zeros() as usize];
    let half = |mask: u16, shift: u32| item(mask).map(|n| word(n) >> shift & 0xffff);
    let pair = |mask: u16, n: usize| item(mask).map(|first| word(first + n));
    let long = |mask: u16| item(mask).map(|n| u64::from(word(n)) << 32 | u64::from(word(n + 1)));
    let byte = |n: usize, shift: u32| (word(n) >> shift) as u8;
    let queue = item(metadata::QUEUE);
    let dropped = item(metadata::DROP);
    let report = Report {
        version: 2,
        sequence: 1,
        sequence_bits: 22,
        node_id: 1,
        tracked: true,
        dropped: dropped.is_some(),
        ingress_port: half(metadata::PORTS, 16).or(pair(metadata::PORTS2, 0)),
        egress_port: half(metadata::PORTS, 0).or(pair(metadata::PORTS2, 1)),
        hop_latency: item(metadata::HOP_LATENCY).map(word),
        queue_id: queue.or(dropped).map(|n| byte(n, 24)),
        queue_occupancy: queue.map(|n| word(n) & 0x00ff_ffff),
        ingress_ts: long(metadata::INGRESS_TIME),
        egress_ts: long(metadata::EGRESS_TIME),
        drop_reason: dropped.map(|n| byte(n, 16)),
        limit: limit.map(word),
        sampling_shift: policy.map(|n| byte(n, 24)),
        policy_flags: policy.map(|n| byte(n, 16)),
        first_in_datagram: true,
        ..Report::default()
    };
    (report, at)
}

#[test]
fn every_set_of_metadata() {
    const MOST: usize = 24;
    let mut payload = hex("20000001 00000001 14000020 00000000 00000000");
    payload[11] = flag::TRACKED;
    payload.extend((0..MOST).flat_map(|n| word(n).to_be_bytes()));
    let whole = payload.len();
    let ours = [
        0,
        domain::LIMIT,
        domain::POLICY,
        domain::LIMIT | domain::POLICY,
    ];
    for bits in 0..=u16::MAX {
        payload[12..14].copy_from_slice(&bits.to_be_bytes());
        for domain_bits in ours {
            payload[14..16].copy_from_slice(&DS_TIDEMARK.to_be_bytes());
            payload[16..18].copy_from_slice(&domain_bits.to_be_bytes());
            let (mut report, needed) = expected(bits, domain_bits);
            for words in needed.saturating_sub(1)..=needed + 1 {
                payload[9] = 2 + words as u8;
                payload[10] = words as u8;
                payload.truncate(20 + 4 * words);
                let mut seen = None;
                let result = decode(&payload, |r| seen = Some(*r));
                if words < needed {
                    let short = DecodeError::MetadataTooShort { offset: 8 };
                    assert_eq!(
                        (result, seen),
                        (Err(short), None),
                        "{bits:04x} {domain_bits:04x}"
                    );
                } else {
                    report.inner.kind = InnerKind::Ipv4;
                    assert_eq!((result, seen), (Ok(1), Some(report)), "{bits:04x}");
                }
                let from = (payload.len() - 20) / 4;
                payload.extend((from..MOST).flat_map(|n| word(n).to_be_bytes()));
                assert_eq!(payload.len(), whole);
            }
        }
    }
}

/// Whether bytes that count upwards begin a packet: Ethernet, IPv4, IPv6.
fn begins_well(packet: &[u8], kind: usize) -> bool {
    match (kind, packet.first()) {
        // An EtherType, or a length, which belongs to no known protocol.
        (0, _) => packet.get(12).is_none_or(|&b| b >= 6) || packet.len() < 14,
        (1, Some(first)) => (0x45..=0x4f).contains(first),
        (2, Some(first)) => first >> 4 == 6,
        _ => true,
    }
}

/// All that decides is in 20 bits in version 1, and in 12 in version 0.5.
#[test]
fn every_head_of_the_old_versions_at_every_length() {
    let mut payload: Vec<u8> = (0..72).collect();
    for head in 0..1u32 << 20 {
        payload[..4].copy_from_slice(&(1 << 28 | head << 8).to_be_bytes());
        let header_words = (head >> 16 & 0xf) as usize;
        let protocol = head >> 13 & 0x7;
        let optional = (head >> 7 & 0x3f).count_ones() as usize;
        for words in [3, 4, 5, 9, 10, 15, 18] {
            let cut = &payload[..4 * words];
            let mut packet_bytes = None;
            let result = decode(cut, |r| packet_bytes = Some(r.inner.packet.len()));
            let good = (4..=words).contains(&header_words)
                && protocol <= 2
                && 4 + optional <= header_words
                && head & 0x7e == 0
                && begins_well(&cut[4 * header_words..], protocol as usize)
                // None of these bytes are an IP packet, which a longer header needs.
                && 4 + optional == header_words;
            let left = good.then(|| 4 * (words - header_words));
            assert_eq!(
                (result.is_ok(), packet_bytes),
                (good, left),
                "{head:05x}, {words}"
            );
        }
    }
    let fixed_bytes = [12, 24, 28, 36, 16];
    // Reserved, after the reason of a drop.
    payload[22..24].fill(0);
    for head in 0..1u32 << 12 {
        payload[..4].copy_from_slice(&(head << 16).to_be_bytes());
        let fixed = fixed_bytes.get((head >> 8) as usize);
        for length in 0..=payload.len() {
            let mut packet_bytes = None;
            let result = decode(&payload[..length], |r| {
                packet_bytes = Some(r.inner.packet.len())
            });
            let left = fixed.and_then(|fixed| length.checked_sub(*fixed));
            let reserved = (head << 16) & 0x001f_ffc0;
            let kind = usize::from(head >> 8 >= 3);
            let left = left.filter(|left| {
                let packet = &payload[length - left..length];
                let flags = if head >> 8 == 1 { 0x80 } else { 0xe0 };
                let says_nothing = head & flags == 0 && (kind == 0 || *left == 0);
                reserved == 0 && begins_well(packet, kind) && !says_nothing
            });
            assert_eq!(
                (result.is_ok(), packet_bytes),
                (left.is_some(), left),
                "{head:03x}, {length}"
            );
        }
    }
}

#[test]
fn out_of_the_sample_are_marks_alone() {
    for (policy_flags, marked, out_of_sample) in [
        (None, false, false),
        (Some(0), false, false),
        (Some(1), true, false),
        (Some(2), false, false),
        (Some(3), true, true),
    ] {
        let report = Report {
            policy_flags,
            ..Report::default()
        };
        let found = (report.ce_marked(), report.out_of_sample());
        assert_eq!(found, (marked, out_of_sample), "{policy_flags:?}");
    }
}
