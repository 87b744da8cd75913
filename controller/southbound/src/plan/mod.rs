// SPDX-License-Identifier: Apache-2.0
//! Desired entries of a switch, independent of the protocol.

mod status;

pub use status::{Description, Health, Provisioned};
pub use tidemark_rules::Limit;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// When the program is pushed to the switch. Pushing clears all its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushMode {
    /// If the switch runs no program or another one (according to the cookie).
    #[default]
    IfDifferent,
    /// Every time.
    Always,
    /// Never: the switch must have it already.
    Never,
}

/// Everything that a switch needs before it can report and forward.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provision {
    /// P4Info of the program, protobuf text. Required unless `push = "never"`.
    pub p4info: Option<PathBuf>,
    /// The program in the target's own format (BMv2 JSON). Required with `p4info`.
    pub program: Option<PathBuf>,
    /// When to push it.
    pub push: PushMode,
    /// Forwarding entries for known addresses.
    pub forward: Vec<Forward>,
    /// Ports of the flood group; if empty, the group is left unchanged.
    pub flood_ports: Vec<u32>,
    /// Traffic to report.
    pub watch: Vec<Watch>,
    /// Destination of the reports; if absent, it is left unchanged.
    pub reports: Option<ReportDestination>,
    /// Egress ports that send no reports.
    pub reports_off_ports: Vec<u32>,
    /// Limits for ports that have none yet, by egress port number.
    pub limits: BTreeMap<String, Limit>,
    /// Queues of the ports; if absent, they are left unchanged.
    pub queues: Option<Queues>,
}

impl Provision {
    /// Describes the plan in words.
    pub fn in_words(&self) -> String {
        let mut parts = Vec::new();
        if let (Some(program), true) = (&self.program, self.push != PushMode::Never) {
            let when = match self.push {
                PushMode::Always => "",
                _ => " if the switch runs another one",
            };
            parts.push(format!("the program {}{when}", program.display()));
        }
        let mut count = |n: usize, what: &str| {
            if n > 0 {
                parts.push(format!("{n} {what}"));
            }
        };
        count(self.forward.len(), "forwarding entries");
        count(self.flood_ports.len(), "ports of the flood group");
        count(self.watch.len(), "watch entries");
        let uses = self.queues.as_ref().map_or(0, |q| q.uses.len());
        count(uses, "entries of queues");
        count(self.reports_off_ports.len(), "ports without reports");
        count(
            usize::from(self.reports.is_some()),
            "destination of reports",
        );
        for (port, limit) in &self.limits {
            parts.push(format!("{limit} if port {port} has no limit"));
        }
        format!("the plan: {}", parts.join(", "))
    }

    /// Rejects `queues` that no switch can have; the error names the key.
    pub fn check_queues(&self) -> Result<(), String> {
        let Some(q) = &self.queues else { return Ok(()) };
        if !(1..=MOST_QUEUES).contains(&q.count) {
            return Err(format!(
                "queues.count: {} is not within 1 to {MOST_QUEUES}",
                q.count
            ));
        }
        for (i, u) in q.uses.iter().enumerate() {
            let at = format!("queues.use[{i}]");
            if u.queue >= q.count {
                let (queue, count) = (u.queue, q.count);
                return Err(format!("{at}.queue: {queue} is none of {count} queues"));
            }
            if let Some(dscp) = u.dscp.filter(|&d| d > MOST_DSCP) {
                return Err(format!("{at}.dscp: {dscp} is above {MOST_DSCP}"));
            }
        }
        Ok(())
    }

    /// Returns the limits by port as a number.
    pub fn limit_ports(&self) -> Result<Vec<(u32, Limit)>, String> {
        self.limits
            .iter()
            .map(|(k, v)| match k.parse() {
                Ok(port) => Ok((port, *v)),
                Err(_) => Err(format!("limits.{k}: \"{k}\" is not a port number")),
            })
            .collect()
    }
}

/// Number of queues that a program can name: its `priority` has 3 bits.
const MOST_QUEUES: u8 = 8;
/// Largest DSCP: 6 bits.
const MOST_DSCP: u8 = 63;

/// Queues of the ports, with strict priority; the highest is served first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queues {
    /// Number of queues per port: the switch's `--priority-queues`.
    pub count: u8,
    /// Traffic for queues other than 0; earlier entries take precedence.
    #[serde(default, rename = "use")]
    pub uses: Vec<QueueUse>,
}

/// Traffic assigned to a queue; absent fields match anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueUse {
    /// Queue number; 0 is the lowest priority.
    pub queue: u8,
    /// Differentiated services code point of the IP header.
    pub dscp: Option<u8>,
    /// Port through which the packet leaves the switch.
    pub egress_port: Option<u32>,
}

/// One forwarding entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// Destination address, `aa:bb:cc:dd:ee:ff`.
    pub mac: String,
    /// Egress port.
    pub port: u32,
}

/// Traffic to report; absent fields match anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Source, `10.0.0.0/8`, `2001:db8::/32` or one address. An entry without addresses applies to
    /// IPv4 and IPv6.
    pub src: Option<String>,
    /// Destination, in the same form as `src`.
    pub dst: Option<String>,
    /// IP protocol number (6 = TCP, 17 = UDP).
    pub protocol: Option<u8>,
    /// Layer-4 source port.
    pub src_port: Option<u16>,
    /// Layer-4 destination port.
    pub dst_port: Option<u16>,
    /// Port through which the packet entered the switch.
    pub ingress_port: Option<u32>,
    /// Port through which the packet leaves the switch.
    pub egress_port: Option<u32>,
    /// One packet in 2^shift is reported; drops are always reported.
    #[serde(default)]
    pub sampling_shift: u8,
    /// `false`: matching packets are not reported.
    #[serde(default = "yes")]
    pub report: bool,
    /// The larger takes precedence; must be above 0. Default: earlier entries take precedence.
    pub priority: Option<i32>,
}

impl Watch {
    /// Returns the fields that are matched exactly, by the name of their key in the program.
    pub(crate) fn numbers(&self) -> [(&'static str, Option<u64>); 5] {
        [
            ("protocol", self.protocol.map(u64::from)),
            ("src_port", self.src_port.map(u64::from)),
            ("dst_port", self.dst_port.map(u64::from)),
            ("ingress_port", self.ingress_port.map(u64::from)),
            ("egress_port", self.egress_port.map(u64::from)),
        ]
    }
}

fn yes() -> bool {
    true
}

/// Destination of a switch's reports, and their header fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportDestination {
    /// Port of the switch that leads to the collector.
    pub port: u32,
    /// Node id written into the reports.
    pub node_id: u32,
    /// Source MAC of the reports.
    pub src_mac: String,
    /// MAC of the collector (or of the next router on the way to it).
    pub dst_mac: String,
    /// Source address of the reports.
    pub src_ip: Ipv4Addr,
    /// The collector's address.
    pub dst_ip: Ipv4Addr,
    /// The collector's UDP port.
    #[serde(default = "report_port")]
    pub udp_port: u16,
    /// Number of low bits of the flow hash that vary the source port (0 to 4).
    #[serde(default = "source_port_bits")]
    pub source_port_bits: u8,
}

fn report_port() -> u16 {
    32766
}

fn source_port_bits() -> u8 {
    2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_refused_that_a_port_has_not() {
        let plan = |text: &str| -> Provision { serde_json::from_str(text).unwrap() };
        let refused = |text: &str| plan(text).check_queues().unwrap_err();
        let good = r#"{"queues": {"count": 2, "use": [{"queue": 1, "dscp": 46}]}}"#;
        assert_eq!(plan(good).check_queues(), Ok(()));
        assert_eq!(plan("{}").check_queues(), Ok(()));
        let e = refused(r#"{"queues": {"count": 2, "use": [{"queue": 2}]}}"#);
        assert!(e.contains("use[0].queue: 2 is none of 2"), "{e}");
        let e = refused(r#"{"queues": {"count": 2, "use": [{"queue": 1, "dscp": 64}]}}"#);
        assert!(e.contains("use[0].dscp: 64"), "{e}");
        assert!(refused(r#"{"queues": {"count": 9}}"#).contains("1 to 8"));
        assert!(refused(r#"{"queues": {"count": 0}}"#).contains("1 to 8"));
    }

    #[test]
    fn limit_keys_must_be_ports() {
        let mut p = Provision::default();
        p.limits.insert("5".into(), Limit::Unlimited);
        assert_eq!(p.limit_ports(), Ok(vec![(5, Limit::Unlimited)]));
        p.limits.insert("five".into(), Limit::Unlimited);
        assert!(p.limit_ports().unwrap_err().contains("limits.five"));
    }
}
