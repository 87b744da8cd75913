// SPDX-License-Identifier: Apache-2.0
use super::*;
use proptest::prelude::*;

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

fn frame(parts: &[&[u8]]) -> Vec<u8> {
    let mut all = MACS.to_vec();
    all.extend(parts.concat());
    all.extend([0x45, 0, 0, 20]);
    all
}

#[test]
fn tags_labels_and_sessions_lead_to_ip() {
    let v4: [(&[&[u8]], usize); 9] = [
        (&[&[8, 0]], 14),
        (&[&[0x81, 0, 0, 5, 8, 0]], 18),
        (&[&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]], 22),
        (
            &[&[0x88, 0x47], &[0, 6, 0x40, 0x40], &[0, 6, 0x41, 0x40]],
            22,
        ),
        (&[&[0x88, 0x64], &[0x11, 0, 0, 7, 0, 22], &[0, 0x21]], 22),
        (&[&[0, 40], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]], 22),
        (
            &[&[0x88, 0x47], &[0, 6, 0x41, 0x40], &[0; 4], &MACS, &[8, 0]],
            36,
        ),
        // A pseudowire without a control word, and labels in a PPPoE session.
        (&[&[0x88, 0x47], &[0, 6, 0x41, 0x40], &MACS, &[8, 0]], 32),
        (
            &[
                &[0x88, 0x64],
                &[0x11, 0, 0, 7, 0, 22],
                &[0x02, 0x81],
                &[0, 6, 0x41, 0x40],
            ],
            26,
        ),
    ];
    for (parts, at) in v4 {
        assert_eq!(ethernet(&frame(parts), 0), Ok(Ip { at, version: 4 }));
    }
    let v6 = frame(&[&[0x86, 0xdd]]);
    assert_eq!(ethernet(&v6, 0), Ok(Ip { at: 14, version: 6 }));
    let arp = frame(&[&[8, 6]]);
    assert_eq!(ethernet(&arp, 0), Err(NoIp::Other(0x806)));
    // Labels and sessions may carry protocols other than IP, without an EtherType.
    let labelled = frame(&[&[0x88, 0x47], &[0, 6, 0x41, 0x40], &[0xff; 30]]);
    assert_eq!(ethernet(&labelled, 0), Err(NoIp::Other(0x8847)));
    let session = frame(&[&[0x88, 0x64], &[0x11, 0, 0, 7, 0, 22], &[0, 0x0f]]);
    assert_eq!(ethernet(&session, 0), Err(NoIp::Other(0x8864)));
    assert_eq!(ethernet(&MACS, 0), Err(NoIp::Cut("Ethernet")));
}

/// Builds a UDP header to `port`, followed by `rest`.
fn udp(port: u16, rest: &[u8]) -> Vec<u8> {
    let mut all = vec![0, 9, 0, 0, 0, 0, 0, 0];
    all[2..4].copy_from_slice(&port.to_be_bytes());
    all.extend(rest);
    all
}

#[test]
fn tunnels_lead_to_the_packet_in_them() {
    let ethernet_ip = frame(&[&[8, 0]]);
    let ip = [0x45u8, 0, 0, 20];
    let behind = |header: &[u8], rest: &[u8]| [header, rest].concat();
    let cases: [(u8, Vec<u8>, usize); 15] = [
        (4, ip.to_vec(), 0),
        (47, behind(&[0, 0, 8, 0], &ip), 4),
        (
            47,
            behind(&[0xb0, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9], &ip),
            16,
        ),
        (47, behind(&[0, 0, 0x65, 0x58], &ethernet_ip), 18),
        (47, behind(&[0, 0, 0x88, 0xbe], &ethernet_ip), 18),
        (
            47,
            behind(
                &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2],
                &ethernet_ip,
            ),
            30,
        ),
        (
            47,
            behind(
                &[
                    0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 1, 4, 4, 4,
                    4, 5, 5, 5, 5,
                ],
                &ethernet_ip,
            ),
            42,
        ),
        (
            17,
            udp(4789, &behind(&[8, 0, 0, 0, 0, 0, 7, 0], &ethernet_ip)),
            30,
        ),
        (
            17,
            udp(4789, &behind(&[0x88, 0, 0, 3, 0, 0, 7, 0], &ethernet_ip)),
            30,
        ),
        (
            17,
            udp(4790, &behind(&[0x0c, 0, 0, 1, 0, 0, 7, 0], &ip)),
            16,
        ),
        // Scapy's VXLAN has a next protocol although it uses the VXLAN port.
        (
            17,
            udp(4789, &behind(&[0x0c, 0, 0, 3, 0, 0, 7, 0], &ethernet_ip)),
            30,
        ),
        (
            17,
            udp(
                6081,
                &behind(&[1, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 4], &ethernet_ip),
            ),
            34,
        ),
        (
            17,
            udp(2152, &behind(&[0x30, 0xff, 0, 4, 0, 0, 0, 1], &ip)),
            16,
        ),
        (
            17,
            udp(
                2152,
                &behind(
                    &[0x34, 0xff, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0],
                    &ip,
                ),
            ),
            24,
        ),
        (17, udp(6635, &behind(&[0, 6, 0x41, 0x40], &ip)), 12),
    ];
    for (protocol, bytes, at) in cases {
        let found = tunnel(&bytes, protocol, 0);
        assert_eq!(found, Some(Ok(Ip { at, version: 4 })), "{bytes:x?}");
    }
}

#[test]
fn a_port_alone_is_no_tunnel() {
    assert_eq!(tunnel(&udp(4789, &[0; 40]), 17, 0), None);
    assert_eq!(tunnel(&udp(2152, &[0x32, 1, 0, 4, 0, 0]), 17, 0), None);
    assert_eq!(tunnel(&udp(53, &[8; 40]), 17, 0), None);
    assert_eq!(tunnel(&[0; 40], 6, 0), None);
}

proptest! {
    #[test]
    fn no_bytes_break_it(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        protocol in prop_oneof![Just(4u8), Just(41), Just(47), Just(137), Just(17), any::<u8>()],
        port in prop_oneof![Just(4789u16), Just(4790), Just(6081), Just(2152), Just(6635)],
        at in 0usize..130,
    ) {
        let mut bytes = bytes;
        if let Some(place) = bytes.get_mut(2..4) {
            place.copy_from_slice(&port.to_be_bytes());
        }
        let _ = (ethernet(&bytes, at), ppp(&bytes, at), tunnel(&bytes, protocol, 0), tunnel(&bytes, protocol, at));
    }
}
