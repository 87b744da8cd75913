// SPDX-License-Identifier: Apache-2.0
//! Rates and delays that `tc` has set on an interface.
//!
//! BMv2 sends through the interface's queueing disciplines, so a slow link fills its queues.
//! This switch bypasses them; their settings become the port's rate and delay.

use std::process::Command;

use traffic_manager::PortConfig;

use crate::units;

/// Default depth of a port's queue in BMv2, in frames.
pub(crate) const DEPTH_PACKETS: u32 = 64;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shaping {
    pub config: PortConfig,
    /// Settings that could not be adopted, one line each.
    pub notices: Vec<String>,
}

/// Parses the output of `tc qdisc show` and `tc class show` for one interface.
pub(super) fn read(qdiscs: &str, classes: &str) -> Shaping {
    let mut s = Shaping {
        config: PortConfig {
            depth_packets: DEPTH_PACKETS,
            ..PortConfig::default()
        },
        notices: Vec::new(),
    };
    let mut rates: Vec<&str> = Vec::new();
    for line in qdiscs.lines() {
        match line.split_whitespace().nth(1) {
            Some("tbf") => rates.extend(after(line, "rate")),
            Some("netem") => {
                rates.extend(after(line, "rate"));
                s.delay(after(line, "delay").unwrap_or("0"));
                for word in ["loss", "duplicate", "corrupt", "reorder", "gap"] {
                    if after(line, word).is_some() {
                        s.notices
                            .push(format!("netem's {word} has no effect on frames sent here"));
                    }
                }
            }
            None | Some("htb" | "noqueue" | "pfifo_fast" | "mq" | "fq_codel" | "pfifo" | "fq") => {}
            Some(other) => s
                .notices
                .push(format!("{other} has no effect on frames sent here")),
        }
    }
    for line in classes.lines().filter(|l| l.starts_with("class htb")) {
        rates.extend(after(line, "rate"));
    }
    match rates[..] {
        [] => {}
        [one] => s.rate(one),
        _ => s.notices.push(format!(
            "{} rates on one interface: none is taken over",
            rates.len()
        )),
    }
    s
}

/// Returns the word after `word`.
fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.split_whitespace().skip_while(|w| *w != word).nth(1)
}

impl Shaping {
    fn rate(&mut self, text: &str) {
        match units::rate(text) {
            Ok(r) => self.config.rate_bps = r,
            Err(e) => self.notices.push(format!("tc: {e}")),
        }
    }

    fn delay(&mut self, text: &str) {
        match units::delay(text) {
            Ok(d) => self.config.delay_ns = d,
            Err(e) => self.notices.push(format!("tc: {e}")),
        }
    }
}

/// Queries `tc` about an interface of the current network namespace.
pub(super) fn of(interface: &str) -> Shaping {
    let ask = |what: &str| {
        let done = Command::new("tc")
            .args([what, "show", "dev", interface])
            .output()
            .ok()?;
        done.status
            .success()
            .then(|| String::from_utf8_lossy(&done.stdout).into_owned())
    };
    match (ask("qdisc"), ask("class")) {
        (Some(qdiscs), Some(classes)) => read(&qdiscs, &classes),
        _ => {
            let mut s = read("", "");
            s.notices
                .push("tc does not answer, so the port is unlimited".into());
            s
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_mininet() {
        let s = read(
            "qdisc htb 5: root refcnt 3 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 1000\n\
             qdisc netem 10: parent 5:1 limit 1000 delay 1.5ms\n",
            "class htb 5:1 root leaf 10: prio 0 rate 500Kbit ceil 500Kbit burst 15Kb cburst 1600b\n",
        );
        assert_eq!((s.config.rate_bps, s.config.delay_ns), (500_000, 1_500_000));
        assert_eq!(s.config.depth_packets, 64);
        assert_eq!(s.notices, [""; 0]);
    }

    #[test]
    fn no_shaping_is_no_limit() {
        let s = read("qdisc noqueue 0: root refcnt 2\n", "");
        assert_eq!((s.config.rate_bps, s.config.delay_ns), (0, 0));
        assert!(s.notices.is_empty());
    }

    #[test]
    fn a_token_bucket() {
        let s = read(
            "qdisc tbf 8001: root refcnt 3 rate 1Mbit burst 15Kb lat 10ms\n",
            "class tbf 8001:1 parent 8001:\n",
        );
        assert_eq!(s.config.rate_bps, 1_000_000);
    }

    #[test]
    fn what_is_not_taken_over_is_said() {
        let s = read(
            "qdisc netem 10: root limit 1000 delay 1ms loss 1%\nqdisc red 6: root limit 1Mb\n",
            "class htb 5:1 root rate 1Mbit ceil 1Mbit\nclass htb 5:2 root rate 2Mbit ceil 2Mbit\n",
        );
        assert_eq!(s.config.rate_bps, 0);
        let said = s.notices.join("\n");
        for word in ["loss", "red", "2 rates"] {
            assert!(said.contains(word), "{said}");
        }
        assert_eq!(read("qdisc tbf 1: root rate odd\n", "").notices.len(), 1);
    }
}
