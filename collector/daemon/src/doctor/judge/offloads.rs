// SPDX-License-Identifier: Apache-2.0
//! Checks the offloads of a network interface, which affect how reports are received.

use crate::receive::Path;
use daemon_kit::doctor::Finding;

/// Offloads as `ethtool -k` shows them; `None` if the driver does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::doctor) struct Offloads {
    pub interface: String,
    pub gro: Option<bool>,
    pub lro: Option<bool>,
}

/// Checks how the reports of an address are received. `wanted`: whether the configuration asks for
/// a ring (`receive.path`).
pub(in crate::doctor) fn receive_path(of: &Path, wanted: bool) -> Finding {
    let check = format!("receive path of {}", of.address.ip());
    match &of.no_ring {
        None => Finding::ok(check, "through a packet ring"),
        Some(_) if !wanted => Finding::ok(
            check,
            "through a socket; `receive.path = \"ring\"` costs less if reports arrive one by one",
        ),
        Some(why) => Finding::warning(
            check,
            format!("through a socket: {why}"),
            "docs/reference/collector.md, \"Reports one by one\"",
        ),
    }
}

/// Checks an interface's offloads. `wanted`: whether the collector uses GRO (`receive.gro`).
pub(in crate::doctor) fn offloads(of: &Offloads, wanted: bool) -> Finding {
    let check = format!("offloads of {}", of.interface);
    // LRO merges only TCP packets.
    let lro = match of.lro {
        Some(true) => "; LRO is on, and leaves reports as they are",
        _ => "",
    };
    match of.gro {
        _ if !wanted => Finding::ok(
            check,
            format!("GRO is not used (receive.gro, receive.path){lro}"),
        ),
        Some(true) => Finding::ok(
            check,
            format!("GRO is on: several reports of one exporter are received at a time{lro}"),
        ),
        Some(false) => Finding::warning(
            check,
            format!("GRO is off: each report is received by itself, and costs more{lro}"),
            format!("ethtool -K {} gro on", of.interface),
        ),
        None => Finding::warning(
            check,
            "its driver does not say whether GRO is on",
            format!("see `ethtool -k {}`", of.interface),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daemon_kit::doctor::Verdict;

    #[test]
    fn a_socket_is_a_warning_where_a_ring_was_asked_for() {
        let of = |no_ring: Option<&str>| Path {
            address: "192.0.2.1:32766".parse().unwrap(),
            path: crate::receive::ReceivePath::Socket,
            no_ring: no_ring.map(Into::into),
        };
        let verdict = |no_ring, wanted| receive_path(&of(no_ring), wanted).verdict;
        assert_eq!(verdict(None, true), Verdict::Ok);
        assert_eq!(verdict(Some("no right"), false), Verdict::Ok);
        assert_eq!(verdict(Some("no right"), true), Verdict::Warning);
        assert!(
            receive_path(&of(Some("no right")), true)
                .found
                .contains("no right")
        );
    }

    fn eth0(gro: Option<bool>, lro: Option<bool>) -> Offloads {
        Offloads {
            interface: "eth0".into(),
            gro,
            lro,
        }
    }

    #[test]
    fn gro_is_wanted_and_lro_does_nothing() {
        let on = offloads(&eth0(Some(true), Some(true)), true);
        assert_eq!(on.verdict, Verdict::Ok);
        assert!(on.found.contains("LRO is on"), "{}", on.found);
        let off = offloads(&eth0(Some(false), Some(false)), true);
        assert_eq!(off.verdict, Verdict::Warning);
        assert_eq!(off.remedy.unwrap(), "ethtool -K eth0 gro on");
        assert!(!off.found.contains("LRO"), "{}", off.found);
        let unused = offloads(&eth0(Some(false), None), false);
        assert_eq!(unused.verdict, Verdict::Ok);
        assert_eq!(offloads(&eth0(None, None), true).verdict, Verdict::Warning);
    }
}
