// SPDX-License-Identifier: Apache-2.0
//! What facts mean. No I/O: what was found out is given.

use int_report::{DecodeError, Report};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use tidemark_findings::Finding;
use tidemark_pipeline::NodeConfig;

/// The oldest kernel that is supported.
const OLDEST_KERNEL: (u32, u32) = (5, 10);
/// Below this a capture of a few kHz of reports ends within the hour.
const LITTLE_SPACE_BYTES: u64 = 1 << 30;

/// `release` as `uname -r` has it.
pub(super) fn kernel(release: &str) -> Finding {
    let check = "kernel";
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        let remedy = "5.10 or newer is needed; check by hand";
        return Finding::warning(check, format!("{release}: no version"), remedy);
    };
    let (oldest_major, oldest_minor) = OLDEST_KERNEL;
    if (major, minor) < OLDEST_KERNEL {
        let remedy = format!("a kernel from {oldest_major}.{oldest_minor} on");
        return Finding::problem(check, release, remedy);
    }
    Finding::ok(check, release)
}

/// A socket buffer of `wanted_bytes`, where the kernel gives at most `most_bytes`
/// to who has no CAP_NET_ADMIN.
pub(super) fn receive_buffer(wanted_bytes: u64, most_bytes: u64, forced: bool) -> Finding {
    let check = "receive buffer";
    if forced || wanted_bytes <= most_bytes {
        return Finding::ok(check, format!("{wanted_bytes} bytes can be had"));
    }
    Finding::warning(
        check,
        format!("{wanted_bytes} bytes are wanted, and net.core.rmem_max is {most_bytes}"),
        format!("sysctl -w net.core.rmem_max={wanted_bytes} (the package's sysctl file does it)"),
    )
}

/// Whether an address can be listened on; `runs`: a collector with this
/// configuration answers.
pub(super) fn address(
    key: &str,
    address: SocketAddr,
    bound: Result<(), std::io::ErrorKind>,
    runs: bool,
) -> Finding {
    use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
    let check = format!("{key} {address}");
    match bound {
        Ok(()) if runs => Finding::warning(
            check,
            "free, although a collector answers at http.listen",
            "it runs with another configuration; start it again with this one",
        ),
        Ok(()) => Finding::ok(check, "free"),
        Err(AddrInUse) if runs => Finding::ok(check, "the collector that runs has it"),
        Err(AddrInUse) => Finding::problem(
            check,
            "another program has it",
            format!("find it with `ss -lnp`, or set another address as {key}"),
        ),
        Err(AddrNotAvailable) => Finding::problem(
            check,
            "no interface of this machine has the address",
            format!("set one that `ip -brief addr` shows, or 0.0.0.0, as {key}"),
        ),
        Err(PermissionDenied) => Finding::problem(
            check,
            "not permitted",
            "ports below 1024 need CAP_NET_BIND_SERVICE; take one above",
        ),
        Err(other) => Finding::problem(check, other.to_string(), "see the error"),
    }
}

/// Space for a capture.
pub(super) fn space(directory: &str, free_bytes: u64) -> Finding {
    let check = format!("capture.dir {directory}");
    let found = format!("writable, {:.1} GB free", free_bytes as f64 / 1e9);
    if free_bytes < LITTLE_SPACE_BYTES {
        return Finding::warning(
            check,
            found,
            "make room: 1 million reports take about 15 MB",
        );
    }
    Finding::ok(check, found)
}

/// What came while the doctor listened.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub datagrams: u64,
    pub malformed: u64,
    pub first_error: Option<String>,
    /// By node and sender: reports, and which of them carry a limit.
    pub nodes: BTreeMap<(u32, IpAddr), NodeHeard>,
}

/// What one node sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodeHeard {
    pub reports: u64,
    pub without_queue: u64,
    numbers: Vec<(u8, u32)>,
}

impl Heard {
    pub(super) fn datagram(&mut self, from: IpAddr, payload: &[u8]) {
        self.datagrams += 1;
        let nodes = &mut self.nodes;
        let read = int_report::decode(payload, |report: Report<'_>| {
            let node = nodes.entry((report.node_id, from)).or_default();
            node.reports += 1;
            node.without_queue += u64::from(report.queue_occupancy.is_none());
            if report.first_in_datagram && node.numbers.len() < 1 << 16 {
                node.numbers.push((report.hw_id, report.sequence));
            }
        });
        if let Err(error) = read {
            self.malformed(&error);
        }
    }

    fn malformed(&mut self, error: &DecodeError) {
        self.malformed += 1;
        self.first_error.get_or_insert_with(|| error.to_string());
    }
}

impl NodeHeard {
    /// Datagrams that are missing between those that came.
    fn missing(&self) -> u64 {
        let mut numbers = self.numbers.clone();
        numbers.sort_unstable();
        numbers.dedup();
        let pairs = numbers.windows(2);
        pairs
            .filter_map(|pair| match pair {
                [(a, x), (b, y)] if a == b => Some(u64::from(y - x) - 1),
                _ => None,
            })
            // The counter started anew in between.
            .filter(|gap| *gap < 1 << 20)
            .sum()
    }
}

/// Reports that came in `seconds`, against the nodes of the configuration.
pub(super) fn reports(
    heard: &Heard,
    nodes: &BTreeMap<u32, NodeConfig>,
    seconds: f64,
) -> Vec<Finding> {
    let mut found = Vec::new();
    if heard.datagrams == 0 {
        found.push(Finding::problem(
            "reports",
            format!("none in {seconds:.0} s"),
            "is there traffic at the watched port? Then follow docs/how-to/troubleshooting.md, \
             step 1, from the switch on",
        ));
    }
    if let Some(error) = &heard.first_error {
        found.push(Finding::warning(
            "datagrams",
            format!(
                "{} of {} are no reports: {error}",
                heard.malformed, heard.datagrams
            ),
            "something else sends to this port, or the reports are of a version that is not read",
        ));
    }
    for ((id, from), node) in &heard.nodes {
        found.push(sender(*id, *from, node, nodes.get(id), seconds));
    }
    for (id, _) in nodes
        .iter()
        .filter(|(id, _)| !heard.nodes.keys().any(|k| k.0 == **id))
    {
        if heard.datagrams > 0 {
            found.push(Finding::warning(
                format!("node {id}"),
                format!("configured, and silent for {seconds:.0} s"),
                "has it traffic, and does it send here?",
            ));
        }
    }
    found
}

fn sender(
    id: u32,
    from: IpAddr,
    heard: &NodeHeard,
    configured: Option<&NodeConfig>,
    seconds: f64,
) -> Finding {
    let check = format!("node {id} at {from}");
    let rate = heard.reports as f64 / seconds;
    let found = format!("{} reports, {rate:.0} per second", heard.reports);
    let Some(config) = configured else {
        let remedy = format!(
            "[nodes.{id}] with exporters = [\"{from}\"] in the configuration, if it is yours"
        );
        return Finding::problem(check, format!("{found}; not in the configuration"), remedy);
    };
    if !config.exporters.allow(from) {
        let remedy = format!("add \"{from}\" to nodes.{id}.exporters, if it is yours");
        return Finding::problem(check, format!("{found}; not one of its exporters"), remedy);
    }
    let missing = heard.missing();
    if missing > 0 {
        return Finding::warning(
            check,
            format!("{found}; {missing} datagrams are missing between them"),
            "the mirror's own queue, or the path to here, drops reports: a report port that is fast \
             enough, or a slower sampling",
        );
    }
    if heard.without_queue == heard.reports {
        return Finding::warning(
            check,
            format!("{found}; none has an occupancy"),
            "the switch's program has to report the queue (metadata bit 3)",
        );
    }
    Finding::ok(check, found)
}

/// Two answers of a running collector, `seconds` apart.
pub(super) fn running(first: &Value, second: &Value, seconds: f64) -> Vec<Finding> {
    let at = |value: &Value, key: &str| value["reports"][key].as_u64().unwrap_or(0);
    let grown = |key: &str| at(second, key).saturating_sub(at(first, key));
    let received = grown("received");
    let rate = received as f64 / seconds;
    let mut found = vec![match received {
        0 => Finding::problem(
            "reports",
            format!("none in {seconds:.0} s"),
            "is there traffic at the watched port? Then follow docs/how-to/troubleshooting.md, \
             step 1, from the switch on",
        ),
        n => Finding::ok("reports", format!("{n}, {rate:.0} per second")),
    }];
    for (key, remedy) in [
        (
            "refused",
            "`status --json` names who sends: [nodes.ID] and its exporters",
        ),
        ("malformed", "something else sends to this port"),
        (
            "kernel_drops",
            "receive.buffer_bytes, receive.shards, or a faster disk",
        ),
        (
            "lost",
            "the mirror's own queue, the path to here, or this machine, drops reports",
        ),
    ] {
        let n = grown(key);
        if n > 0 {
            let what = format!("{n} {key} in {seconds:.0} s");
            found.push(Finding::warning(format!("reports {key}"), what, remedy));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use int_report::encode::{encode, postcard};
    use std::io::ErrorKind;
    use tidemark_findings::Verdict;

    const HERE: &str = "192.0.2.1:32766";

    fn verdict(f: &Finding) -> Verdict {
        f.verdict
    }

    #[test]
    fn kernels() {
        assert_eq!(verdict(&kernel("6.1.0-18-amd64")), Verdict::Ok);
        assert_eq!(verdict(&kernel("5.10.0")), Verdict::Ok);
        assert_eq!(verdict(&kernel("5.4.0-generic")), Verdict::Problem);
        assert_eq!(verdict(&kernel("unknown")), Verdict::Warning);
    }

    #[test]
    fn a_buffer_is_given_or_forced() {
        assert_eq!(
            verdict(&receive_buffer(1 << 20, 1 << 20, false)),
            Verdict::Ok
        );
        assert_eq!(
            verdict(&receive_buffer(1 << 24, 1 << 20, true)),
            Verdict::Ok
        );
        let small = receive_buffer(1 << 24, 212_992, false);
        assert_eq!(verdict(&small), Verdict::Warning);
        assert!(small.remedy.unwrap().contains("rmem_max=16777216"));
    }

    #[test]
    fn addresses() {
        let at = |bound, runs| address("listen", HERE.parse().unwrap(), bound, runs).verdict;
        assert_eq!(at(Ok(()), false), Verdict::Ok);
        assert_eq!(at(Err(ErrorKind::AddrInUse), true), Verdict::Ok);
        assert_eq!(at(Ok(()), true), Verdict::Warning);
        assert_eq!(at(Err(ErrorKind::AddrInUse), false), Verdict::Problem);
        assert_eq!(
            at(Err(ErrorKind::AddrNotAvailable), false),
            Verdict::Problem
        );
    }

    fn heard(from: &str, node: u32, numbers: &[u32]) -> Heard {
        let mut heard = Heard::default();
        let inner = [0x45; 40];
        for n in numbers {
            let payload = encode(&[postcard(node, *n, (2, 1), &inner)]).unwrap();
            heard.datagram(from.parse().unwrap(), &payload);
        }
        heard
    }

    fn configured(exporter: &str) -> BTreeMap<u32, NodeConfig> {
        let text = format!("exporters = [\"{exporter}\"]");
        BTreeMap::from([(10, toml::from_str(&text).unwrap())])
    }

    #[test]
    fn silence_is_a_problem() {
        let found = reports(&Heard::default(), &configured("192.0.2.7"), 3.0);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].verdict, Verdict::Problem);
    }

    #[test]
    fn who_sends_is_held_against_the_configuration() {
        let nodes = configured("192.0.2.7");
        let one = |heard: &Heard| reports(heard, &nodes, 3.0).remove(0);
        assert_eq!(
            one(&heard("192.0.2.7", 10, &[5, 6, 7])).verdict,
            Verdict::Ok
        );
        let stranger = one(&heard("192.0.2.8", 10, &[5]));
        assert_eq!(stranger.verdict, Verdict::Problem);
        assert!(stranger.remedy.unwrap().contains("nodes.10.exporters"));
        let unknown = one(&heard("192.0.2.7", 11, &[5]));
        assert!(unknown.remedy.unwrap().contains("[nodes.11]"));
        let silent = reports(&heard("192.0.2.7", 11, &[5]), &nodes, 3.0).remove(1);
        assert_eq!(
            (silent.check.as_str(), silent.verdict),
            ("node 10", Verdict::Warning)
        );
    }

    #[test]
    fn what_is_missing_is_counted_in_any_order() {
        let nodes = configured("192.0.2.7");
        let lossy = reports(&heard("192.0.2.7", 10, &[9, 5, 6]), &nodes, 3.0).remove(0);
        assert_eq!(lossy.verdict, Verdict::Warning);
        assert!(
            lossy.found.contains("2 datagrams are missing"),
            "{}",
            lossy.found
        );
        // A counter that started anew is no loss.
        let anew = heard("192.0.2.7", 10, &[4_000_000, 4_000_001, 0, 1]);
        assert_eq!(reports(&anew, &nodes, 3.0).remove(0).verdict, Verdict::Ok);
    }

    #[test]
    fn what_is_no_report_says_why() {
        let mut heard = Heard::default();
        heard.datagram("192.0.2.9".parse().unwrap(), b"hello");
        let found = reports(&heard, &BTreeMap::new(), 3.0);
        assert_eq!(found[0].verdict, Verdict::Warning);
        assert!(found[0].found.starts_with("1 of 1"), "{}", found[0].found);
    }

    #[test]
    fn a_running_collector_is_asked_twice() {
        let status = |received, refused| serde_json::json!({"reports": {"received": received, "refused": refused, "lost": 3}});
        let well = running(&status(5, 1), &status(25, 1), 2.0);
        assert_eq!(well.len(), 1);
        assert_eq!(well[0].found, "20, 10 per second");
        let ill = running(&status(5, 1), &status(5, 9), 2.0);
        assert_eq!(ill[0].verdict, Verdict::Problem);
        assert_eq!(
            (ill[1].check.as_str(), ill[1].verdict),
            ("reports refused", Verdict::Warning)
        );
    }

    #[test]
    fn little_space_is_told() {
        assert_eq!(space("/x", 10 << 30).verdict, Verdict::Ok);
        assert_eq!(space("/x", 1 << 20).verdict, Verdict::Warning);
    }
}
