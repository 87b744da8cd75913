// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::encode::{encode, postcard};
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt as _;

const KEY: [u8; 32] = *b"0123456789abcdef0123456789ABCDEF";

fn keys() -> ReportKeys {
    ReportKeys::new(&[&KEY]).unwrap()
}

fn datagram(sequence: u32) -> Vec<u8> {
    encode(&[postcard(10, sequence, (2, 1), &[0x45; 40])]).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn verified(keys: &ReportKeys, payload: &[u8]) -> bool {
    tag::split(payload).is_some_and(|t| keys.verify(&t))
}

/// RFC 4231, test case 2, through the whole path; and a datagram whose code Python's `hmac`
/// computed.
#[test]
fn golden_vectors() {
    let jefe = hmac::Key::new(hmac::HMAC_SHA256, b"Jefe");
    assert_eq!(
        hex(&code(&jefe, b"what do ya want for nothing?")),
        "5bdcc146bf60754e6a042426089575c7"
    );
    let mut payload = vec![
        0x20, 0x40, 0, 5, 0, 0, 0, 10, // version 2, hw_id 1, sequence 5, node 10
        0x10, 3, 1, 0x20, 0x40, 0, 0, 0, 0, 0, 0, 0, // port ids only
        0, 1, 0, 2, // ingress 1, egress 2
    ];
    keys().append_tag(&mut payload, None).unwrap();
    assert_eq!(
        hex(&payload),
        concat!(
            "204000050000000a",
            "10030120400000000000000000010002",
            "100604000000544d20000000",
            "94fe3d9bea32e2e191e00960a74bd73d"
        )
    );
}

#[test]
fn one_key_signs_and_either_counts_while_keys_change() {
    let (old, new) = ([1u8; 16], [2u8; 64]);
    let [before, between, after] = [
        ReportKeys::new(&[&old]).unwrap(),
        ReportKeys::new(&[&new, &old]).unwrap(),
        ReportKeys::new(&[&new]).unwrap(),
    ];
    let signed = |keys: &ReportKeys| {
        let mut payload = datagram(1);
        keys.append_tag(&mut payload, None).unwrap();
        payload
    };
    let [by_old, by_new] = [signed(&before), signed(&between)];
    assert_eq!(by_new, signed(&after));
    assert!(verified(&between, &by_old) && verified(&between, &by_new));
    assert!(!verified(&before, &by_new) && !verified(&after, &by_old));
    assert_eq!(before, before.clone());
    assert_ne!(between, after);
    assert_eq!(format!("{between:?}"), "ReportKeys(2 of them)");
}

#[test]
fn a_file_holds_one_key_or_two_and_is_nobody_elses() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    let read = |text: &str, mode: u32| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        ReportKeys::read(&file).map_err(|e| e.to_string())
    };
    let one = hex(&KEY);
    assert_eq!(read(&format!("# of s1\n{one}\n"), 0o600), Ok(keys()));
    assert_eq!(read(&one, 0o440), Ok(keys()));
    assert!(read(&format!("{one}\n\n{}\n", &one[..32]), 0o600).is_ok());
    for mode in [0o644, 0o604, 0o660, 0o606] {
        let e = read(&one, mode).unwrap_err();
        assert!(e.contains("chmod 600") && !e.contains(&one[..8]), "{e}");
    }
    let three = format!("{one}\n{one}\n{one}\n");
    let (short, odd) = (&one[..30], &one[..63]);
    let long = one.repeat(3);
    for bad in [
        "",
        "# only\n",
        "no hex at all 0123456789 0123456789",
        &three,
    ] {
        assert!(read(bad, 0o600).unwrap_err().contains("openssl"), "{bad}");
    }
    for bad in [short, odd, &long] {
        let e = read(bad, 0o600).unwrap_err();
        assert!(e.contains("32 to 128") && !e.contains(&one[..8]), "{e}");
    }
    let none = ReportKeys::read(&dir.path().join("none")).unwrap_err();
    assert!(none.to_string().contains("none: cannot be read"), "{none}");
}

/// The example in docs/reference/reports.md, computed with Python.
#[test]
fn the_code_is_of_the_run_too() {
    let mut payload = vec![
        0x20, 0x40, 0, 5, 0, 0, 0, 10, 0x10, 3, 1, 0x20, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2,
    ];
    let run = tag::Run {
        boot: 1_800_000_000_000_000_000,
        datagram: 77,
    };
    keys().append_tag(&mut payload, Some(run)).unwrap();
    let parts = tag::split(&payload).unwrap();
    assert_eq!(parts.run, Some(run));
    assert_eq!(hex(parts.code), "e9f428d8ed1a622fb733fb7b77917020");
    assert!(keys().verify(&parts));
    let number = payload.len() - 17;
    payload[number] ^= 1;
    assert!(!verified(&keys(), &payload));
}

proptest! {
    /// Any change of a datagram is found: of its node, number, times, or code.
    #[test]
    fn every_changed_bit_is_found(sequence in 0u32..1 << 22, place: prop::sample::Index, bit in 0u8..8) {
        let mut payload = datagram(sequence);
        keys().append_tag(&mut payload, None).unwrap();
        prop_assert!(verified(&keys(), &payload));
        let place = place.index(payload.len());
        payload[place] ^= 1 << bit;
        prop_assert!(!verified(&keys(), &payload));
    }

    #[test]
    fn another_key_is_none(other in prop::collection::vec(any::<u8>(), 16..=64)) {
        prop_assume!(other != KEY);
        let mut payload = datagram(1);
        keys().append_tag(&mut payload, None).unwrap();
        prop_assert!(!verified(&ReportKeys::new(&[&other]).unwrap(), &payload));
    }
}
