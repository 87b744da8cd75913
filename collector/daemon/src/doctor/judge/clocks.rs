// SPDX-License-Identifier: Apache-2.0
//! Checks this machine's clock, and the nodes' clocks against the senders'.

use daemon_kit::doctor::Finding;
use serde_json::Value;

/// Largest plausible drift: two quartz clocks differ by less, and NTP slews a clock by no more.
const MUCH_DRIFT_PPM: f64 = 500.0;

/// State of the kernel's wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::doctor) struct WallClock {
    pub synchronised: bool,
    /// Maximum error of the clock, in microseconds.
    pub error_us: i64,
}

pub(in crate::doctor) fn wall_clock(clock: Option<WallClock>) -> Finding {
    let check = "wall clock";
    match clock {
        Some(c) if c.synchronised => Finding::ok(
            check,
            format!("synchronised, at most {} ms off", c.error_us / 1000),
        ),
        Some(_) => Finding::warning(
            check,
            "not synchronised: dates of captures and of the log may be wrong; measurements \
             do not depend on it",
            "`timedatectl set-ntp true`, or chrony",
        ),
        None => Finding::warning(check, "the kernel does not say", "see `timedatectl`"),
    }
}

/// Checks the clock of each node against each sender's, from a running collector's status.
pub(in crate::doctor) fn clocks(status: &Value) -> Vec<Finding> {
    let known = status["clocks"].as_array().map_or(&[][..], Vec::as_slice);
    let candidates = status["join"]["candidates"].as_u64().unwrap_or(0);
    if known.is_empty() && candidates > 0 {
        return vec![Finding::warning(
            "clocks",
            format!("none compared yet, after {candidates} packets of probed flows"),
            "does the agent of each sender answer? `tidemark-collector status --json`, agents",
        )];
    }
    known.iter().map(clock).collect()
}

fn clock(c: &Value) -> Finding {
    let host = c["host"].as_str().unwrap_or("?");
    let node = &c["node_id"];
    let check = format!("clocks of node {node} and {host}");
    let ahead_s = c["node_minus_host_s"].as_f64().unwrap_or(0.0);
    let drift_ppm = c["node_drift_ppm"].as_f64().unwrap_or(0.0);
    let found = format!("node minus host {ahead_s:.6} s, drift {drift_ppm:+.2} ppm");
    if drift_ppm.abs() > MUCH_DRIFT_PPM {
        return Finding::warning(
            check,
            format!("{found}: two good clocks do not drift apart so fast"),
            format!(
                "does {host} step its clock (`chronyc tracking`)? Is nodes.{node}.profile that of \
                 the switch?"
            ),
        );
    }
    Finding::ok(check, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use daemon_kit::doctor::Verdict;

    #[test]
    fn this_machines_clock() {
        let clock = |synchronised| WallClock {
            synchronised,
            error_us: 16_000,
        };
        let well = wall_clock(Some(clock(true)));
        assert_eq!(
            (well.verdict, well.found.as_str()),
            (Verdict::Ok, "synchronised, at most 16 ms off")
        );
        assert_eq!(wall_clock(Some(clock(false))).verdict, Verdict::Warning);
        assert_eq!(wall_clock(None).verdict, Verdict::Warning);
    }

    fn status(drift_ppm: f64) -> Value {
        serde_json::json!({"clocks": [{
            "node_id": 10, "host": "h1", "node_minus_host_s": -2.5, "node_drift_ppm": drift_ppm,
        }]})
    }

    #[test]
    fn nodes_beside_hosts() {
        let well = clocks(&status(-12.0)).remove(0);
        assert_eq!(well.verdict, Verdict::Ok);
        assert_eq!(well.check, "clocks of node 10 and h1");
        assert!(well.found.contains("-2.500000 s, drift -12.00 ppm"));
        let drifting = clocks(&status(-501.0)).remove(0);
        assert_eq!(drifting.verdict, Verdict::Warning);
        assert!(drifting.remedy.unwrap().contains("nodes.10.profile"));
    }

    #[test]
    fn none_compared_is_told_where_there_are_senders() {
        assert!(clocks(&serde_json::json!({"join": {"candidates": 0}})).is_empty());
        let silent = serde_json::json!({"clocks": [], "join": {"candidates": 7}});
        assert_eq!(clocks(&silent)[0].verdict, Verdict::Warning);
    }
}
