// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::ring::Record;

#[path = "../../tests/common/recorded.rs"]
mod recorded;

const PROBE: &str = include_str!("../../fixtures/tcp_probe.linux-6.18.format");
const RETRANSMIT: &str = include_str!("../../fixtures/tcp_retransmit_skb.linux-6.18.format");
const CONG_STATE: &str = include_str!("../../fixtures/tcp_cong_state_set.linux-6.18.format");

fn layout() -> Layout {
    let mut layout = Layout::default();
    layout.set_probe(&Format::parse(PROBE).unwrap()).unwrap();
    layout
        .set_retransmit(&Format::parse(RETRANSMIT).unwrap())
        .unwrap();
    layout
        .set_cong_state(&Format::parse(CONG_STATE).unwrap())
        .unwrap();
    layout
}

fn recorded_events() -> Vec<Event> {
    let read = |(kind, body)| match Record::read(kind, body) {
        Record::Sample { time_ns, raw } => layout().read(time_ns, raw).unwrap(),
        other => panic!("{other:?}"),
    };
    recorded::records().into_iter().map(read).collect()
}

#[cfg(target_endian = "little")]
#[test]
fn recorded_ring() {
    let events = recorded_events();
    assert_eq!(events.len(), 6);
    let Event::Probe(sample) = events[1] else {
        panic!("{:?}", events[1])
    };
    assert_eq!(
        sample,
        Sample {
            time_ns: 3_912_132_691_872,
            flow: sample.flow,
            data_len: 32_741,
            snd_nxt: 382_609_259,
            snd_una: 382_609_259,
            snd_cwnd: 10,
            ssthresh: 0x7fff_ffff,
            snd_wnd: 65_536,
            srtt_us: 24,
            rcv_wnd: 65_483,
            sock_cookie: 4191,
        }
    );
    let flows: Vec<String> = events
        .iter()
        .map(|event| event.flow().to_string())
        .collect();
    assert_eq!(
        flows,
        [
            "127.0.0.1:39155 > 127.0.0.1:40810 proto 6",
            "127.0.0.1:39155 > 127.0.0.1:40810 proto 6",
            "127.0.0.1:39155 > 127.0.0.1:40810 proto 6",
            "[::1]:38447 > [::1]:53816 proto 6",
            "[::1]:53816 > [::1]:38447 proto 6",
            "[::1]:38447 > [::1]:53816 proto 6",
        ]
    );
    let Event::CongState(state) = events[0] else {
        panic!("{:?}", events[0])
    };
    assert_eq!((state.time_ns, state.state), (3_912_132_373_231, 0));
    let Event::Probe(v6) = events[4] else {
        panic!("{:?}", events[4])
    };
    assert_eq!(
        (v6.snd_nxt, v6.snd_una, v6.snd_wnd),
        (2_333_083_109, 2_333_017_645, 65_464)
    );
}

#[test]
fn retransmission_from_its_fields() {
    let format = Format::parse(RETRANSMIT).unwrap();
    let mut raw = vec![0; 80];
    raw[..2].copy_from_slice(&format.id.to_ne_bytes());
    let mut put = |name, bytes: &[u8]| {
        let offset = format.require(name, bytes.len()).unwrap();
        raw[offset..offset + bytes.len()].copy_from_slice(bytes);
    };
    put("sport", &5001u16.to_ne_bytes());
    put("dport", &40000u16.to_ne_bytes());
    put(
        "saddr_v6",
        &"::ffff:10.0.0.1".parse::<Ipv6Addr>().unwrap().octets(),
    );
    put(
        "daddr_v6",
        &"::ffff:10.0.0.2".parse::<Ipv6Addr>().unwrap().octets(),
    );
    let event = layout().read(9, &raw).unwrap();
    assert_eq!(event.time_ns(), 9);
    assert!(matches!(event, Event::Retransmit(_)));
    assert_eq!(
        event.flow().to_string(),
        "10.0.0.1:5001 > 10.0.0.2:40000 proto 6"
    );
    for length in 0..74 {
        assert_eq!(layout().read(9, &raw[..length]), None, "{length}");
    }
}

#[test]
fn bad_samples() {
    let id = Format::parse(PROBE).unwrap().id;
    let mut raw = vec![0; 136];
    assert_eq!(layout().read(0, &raw), None);
    raw[..2].copy_from_slice(&id.to_ne_bytes());
    assert_eq!(layout().read(0, &raw), None);
    assert_eq!(layout().read(0, &[]), None);
}

#[test]
fn older_kernels_lack_fields_or_name_them_otherwise() {
    // Linux 4.16: `length`, no family, no cookie.
    let old: String = PROBE
        .lines()
        .filter(|line| {
            !["family", "sock_cookie", "skbaddr", "skaddr"]
                .iter()
                .any(|n| line.contains(n))
                || line.starts_with("print")
        })
        .map(|line| line.replace(" data_len;", " length;") + "\n")
        .collect();
    let mut layout = Layout::default();
    layout.set_probe(&Format::parse(&old).unwrap()).unwrap();
    let without = PROBE.replace(" snd_una;", " other;");
    let error = Layout::default()
        .set_probe(&Format::parse(&without).unwrap())
        .unwrap_err();
    assert!(error.to_string().contains("no field `snd_una`"), "{error}");
}
