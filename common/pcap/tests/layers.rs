// SPDX-License-Identifier: Apache-2.0
//! Tests datagrams inside all kinds of headers, and the reasons of frames without a datagram.
#![allow(clippy::unwrap_used)]

use std::io::Cursor;
use tidemark_pcap::{Datagrams, ETHERNET, LINUX_SLL, LINUX_SLL2, RAW, Reason, Writer};

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// Builds an IPv4 packet; `piece` is the word with fragment flags and offset.
fn ip(protocol: u8, piece: u16, payload: &[u8]) -> Vec<u8> {
    let mut p = vec![0x45, 0];
    p.extend((20 + payload.len() as u16).to_be_bytes());
    p.extend([0, 7]);
    p.extend(piece.to_be_bytes());
    p.extend([64, protocol, 0, 0, 192, 0, 2, 10, 192, 0, 2, 1]);
    p.extend(payload);
    p
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let mut p = vec![0, 9, 0, 5];
    p.extend((payload.len() as u16 + 8).to_be_bytes());
    p.extend([0, 0]);
    p.extend(payload);
    p
}

fn ethernet(ethertype: u16, rest: &[&[u8]]) -> Vec<u8> {
    let mut f = MACS.to_vec();
    f.extend(ethertype.to_be_bytes());
    f.extend(rest.concat());
    f
}

/// Returns the payloads of all datagrams, and the number of other frames by reason.
fn read(link: u32, frames: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<(Reason, u64)>) {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, link).unwrap();
    for f in frames {
        writer.write(1, f).unwrap();
    }
    writer.finish().unwrap();
    all(file)
}

fn all(file: Vec<u8>) -> (Vec<Vec<u8>>, Vec<(Reason, u64)>) {
    let mut datagrams = Datagrams::from_reader(Box::new(Cursor::new(file))).unwrap();
    let mut found = Vec::new();
    while let Some(d) = datagrams.next_datagram().unwrap() {
        assert_eq!((d.dst_port, d.src.to_string().as_str()), (5, "192.0.2.10"));
        found.push(d.payload.to_vec());
    }
    let unread = datagrams.unread;
    assert_eq!(datagrams.frames(), found.len() as u64 + unread.total());
    (found, unread.counts().filter(|c| c.1 > 0).collect())
}

#[test]
fn links_and_tunnels_lead_to_the_datagram() {
    let packet = ip(17, 0, &udp(b"hello"));
    let inner = ethernet(0x0800, &[&packet]);
    let gre =
        |header: &[u8], rest: &[u8]| ethernet(0x0800, &[&ip(47, 0, &[header, rest].concat())]);
    let vxlan = [
        &[0, 9, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 7, 0][..],
        &inner,
    ]
    .concat();
    let cases = [
        (ETHERNET, inner.clone()),
        (ETHERNET, ethernet(0x8100, &[&[0, 5, 8, 0], &packet])),
        (ETHERNET, ethernet(0x8847, &[&[0, 6, 0x41, 0x40], &packet])),
        (ETHERNET, ethernet(0x0800, &[&ip(4, 0, &packet)])),
        (ETHERNET, gre(&[0, 0, 8, 0], &packet)),
        (
            ETHERNET,
            gre(
                &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2],
                &inner,
            ),
        ),
        (
            ETHERNET,
            gre(
                &[
                    0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 2,
                ],
                &inner,
            ),
        ),
        (ETHERNET, ethernet(0x0800, &[&ip(17, 0, &vxlan)])),
        (RAW, packet.clone()),
        (LINUX_SLL, [&[0; 14][..], &[8, 0], &packet].concat()),
        (LINUX_SLL2, [&[8, 0][..], &[0; 18], &packet].concat()),
        (0, [&[2, 0, 0, 0][..], &packet].concat()),
    ];
    for (link, frame) in cases {
        let (found, unread) = read(link, std::slice::from_ref(&frame));
        assert_eq!(
            (found, unread),
            (vec![b"hello".to_vec()], vec![]),
            "{frame:x?}"
        );
    }
}

#[test]
fn frames_without_a_datagram_have_a_reason() {
    let packet = ip(17, 0, &udp(b"hello"));
    let frames = [
        ethernet(0x0806, &[&[0; 28]]),
        ethernet(0x88cc, &[&[0; 28]]),
        ethernet(0x0800, &[&ip(6, 0, &[0; 20])]),
        ethernet(0x0800, &[&ip(17, 0, &[0, 9, 0, 5, 0, 3, 0, 0])]),
        // Captured completely, but shorter than its header says.
        ethernet(0x0800, &[&packet[..30]]),
        ethernet(0x0800, &[&packet]),
    ];
    let (found, unread) = read(ETHERNET, &frames);
    let reasons = vec![(Reason::NotIp, 2), (Reason::NotUdp, 1), (Reason::Broken, 2)];
    assert_eq!((found.len(), unread), (1, reasons));
    // Cut by the capture: the frame was longer on the wire.
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, ETHERNET).unwrap();
    writer.write(1, &frames[4]).unwrap();
    writer.finish().unwrap();
    file[36..40].copy_from_slice(&47u32.to_le_bytes());
    assert_eq!(all(file), (vec![], vec![(Reason::Cut, 1)]));
}

#[test]
fn fragments_are_put_together_in_any_order() {
    let datagram = udp(&[7; 40]);
    let piece = |from: usize, to: usize, more: bool| {
        let word = (from / 8) as u16 | if more { 0x2000 } else { 0 };
        ethernet(0x0800, &[&ip(17, word, &datagram[from..to])])
    };
    let pieces = [
        piece(0, 16, true),
        piece(16, 32, true),
        piece(32, 48, false),
    ];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let frames = order.map(|i| pieces[i].clone());
        let (found, unread) = read(ETHERNET, &frames);
        assert_eq!(found, [vec![7; 40]]);
        assert_eq!(unread, [(Reason::Fragment, 2)]);
    }
    // A fragment that is missing, or that arrives twice.
    let (found, unread) = read(ETHERNET, &[pieces[0].clone(), pieces[2].clone()]);
    assert_eq!((found.len(), unread), (0, vec![(Reason::Fragment, 2)]));
    let doubled = [0, 0, 1, 2].map(|i: usize| pieces[i].clone());
    assert_eq!(read(ETHERNET, &doubled).0, [vec![7; 40]]);
    // Fragments of a tunnel packet.
    let whole = ip(17, 0, &datagram);
    let tunnelled = [&[0, 0, 8, 0][..], &whole].concat();
    let halves = [
        ethernet(0x0800, &[&ip(47, 0x2000, &tunnelled[..24])]),
        ethernet(0x0800, &[&ip(47, 3, &tunnelled[24..])]),
    ];
    assert_eq!(read(ETHERNET, &halves).0, [vec![7; 40]]);
}
