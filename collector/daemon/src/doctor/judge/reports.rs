// SPDX-License-Identifier: Apache-2.0
//! Checks the path of the reports: how many arrived, and how many are missing.

use daemon_kit::doctor::Finding;
use int_report::Report;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;
use tidemark_pipeline::NodeConfig;

/// Remedy for missing datagrams.
const MISSING: &str = "the mirror's own queue, or the path to here, drops reports: use a report port \
                       that is fast and deep enough, or sampling (watch[].sampling_shift)";

/// Datagrams that arrived while the doctor listened.
#[derive(Debug, Default)]
pub(in crate::doctor) struct Heard {
    pub datagrams: u64,
    pub malformed: u64,
    pub first_error: Option<String>,
    /// Reports by node and sender.
    pub nodes: BTreeMap<(u32, IpAddr), NodeHeard>,
}

/// Reports of one node from one sender.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::doctor) struct NodeHeard {
    pub reports: u64,
    pub without_queue: u64,
    numbers: Vec<(u8, u32)>,
}

impl Heard {
    pub(in crate::doctor) fn datagram(&mut self, from: IpAddr, payload: &[u8]) {
        self.datagrams += 1;
        let nodes = &mut self.nodes;
        let read = int_report::decode(payload, |report: &Report<'_>| {
            let node = nodes.entry((report.node_id, from)).or_default();
            node.reports += 1;
            node.without_queue += u64::from(report.queue_occupancy.is_none());
            if report.first_in_datagram && node.numbers.len() < 1 << 16 {
                node.numbers.push((report.hw_id, report.sequence));
            }
        });
        if let Err(error) = read {
            self.malformed += 1;
            self.first_error.get_or_insert_with(|| error.to_string());
        }
    }
}

impl NodeHeard {
    /// Returns the number of datagrams missing between the received ones.
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
            // A larger gap means that the counter restarted.
            .filter(|gap| *gap < 1 << 20)
            .sum()
    }
}

fn none(seconds: f64) -> Finding {
    Finding::problem(
        "reports",
        format!("none in {seconds:.0} s"),
        "is there traffic at the watched port? Then follow docs/how-to/troubleshooting.md, \
         step 1, from the switch on",
    )
}

/// Checks the reports received in `seconds` against the configured nodes.
pub(in crate::doctor) fn reports(
    heard: &Heard,
    nodes: &BTreeMap<u32, NodeConfig>,
    seconds: f64,
) -> Vec<Finding> {
    let mut found = Vec::new();
    if heard.datagrams == 0 {
        found.push(none(seconds));
    }
    if let Some(error) = &heard.first_error {
        found.push(Finding::warning(
            "datagrams",
            format!(
                "{} of {} are not reports: {error}",
                heard.malformed, heard.datagrams
            ),
            "something else sends to this port, or the version of the reports is not supported",
        ));
    }
    for ((id, from), node) in &heard.nodes {
        found.push(sender(*id, *from, node, nodes.get(id), seconds));
    }
    let silent = |id: &&u32| !heard.nodes.keys().any(|k| k.0 == **id);
    for id in nodes.keys().filter(silent).filter(|_| heard.datagrams > 0) {
        found.push(Finding::warning(
            format!("node {id}"),
            format!("configured, and silent for {seconds:.0} s"),
            "does it have traffic, and does it send here?",
        ));
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
            MISSING,
        );
    }
    if heard.without_queue == heard.reports {
        return Finding::warning(
            check,
            format!("{found}; none has an occupancy"),
            "the switch's program has to report the queue (metadata bit 3)",
        );
    }
    Finding::ok(check, format!("{found}, none missing"))
}

/// Compares two status answers of a running collector, `seconds` apart.
pub(in crate::doctor) fn running(first: &Value, second: &Value, seconds: f64) -> Vec<Finding> {
    let at = |value: &Value, key: &str| value["reports"][key].as_u64().unwrap_or(0);
    let grown = |key: &str| at(second, key).saturating_sub(at(first, key));
    let received = grown("received");
    let rate = received as f64 / seconds;
    let mut found = vec![match received {
        0 => none(seconds),
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
    ] {
        let n = grown(key);
        if n > 0 {
            let what = format!("{n} {key} in {seconds:.0} s");
            found.push(Finding::warning(format!("reports {key}"), what, remedy));
        }
    }
    if received > 0 {
        found.push(mirror(grown("lost"), received));
    }
    found
}

/// Judges how many datagrams are missing, compared with the reports received.
fn mirror(lost: u64, received: u64) -> Finding {
    let check = "mirror and path";
    if lost == 0 {
        return Finding::ok(check, "no datagram is missing");
    }
    Finding::warning(
        check,
        format!("{lost} datagrams are missing, {received} reports came"),
        MISSING,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use daemon_kit::doctor::Verdict;
    use int_report::encode::{encode, postcard};

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
        // A counter that restarted is no loss.
        let restarted = heard("192.0.2.7", 10, &[4_000_000, 4_000_001, 0, 1]);
        assert_eq!(
            reports(&restarted, &nodes, 3.0).remove(0).verdict,
            Verdict::Ok
        );
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
        let status = |received, refused| serde_json::json!({"reports": {"received": received, "refused": refused, "lost": 3 * received}});
        let mut even = status(25, 1);
        even["reports"]["lost"] = status(5, 1)["reports"]["lost"].clone();
        let well = running(&status(5, 1), &even, 2.0);
        assert_eq!(well.len(), 2);
        assert_eq!(well[0].found, "20, 10 per second");
        assert_eq!(well[1].found, "no datagram is missing");
        let ill = running(&status(5, 1), &status(5, 9), 2.0);
        assert_eq!(ill[0].verdict, Verdict::Problem);
        assert_eq!(
            (ill[1].check.as_str(), ill[1].verdict),
            ("reports refused", Verdict::Warning)
        );
        let lossy = running(&status(5, 1), &status(25, 1), 2.0);
        assert_eq!(lossy[1].verdict, Verdict::Warning);
        assert_eq!(lossy[1].found, "60 datagrams are missing, 20 reports came");
    }
}
