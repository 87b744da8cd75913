// SPDX-License-Identifier: Apache-2.0
//! Findings for `doctor` from the controller's status: collectors, switches, links, log. No I/O.

use daemon_kit::doctor::Finding;
use tidemark_api::{Collector, Link, Status, Switch};
use tidemark_estimators::LinkId;

/// If a larger share of reports is lost, no advice is applied (`control.max_report_loss` may set
/// another bound).
const MUCH_LOSS: f64 = 0.01;
/// Telemetry that lags further behind the switch's clock is late, s.
const LATE_S: f64 = 1.0;
/// Part of the message of a driver that cannot write.
const NOT_WRITTEN: &str = "dry run: nothing was written";
/// Returns the findings about collectors, switches, links and log.
pub(crate) fn findings(status: &Status, links: &[Link]) -> Vec<Finding> {
    let mut found: Vec<Finding> = status.collectors.iter().flat_map(collector).collect();
    if status.collectors.is_empty() {
        found.push(Finding::problem(
            "collectors",
            "none configured",
            "collectors = [\"HOST:9560\"]",
        ));
    }
    let switches = status.switches.iter();
    found.extend(switches.flat_map(|s| switch(s, status.dry_run)));
    if status.switches.is_empty() {
        found.push(Finding::ok(
            "switches",
            "none configured: limits are advised, not set",
        ));
    }
    found.extend(links.iter().map(link));
    if links.is_empty() {
        found.push(Finding::problem(
            "links",
            "none has reported",
            "`tidemark-collector doctor` on the collector's machine follows the reports",
        ));
    }
    found.extend(status.drift.iter().map(|d| {
        Finding::warning(
            format!("limit of link {}", LinkId::new(d.node, d.port, d.queue)),
            format!("{} was found, and {} expected", d.found, d.expected),
            "someone else writes there; control.on_drift decides what happens then",
        )
    }));
    if let Some(problem) = &status.audit.problem {
        found.push(Finding::problem(
            "audit log",
            problem,
            "make room, or give the file to the user that the controller runs as",
        ));
    }
    found
}

fn collector(c: &Collector) -> Vec<Finding> {
    let check = format!("collector {}", c.address);
    if !c.connected {
        let why = c.problem.clone().unwrap_or_else(|| "no answer yet".into());
        let remedy = "does it run, and is this its grpc.listen? Credentials: docs/how-to/tls.md";
        return vec![Finding::problem(check, why, remedy)];
    }
    let s = &c.status;
    let mut found = Vec::new();
    let reports = s.reports_received + s.reports_lost;
    let lost = s.reports_lost as f64 / reports.max(1) as f64;
    if lost > MUCH_LOSS {
        found.push(Finding::warning(
            check.clone(),
            format!("{:.2} % of the reports are lost", 100.0 * lost),
            "the mirror's own queue, the path, or the collector's machine: `tidemark-collector doctor`",
        ));
    }
    for node in &s.nodes_of_two_clocks {
        found.push(Finding::problem(
            check.clone(),
            format!("two clocks report as node {node}: it gets no advice"),
            "`tidemark-collector status` names the addresses; give the node a key_file",
        ));
    }
    if c.updates_lost > 0 {
        found.push(Finding::warning(
            check.clone(),
            format!("{} updates missed", c.updates_lost),
            "this machine is too slow for so many links",
        ));
    }
    if found.is_empty() {
        let what = format!("version {}, {} reports", c.version, s.reports_received);
        found.push(Finding::ok(check.clone(), what));
    }
    let malformed = s.datagrams_malformed.unwrap_or(0);
    if s.reports_received == 0 {
        let what = match malformed {
            0 => "none so far".into(),
            n => format!("none so far; {n} datagrams were not valid reports"),
        };
        found.push(Finding::problem(
            format!("reports at {}", c.address),
            what,
            "`tcpdump -ni any -c 3 udp port 32766` on the collector's machine shows them as they \
             come; packets have to leave a watched port",
        ));
    } else if malformed > 0 {
        found.push(Finding::warning(
            format!("reports at {}", c.address),
            format!("{malformed} datagrams were not valid reports"),
            "`tidemark-collector doctor` on the collector's machine follows the reports",
        ));
    }
    if s.probe_samples == 0 {
        found.push(Finding::warning(
            format!("tcp_probe at {}", c.address),
            "no sample of a sender so far: estimates are less certain",
            "`tidemark-collector agent` on each sender needs root or CAP_PERFMON, and TCP \
             connections that send",
        ));
    }
    if s.probe_samples > 0 && s.join_candidates > 0 && 2 * s.join_matched < s.join_candidates {
        found.push(Finding::warning(
            format!("{check}: join"),
            format!(
                "{} of {} packets joined with their sender",
                s.join_matched, s.join_candidates
            ),
            "is every sender's agent connected, and are packets seen once only?",
        ));
    }
    found
}

fn switch(s: &Switch, dry_run: bool) -> Vec<Finding> {
    let check = format!("switch {} at {}", s.node, s.address);
    let h = &s.health;
    if !h.connected {
        let why = h.problem.clone().unwrap_or_else(|| "no answer".into());
        let remedy = "does it run, and is this its gRPC address?";
        return vec![Finding::problem(check, why, remedy)];
    }
    let mut found = Vec::new();
    if !h.program_loaded {
        let why = h.problem.as_deref();
        let why = why.unwrap_or("no forwarding program is loaded");
        let remedy = "`tidemark-controller provision`; BFRT: docs/how-to/tofino.md, \"Load\"";
        found.push(Finding::problem(check.clone(), why, remedy));
    }
    // A dry run writes nothing, however well the switch is provisioned.
    let problem = s.provision_problem.as_ref();
    if let Some(problem) = problem.filter(|p| !(dry_run && p.contains(NOT_WRITTEN))) {
        let remedy = "docs/reference/api.md, switches.provision";
        found.push(Finding::problem(check.clone(), problem, remedy));
    }
    if found.is_empty() {
        let limits = s
            .limits
            .iter()
            .map(|(port, limit)| format!("port {port}: {limit}"));
        let limits = limits.collect::<Vec<_>>().join("; ");
        let limits = if limits.is_empty() {
            "no limit read".into()
        } else {
            limits
        };
        found.push(Finding::ok(check, limits));
    }
    found
}

fn link(l: &Link) -> Finding {
    let check = format!("link {}", LinkId::new(l.node, l.port, l.queue));
    match (l.age_s, l.node_age_s, l.lag_s) {
        (None, ..) => Finding::warning(check, "no report yet", "is there traffic at this port?"),
        (Some(age), Some(node), _) if l.stale && node < age => Finding::ok(
            check,
            format!("idle: its newest report is {age:.1} s old, the switch's {node:.1} s"),
        ),
        (Some(age), ..) if l.stale => Finding::problem(
            check,
            format!("its newest report is {age:.1} s old"),
            "the switch is silent: `tidemark-collector doctor`",
        ),
        (_, _, Some(lag)) if lag > LATE_S => Finding::warning(
            check,
            format!("telemetry lies {lag:.1} s behind the switch's clock"),
            "the collector, or the way to it, holds reports back",
        ),
        _ if l.capacity_bps == 0 => Finding::warning(
            check,
            "its capacity is not configured",
            "nodes.ID.ports.PORT.capacity_bps in the collector's configuration",
        ),
        (Some(age), ..) => Finding::ok(check, format!("newest report {age:.2} s old")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daemon_kit::doctor::Verdict;

    fn recorded() -> (Status, Vec<Link>) {
        let status = include_str!("../../console/dev/fixtures/status.json");
        let links = include_str!("../../console/dev/fixtures/links.json");
        let links: tidemark_api::Links = serde_json::from_str(links).unwrap();
        (serde_json::from_str(status).unwrap(), links.links)
    }

    fn worst(status: &Status, links: &[Link], check: &str) -> Finding {
        let found = findings(status, links);
        let of_it = found.iter().filter(|f| f.check.starts_with(check));
        of_it.max_by_key(|f| f.verdict).unwrap().clone()
    }

    #[test]
    fn a_controller_that_is_well() {
        let (status, mut links) = recorded();
        for l in &mut links {
            (l.stale, l.age_s, l.lag_s) = (false, Some(0.1), Some(0.1));
        }
        for f in findings(&status, &links) {
            assert_ne!(f.verdict, Verdict::Problem, "{f:?}");
        }
        assert!(worst(&status, &links, "switch").found.contains("port"));
    }

    #[test]
    fn a_look_that_writes_nothing_is_no_problem() {
        let (mut status, links) = recorded();
        let verdict = |status: &Status| worst(status, &links, "switch").verdict;
        assert_eq!(verdict(&status), Verdict::Ok);
        for s in &mut status.switches {
            let text = format!("switch {}: {NOT_WRITTEN}; it would be the plan", s.address);
            s.provision_problem = Some(text);
        }
        status.dry_run = false;
        assert_eq!(verdict(&status), Verdict::Problem);
        status.dry_run = true;
        assert_eq!(verdict(&status), Verdict::Ok);
        for s in &mut status.switches {
            s.provision_problem = Some("no table queue_limit".into());
        }
        assert_eq!(verdict(&status), Verdict::Problem);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let (mut status, mut links) = recorded();
        status.collectors[0].connected = false;
        status.collectors[0].problem = Some("refused".into());
        assert_eq!(worst(&status, &links, "collector").found, "refused");
        status.switches[0].health.program_loaded = false;
        let found = worst(&status, &links, "switch");
        assert_eq!(found.verdict, Verdict::Problem);
        assert_eq!(found.found, "no forwarding program is loaded");
        status.switches[0].health.problem = Some("table $mirror.cfg: not understood".into());
        let found = worst(&status, &links, "switch").found;
        assert_eq!(found, "table $mirror.cfg: not understood");
        (links[0].stale, links[0].age_s, links[0].node_age_s) = (true, Some(9.0), Some(9.0));
        assert_eq!(worst(&status, &links, "link").verdict, Verdict::Problem);
        // The switch reports other ports: this one is idle.
        links[0].node_age_s = Some(0.1);
        assert_eq!(worst(&status, &links[..1], "link").verdict, Verdict::Ok);
        assert_eq!(worst(&status, &[], "links").verdict, Verdict::Problem);
    }

    #[test]
    fn a_collector_that_nothing_reaches_is_told() {
        let (mut status, _) = recorded();
        let s = &mut status.collectors[0].status;
        (s.reports_received, s.probe_samples) = (0, 0);
        s.datagrams_malformed = Some(3);
        let found = findings(&status, &[]);
        let of = |start: &str| found.iter().find(|f| f.check.starts_with(start)).unwrap();
        assert_eq!(of("reports at ").verdict, Verdict::Problem);
        assert!(of("reports at ").found.contains("3 datagrams"));
        assert_eq!(of("tcp_probe at ").verdict, Verdict::Warning);
    }

    #[test]
    fn lost_reports_are_told() {
        let (mut status, links) = recorded();
        status.collectors[0].status.reports_received = 900;
        status.collectors[0].status.reports_lost = 100;
        let found = worst(&status, &links, "collector");
        assert_eq!(
            (found.verdict, found.found.as_str()),
            (Verdict::Warning, "10.00 % of the reports are lost")
        );
    }
}
