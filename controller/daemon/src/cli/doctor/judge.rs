// SPDX-License-Identifier: Apache-2.0
//! What a controller's own status means. No I/O.

use daemon_kit::doctor::Finding;
use tidemark_api::{Collector, Link, Status, Switch};

/// Above this share of reports lost no advice is applied (`control.max_report_loss`
/// says less or more).
const MUCH_LOSS: f64 = 0.01;
/// An exporter's clock that is so far ahead or behind is not the one of the samples.
const LATE_S: f64 = 1.0;
/// Of the drops of the hardware at least this share is to be reported: the deflection
/// queue loses some of a burst, and the two are read at different moments.
const MOST_DROPS: f64 = 0.9;

/// Collectors, switches, links and log, as the controller has them.
pub(super) fn judge(status: &Status, links: &[Link]) -> Vec<Finding> {
    let mut found: Vec<Finding> = status.collectors.iter().flat_map(collector).collect();
    if status.collectors.is_empty() {
        found.push(Finding::problem(
            "collectors",
            "none configured",
            "collectors = [\"HOST:9560\"]",
        ));
    }
    found.extend(status.switches.iter().flat_map(switch));
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
            format!("limit of port {} of node {}", d.port, d.node),
            format!("{} was found, and {} expected", d.found, d.expected),
            "someone else writes there; control.on_drift says what becomes of it",
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

fn switch(s: &Switch) -> Vec<Finding> {
    let check = format!("switch {} at {}", s.node, s.address);
    let h = &s.health;
    if !h.connected {
        let why = h.problem.clone().unwrap_or_else(|| "no answer".into());
        let remedy = "does it run, and is this its gRPC address?";
        return vec![Finding::problem(check, why, remedy)];
    }
    let mut found = Vec::new();
    if !h.program_loaded {
        found.push(Finding::problem(
            check.clone(),
            "no forwarding program is loaded",
            "`tidemark-controller provision`, with switches[].provision",
        ));
    }
    if let Some(problem) = &s.provision_problem {
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
    let check = format!("link {}:{}", l.node, l.port);
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

/// What the traffic manager dropped beside the drops that were reported meanwhile, packets.
pub(super) fn drops(check: String, hardware: u64, reported: u64) -> Finding {
    if hardware == 0 {
        let found = format!("the hardware dropped none, {reported} were reported by the program");
        return Finding::ok(check, found);
    }
    let found = format!("the hardware dropped {hardware}, {reported} were reported");
    if (reported as f64) < MOST_DROPS * hardware as f64 {
        return Finding::problem(
            check,
            found,
            "set hardware_drop to deflect with its queue (docs/how-to/tofino.md, \"Deflect on drop\"), or keep the traffic manager's limit above that of queue_limit",
        );
    }
    Finding::ok(check, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use daemon_kit::doctor::Verdict;

    fn recorded() -> (Status, Vec<Link>) {
        let status = include_str!("../../../../console/dev/fixtures/status.json");
        let links = include_str!("../../../../console/dev/fixtures/links.json");
        let links: tidemark_api::Links = serde_json::from_str(links).unwrap();
        (serde_json::from_str(status).unwrap(), links.links)
    }

    fn worst(status: &Status, links: &[Link], check: &str) -> Finding {
        let found = judge(status, links);
        let of_it = found.iter().filter(|f| f.check.starts_with(check));
        of_it.max_by_key(|f| f.verdict).unwrap().clone()
    }

    #[test]
    fn a_controller_that_is_well() {
        let (status, mut links) = recorded();
        for l in &mut links {
            (l.stale, l.age_s, l.lag_s) = (false, Some(0.1), Some(0.1));
        }
        for f in judge(&status, &links) {
            assert_ne!(f.verdict, Verdict::Problem, "{f:?}");
        }
        assert!(worst(&status, &links, "switch").found.contains("port"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let (mut status, mut links) = recorded();
        status.collectors[0].connected = false;
        status.collectors[0].problem = Some("refused".into());
        assert_eq!(worst(&status, &links, "collector").found, "refused");
        status.switches[0].health.program_loaded = false;
        assert_eq!(worst(&status, &links, "switch").verdict, Verdict::Problem);
        (links[0].stale, links[0].age_s, links[0].node_age_s) = (true, Some(9.0), Some(9.0));
        assert_eq!(worst(&status, &links, "link").verdict, Verdict::Problem);
        // The switch reports of other ports: this one is idle.
        links[0].node_age_s = Some(0.1);
        assert_eq!(worst(&status, &links[..1], "link").verdict, Verdict::Ok);
        assert_eq!(worst(&status, &[], "links").verdict, Verdict::Problem);
    }

    #[test]
    fn drops_of_the_hardware_are_to_be_reported() {
        let verdict = |hardware, reported| drops("drops".into(), hardware, reported).verdict;
        assert_eq!(verdict(0, 12), Verdict::Ok);
        assert_eq!(verdict(100, 90), Verdict::Ok);
        assert_eq!(verdict(100, 89), Verdict::Problem);
        assert_eq!(verdict(1, 0), Verdict::Problem);
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
