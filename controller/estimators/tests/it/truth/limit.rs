// SPDX-License-Identifier: Apache-2.0
//! Limit of a flow by its trace, if it differs from the generated one: a receiver's window that the
//! flow hardly ever reaches is no limit, and a connection that never opened is no long flow.

use serde_json::Value;
use std::collections::HashMap;
use std::net::IpAddr;
use tcp_probe::Event;

/// Least part of its time at the receiver's window with which a flow is window-limited. A sawtooth
/// between W/2 and W that a window would cut for a part f of its time loses f²/3 of its mean: less
/// than 1 % here. The losses decide what such a flow gets (BSCL §II).
const LEAST_AT_WINDOW: f64 = 0.15;
/// Longest time for which a sample holds, ns: beyond it the flow waits for a timeout.
const CARRY_NS: u64 = 2_000_000_000;

/// Time of a flow, and its time at the receiver's window, ns.
#[derive(Default)]
struct AtWindow {
    last: Option<(u64, bool)>,
    all: u64,
    at: u64,
}

impl AtWindow {
    fn sample(&mut self, time_ns: u64, at_window: bool) {
        if let Some((before, was)) = self.last.replace((time_ns, at_window)) {
            let length = time_ns.saturating_sub(before).min(CARRY_NS);
            self.all += length;
            self.at += if was { length } else { 0 };
        }
    }

    fn share(&self) -> Option<f64> {
        (self.all > 0).then(|| self.at as f64 / self.all as f64)
    }
}

/// Corrects the kinds of flows in the truth. A flow generated with a receiver's window, but kept
/// below it by losses here, is bottlenecked here. A flow that never delivered a byte has no rate to
/// limit: each of its SYNs was dropped.
pub(super) fn by_what_limits(truth: &mut Value, events: &[Event]) {
    let mss = truth["mss"].as_f64().unwrap_or(1448.0);
    let from_ns = (truth["warmup_s"].as_f64().unwrap() * 1e9) as u64;
    let mut flows: HashMap<(IpAddr, u16), AtWindow> = HashMap::new();
    for event in events {
        if let Event::Probe(s) = event
            && s.time_ns >= from_ns
        {
            let allowed = (f64::from(s.snd_cwnd) + 0.5) * mss;
            flows
                .entry((s.flow.src, s.flow.src_port))
                .or_default()
                .sample(s.time_ns, allowed >= f64::from(s.snd_wnd));
        }
    }
    for flow in truth["flows"].as_array_mut().unwrap() {
        if flow["bytes_delivered"].as_f64() == Some(0.0) {
            flow["kind"] = "short".into();
        }
        let number = |key: &str| flow[key].as_f64().unwrap_or(0.0);
        let signals = number("drops_all") + number("ce_marks");
        if flow["kind"] != "wl" || signals == 0.0 {
            continue;
        }
        let source: IpAddr = flow["src"].as_str().unwrap().parse().unwrap();
        let port = flow["sport"].as_u64().unwrap() as u16;
        let share = flows.get(&(source, port)).and_then(AtWindow::share);
        if share.is_some_and(|s| s < LEAST_AT_WINDOW) {
            flow["kind"] = "lbp".into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_never_opened_is_no_long_flow() {
        let mut truth = serde_json::json!({
            "warmup_s": 1.0,
            "flows": [
                {"kind": "lbp", "bytes_delivered": 0, "drops_all": 4},
                {"kind": "lbp", "bytes_delivered": 1448, "drops_all": 4},
                {"kind": "lbp"},
            ],
        });
        by_what_limits(&mut truth, &[]);
        let kinds: Vec<&str> = truth["flows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["short", "lbp", "lbp"]);
    }

    #[test]
    fn time_at_the_window_and_below() {
        let mut flow = AtWindow::default();
        assert_eq!(flow.share(), None);
        // At the window for one second, below for two; the pause counts as two.
        for (at_s, at_window) in [(0, true), (1, false), (2, false), (20, true)] {
            flow.sample(at_s * 1_000_000_000, at_window);
        }
        assert_eq!(flow.share(), Some(0.25));
    }
}
