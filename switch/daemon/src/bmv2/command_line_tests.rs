// SPDX-License-Identifier: Apache-2.0
use super::*;

fn line(line: &str) -> Result<Request, String> {
    let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    read(&words)
}

fn run(text: &str) -> Settings {
    match line(text) {
        Ok(Request::Run(s)) => s,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_mininet_script_passes() {
    let s = run(
        "-i 1@s1-eth1 -i 2@s1-eth2 --pcap /tmp/pcaps --nanolog ipc:///tmp/l.ipc --device-id 3 \
         build/x.json --log-console --thrift-port 9090 -- --grpc-server-addr 0.0.0.0:50051 \
         --cpu-port 255",
    );
    let ports = [(1, "s1-eth1".to_owned()), (2, "s1-eth2".to_owned())];
    assert_eq!(s.ports, BTreeMap::from(ports));
    assert_eq!(s.program, Some("build/x.json".into()));
    assert_eq!((s.device_id, s.cpu_port), (3, Some(255)));
    assert_eq!(s.grpc, Some("0.0.0.0:50051".parse().unwrap()));
    let ignored: Vec<_> = s.notices.iter().map(|n| n.split(':').next()).collect();
    let flags = ["--nanolog", "--log-console"];
    assert_eq!(s.thrift_port, Some(9090));
    assert_eq!(s.captures, Some("/tmp/pcaps".into()));
    assert_eq!(ignored, flags.map(Some));
}

#[test]
fn values_may_be_attached_and_are_optional_for_pcap() {
    let s = run("-i0@a --interface=1@b -Loff --pcap --no-p4");
    assert_eq!(s.ports.len(), 2);
    assert_eq!((s.program, s.device_id, s.grpc), (None, 0, None));
    assert_eq!(s.captures, Some(".".into()));
    assert_eq!(run("--pcap=. x.json").program, Some("x.json".into()));
    assert!(run("x.json --disable-swap").no_swap);
    let files = run("x.json --entries a.json --entries b.txt").entries;
    assert_eq!(files, ["a.json", "b.txt"].map(PathBuf::from));
}

#[test]
fn one_notice_for_an_option_that_is_given_twice() {
    assert_eq!(run("-L off --log-level info x.json").notices.len(), 1);
    assert_eq!(
        run("--drop-port 511 --priority-queues 1 x.json")
            .notices
            .len(),
        0
    );
    assert_eq!(run("--no-p4 x.json").notices.len(), 1);
    assert_eq!(run("x.json -- --priority-queues 8").priority_queues, 8);
}

#[test]
fn help_and_version() {
    assert_eq!(line("-i 1@a -h"), Ok(Request::Help));
    assert_eq!(line("--version"), Ok(Request::Version));
}

#[test]
fn errors_name_the_option() {
    for (text, names) in [
        ("", "--no-p4"),
        ("x.json y.json", "y.json"),
        ("x.json --no-such-thing 1", "--no-such-thing"),
        ("x.json -q", "-q"),
        ("x.json -", "\"-\""),
        ("x.json --no-p4=1", "--no-p4"),
        ("x.json --thrift-port", "--thrift-port"),
        ("x.json --thrift-port 65536", "--thrift-port"),
        ("--no-p4 --entries a.json", "--entries"),
        ("x.json -i eth0", "--interface"),
        ("x.json -i 1@", "--interface"),
        ("x.json -i 511@a", "510"),
        ("x.json -i 1@a -i 1@b", "port 1"),
        ("x.json --device-id one", "--device-id"),
        ("x.json --grpc-server-addr 50051", "--grpc-server-addr"),
        ("x.json --cpu-port 0", "--cpu-port"),
        ("x.json --cpu-port 511", "--cpu-port"),
        ("x.json -i 5@a --cpu-port 5", "--cpu-port 5"),
        ("x.json --drop-port 510", "--drop-port"),
        ("x.json --priority-queues 33", "--priority-queues"),
        ("x.json --priority-queues 0", "1 to 32"),
        ("x.json --use-files 1", "tidemark-switch pcap"),
        ("x.json --grpc-server-ssl", "--tls-certificate"),
    ] {
        let e = line(text).expect_err(text);
        assert!(e.contains(names), "{text}: {e}");
    }
}
