// SPDX-License-Identifier: Apache-2.0
use super::*;

fn event(line: &str) -> Event {
    parse_line(line.as_bytes()).unwrap().unwrap()
}

fn sample(line: &str) -> Sample {
    match event(line) {
        Event::Probe(sample) => sample,
        other => panic!("not a sample: {other:?}"),
    }
}

const LINUX_6_18: &str = "         python3-22837   [001] ..s2.  3144.635012: tcp_probe: family=AF_INET src=127.0.0.1:34510 dest=127.0.0.1:50359 mark=0x0 data_len=10 snd_nxt=0x4d04ad47 snd_una=0x4d03a68c snd_cwnd=11 ssthresh=2147483647 snd_wnd=95232 srtt=29 rcv_wnd=65536 sock_cookie=2 skbaddr=0000000016738dd3 skaddr=0000000036cb9e98\n";

#[test]
fn sample_of_linux_6_18() {
    let s = sample(LINUX_6_18);
    assert_eq!(
        s,
        Sample {
            time_ns: 3_144_635_012_000,
            flow: s.flow,
            data_len: 10,
            snd_nxt: 0x4d04_ad47,
            snd_una: 0x4d03_a68c,
            snd_cwnd: 11,
            ssthresh: 0x7fff_ffff,
            snd_wnd: 95_232,
            srtt_us: 29,
            rcv_wnd: 65_536,
            sock_cookie: 2,
        }
    );
    assert_eq!(
        s.flow.to_string(),
        "127.0.0.1:34510 > 127.0.0.1:50359 proto 6"
    );
}

#[test]
fn sample_of_linux_4_16() {
    // `length`, no family, no cookie, the older set of flags.
    let s = sample(
        "  <idle>-0     [003] ..s.  1017.009999: tcp_probe: src=10.0.0.1:40000 \
         dest=10.0.0.2:5001 mark=0 length=64 snd_nxt=0x1 snd_una=0x0 snd_cwnd=10 \
         ssthresh=20 snd_wnd=29312 srtt=20123 rcv_wnd=29312",
    );
    assert_eq!(
        (s.data_len, s.snd_cwnd, s.ssthresh, s.sock_cookie),
        (64, 10, 20, 0)
    );
    assert_eq!(s.time_ns, 1_017_009_999_000);
}

#[test]
fn sample_of_linux_5_with_cookie_and_unknown_fields() {
    let s = sample(
        " ksoftirqd/0-9 [000] d.s1 12.5: tcp_probe: src=[2001:db8::1]:443 \
         dest=[2001:db8::2]:50000 mark=0x7b data_len=0 snd_nxt=0xffffffff \
         snd_una=0xfffffff0 snd_cwnd=1 ssthresh=2 snd_wnd=3 srtt=4 rcv_wnd=5 \
         sock_cookie=1f2e3d future_field=x=y",
    );
    assert_eq!(s.time_ns, 12_500_000_000);
    assert_eq!(s.sock_cookie, 0x1f_2e3d);
    assert_eq!(s.snd_nxt, u32::MAX);
    assert_eq!(
        s.flow.to_string(),
        "[2001:db8::1]:443 > [2001:db8::2]:50000 proto 6"
    );
}

#[test]
fn mapped_addresses_become_ipv4() {
    let line = LINUX_6_18
        .replace("127.0.0.1:34510", "[::ffff:10.1.2.3]:34510")
        .replace("AF_INET ", "AF_INET6 ");
    assert_eq!(sample(&line).flow.src.to_string(), "10.1.2.3");
}

#[test]
fn time_stamps_of_any_precision() {
    for (text, ns) in [
        ("7.123456789", 7_123_456_789),
        ("7.1", 7_100_000_000),
        ("0.000001", 1_000),
    ] {
        assert_eq!(sample(&LINUX_6_18.replace("3144.635012", text)).time_ns, ns);
    }
    for text in [
        "7",
        "x.5",
        "7.",
        ".5",
        "7.1234567890",
        "99999999999999999999.0",
        "18446744073.9",
    ] {
        let line = LINUX_6_18.replace("3144.635012", text);
        // The last ones exceed 64 bits of nanoseconds.
        assert_eq!(
            parse_line(line.as_bytes()),
            Err(LineError::BadTime),
            "{text}"
        );
    }
}

/// One event as the tools print it: `perf script` has the group and prints 0 without `0x`.
#[test]
fn perf_and_trace_cmd_print_the_same_event() {
    let fields = "family=AF_INET src=10.0.1.1:40000 dest=10.0.2.2:5001 mark=0 data_len=0 \
        snd_nxt=0x3c78 snd_una=0 snd_cwnd=10 ssthresh=2147483647 snd_wnd=65536 srtt=20000 \
        rcv_wnd=65483 sock_cookie=bf skbaddr=0xffff888100000000 skaddr=0xffff888200000000";
    let expected = sample(&format!(
        "iperf3-3829 [003] ..s2. 1169.820000: tcp_probe: {fields}"
    ));
    assert_eq!((expected.snd_una, expected.snd_cwnd), (0, 10));
    for head in [
        "            iperf3  3829 [003]   1169.820000:          tcp:tcp_probe: ",
        "a b: c 3829/3830 [003] 1169.820000000:          1 tcp:tcp_probe: ",
        "  1169.820000: tcp:tcp_probe: ",
        "          iperf3-3829  [003]  1169.820000: tcp_probe:            ",
        "  host.dat:          iperf3-3829  [003] ..s2.  1169.820000: tcp_probe:            ",
    ] {
        let line = format!("{head}{fields}");
        assert_eq!(sample(&line), expected, "{line}");
        assert_eq!(time_ns(line.as_bytes()), Some(1_169_820_000_000));
    }
    let lost = "x 1 [000] 5.000001: tcp:tcp_retransmit_skb: family=AF_INET sport=22 dport=5 \
        saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2";
    assert!(matches!(event(lost), Event::Retransmit(_)));
}

#[test]
fn commands_may_contain_anything() {
    for comm in ["a b: c", "tcp_probe", "x: tcp_probe: ", "]: 5.0: y", "#1"] {
        let line = LINUX_6_18.replace("python3", comm);
        assert_eq!(sample(&line).snd_cwnd, 11, "command {comm:?}");
    }
}

#[test]
fn cong_state_of_linux_6_18_in_both_families() {
    let v4 = event(
        "  python3-22837   [001] ..s2.  3144.634715: tcp_cong_state_set: family=AF_INET \
         sport=50359 dport=34510 saddr=127.0.0.1 daddr=127.0.0.1 saddrv6=::ffff:127.0.0.1 \
         daddrv6=::ffff:127.0.0.1 cong_state=3",
    );
    let Event::CongState(v4) = v4 else {
        panic!("{v4:?}")
    };
    assert_eq!((v4.state, v4.time_ns), (3, 3_144_634_715_000));
    assert_eq!(
        v4.flow.to_string(),
        "127.0.0.1:50359 > 127.0.0.1:34510 proto 6"
    );
    // The IPv4 fields of an IPv6 socket hold no address.
    let v6 = event(
        "  python3-22837   [001] ..s2.  3144.635236: tcp_cong_state_set: family=AF_INET6 \
         sport=49371 dport=55352 saddr=127.0.0.6 daddr=127.0.0.6 saddrv6=::1 daddrv6=::1 \
         cong_state=0",
    );
    assert_eq!(v6.flow().to_string(), "[::1]:49371 > [::1]:55352 proto 6");
}

#[test]
fn retransmit_of_several_kernels() {
    let lines = [
        // 4.16
        "x-1 [000] ..s. 5.000001: tcp_retransmit_skb: sport=22 dport=50000 saddr=10.0.0.1 \
         daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2",
        // 5.x
        "x-1 [000] ..s. 5.000001: tcp_retransmit_skb: sport=22 dport=50000 saddr=10.0.0.1 \
         daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 state=TCP_ESTABLISHED",
        // 6.18
        "x-1 [000] ..s2. 5.000001: tcp_retransmit_skb: skbaddr=0000000016738dd3 \
         skaddr=0000000036cb9e98 family=AF_INET sport=22 dport=50000 saddr=10.0.0.1 \
         daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 state=TCP_ESTABLISHED err=0",
    ];
    for line in lines {
        let Event::Retransmit(event) = event(line) else {
            panic!("{line}")
        };
        assert_eq!(event.time_ns, 5_000_001_000);
        assert_eq!(
            event.flow.to_string(),
            "10.0.0.1:22 > 10.0.0.2:50000 proto 6"
        );
    }
}

#[test]
fn what_is_not_ours_is_nothing() {
    for line in [
        "",
        "\n",
        "# tracer: nop",
        "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION",
        "CPU:1 [LOST 1234 EVENTS]",
        "  sshd-1 [000] ..s2. 5.000001: tcp_destroy_sock: family=AF_INET sport=22",
        "tcp_probe: ",
    ] {
        assert_eq!(parse_line(line.as_bytes()), Ok(None), "{line:?}");
    }
}

#[test]
fn notices_of_loss() {
    assert_eq!(lost_events(b"CPU:1 [LOST 1234 EVENTS]\n"), Some(1234));
    assert_eq!(lost_events(b"CPU:12 [LOST 1 EVENTS]"), Some(1));
    assert_eq!(lost_events(LINUX_6_18.as_bytes()), None);
    assert_eq!(lost_events(b"CPU:1 [LOST x EVENTS]"), None);
    // A number that is not known is at least one.
    assert_eq!(lost_events(b"CPU:1 [LOST EVENTS]"), Some(1));
    assert_eq!(lost_events(b"CPU:1 [EVENTS DROPPED]"), Some(1));
    assert_eq!(lost_events(b"CPU:7 [204600 EVENTS DROPPED]"), Some(204_600));
    assert_eq!(
        lost_events(b"iperf3 3829 [003] 1169.82: PERF_RECORD_LOST lost 12"),
        Some(12)
    );
}

#[test]
fn missing_and_bad_fields_are_named() {
    for field in [
        "src", "dest", "data_len", "snd_nxt", "snd_una", "snd_cwnd", "ssthresh", "snd_wnd", "srtt",
        "rcv_wnd",
    ] {
        let line = LINUX_6_18.replace(&format!(" {field}="), " other=");
        assert_eq!(
            parse_line(line.as_bytes()),
            Err(LineError::Missing { field })
        );
        let line = LINUX_6_18.replace(&format!(" {field}="), &format!(" {field}=?"));
        assert_eq!(
            parse_line(line.as_bytes()),
            Err(LineError::BadValue { field })
        );
    }
    // Cut lines of a trace that was killed.
    for end in 0..LINUX_6_18.len() {
        let _ = parse_line(&LINUX_6_18.as_bytes()[..end]);
    }
    let state = "x-1 [0] . 5.0: tcp_cong_state_set: sport=1 dport=2 saddrv6=::1 daddrv6=::1";
    assert_eq!(
        parse_line(state.as_bytes()),
        Err(LineError::Missing {
            field: "cong_state"
        })
    );
    for bad in [
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256",
        "1..2.3",
        "a.b.c.d",
        "1.2.3.0004",
    ] {
        let line = LINUX_6_18.replace("src=127.0.0.1", &format!("src={bad}"));
        assert_eq!(
            parse_line(line.as_bytes()),
            Err(LineError::BadValue { field: "src" })
        );
    }
}

/// Reads the fields by both paths.
fn both_ways(line: &str) -> (Option<Sample>, Result<Sample, LineError>) {
    let at = line.find("tcp_probe: ").unwrap() + "tcp_probe: ".len();
    let fields = line[at..].trim_end().as_bytes();
    (fast_path::probe(5, fields), probe(5, fields))
}

#[test]
fn lines_as_kernels_print_them_take_the_fast_path() {
    let old = LINUX_6_18
        .replace("family=AF_INET ", "")
        .replace("mark=0x0", "mark=0")
        .replace("data_len", "length")
        .split(" sock_cookie")
        .next()
        .unwrap()
        .to_owned();
    for line in [LINUX_6_18.to_owned(), old] {
        let (fast, general) = both_ways(&line);
        assert_eq!(fast, Some(general.unwrap()), "{line}");
    }
}

proptest::proptest! {
    #[test]
    fn the_fast_way_never_differs(
        changes in proptest::collection::vec(
            (proptest::prelude::any::<proptest::sample::Index>(), "[ -~]{0,3}", 0usize..4), 0..4),
    ) {
        let start = LINUX_6_18.find("family").unwrap();
        let mut line = LINUX_6_18.trim_end().to_owned();
        for (place, text, removed) in changes {
            let from = start + place.index(line.len() - start);
            let to = (from + removed).min(line.len());
            line.replace_range(from..to, &text);
        }
        let at = LINUX_6_18.find("tcp_probe: ").unwrap() + "tcp_probe: ".len();
        let fields = line.as_bytes().get(at..).unwrap_or_default();
        if let Some(fast) = fast_path::probe(5, fields) {
            proptest::prop_assert_eq!(Ok(fast), probe(5, fields), "{}", line);
        }
    }

    #[test]
    fn no_line_panics(line in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = parse_line(&line);
        let _ = lost_events(&line);
    }

    #[test]
    fn no_damaged_line_panics(
        place in 0usize..LINUX_6_18.len(),
        byte in proptest::num::u8::ANY,
        cut in 0usize..LINUX_6_18.len(),
    ) {
        let mut line = LINUX_6_18.as_bytes().to_vec();
        line[place] = byte;
        let _ = parse_line(&line[cut..]);
        let _ = parse_line(&line[..cut]);
    }

    #[test]
    fn numbers_come_through(
        numbers in (proptest::num::u32::ANY, proptest::num::u32::ANY, proptest::num::u32::ANY,
                    proptest::num::u32::ANY, proptest::num::u16::ANY, proptest::num::u64::ANY),
        ports in (proptest::num::u16::ANY, proptest::num::u16::ANY),
        address in proptest::num::u128::ANY,
    ) {
        let (nxt, una, cwnd, srtt, len, cookie) = numbers;
        let src = std::net::SocketAddr::from((std::net::Ipv6Addr::from(address), ports.0));
        let line = format!("x-1 [000] ..s2. 5.000001: tcp_probe: family=AF_INET6 src={src} \
            dest=10.0.0.1:{} mark=0x0 data_len={len} snd_nxt={nxt:#x} snd_una={una:#x} \
            snd_cwnd={cwnd} ssthresh=1 snd_wnd=2 srtt={srtt} rcv_wnd=3 sock_cookie={cookie:x}",
            ports.1);
        let s = sample(&line);
        proptest::prop_assert_eq!(
            (s.snd_nxt, s.snd_una, s.snd_cwnd, s.srtt_us, s.data_len, s.sock_cookie),
            (nxt, una, cwnd, srtt, len, cookie)
        );
        proptest::prop_assert_eq!(s.flow.src, src.ip().to_canonical());
        proptest::prop_assert_eq!((s.flow.src_port, s.flow.dst_port), ports);
    }
}

/// `trace-cmd report --ts-diff`.
#[test]
fn the_time_since_the_event_before_is_passed_over() {
    let line = "  iperf3-3829  [003]  1169.820120: (+120)  tcp_probe:            family=AF_INET \
                src=10.0.1.1:40000 dest=10.0.2.2:5001 mark=0 data_len=0 snd_nxt=0x2 snd_una=0x1 \
                snd_cwnd=9 ssthresh=8 snd_wnd=7 srtt=6 rcv_wnd=5 sock_cookie=bf";
    assert_eq!(time_ns(line.as_bytes()), Some(1_169_820_120_000));
    let event = parse_line(line.as_bytes()).unwrap().unwrap();
    assert!(matches!(event, Event::Probe(s) if s.snd_cwnd == 9));
}
