// SPDX-License-Identifier: Apache-2.0
//! Contract with the P4 program that all drivers share, independent of the protocol.

use crate::values::{mac, prefix};
use crate::{Error, Limit, ReportDestination, Watch};
use ipnet::IpNet;

/// The multicast group of flooded frames (contract with the P4 program).
pub(crate) const FLOOD_GROUP: u32 = 1;

/// Tables of watched traffic, for IPv4 and IPv6.
pub(crate) const WATCH_TABLES: [&str; 2] = ["watch", "watch6"];

/// Table that assigns traffic to queues.
pub(crate) const QUEUE_TABLE: &str = "queue_of";

/// Returns the prefixes that a watch names as `src` and `dst`; both must be of one address family.
/// `field` names the watch in error messages.
pub(crate) fn watched_ends(w: &Watch, field: &str) -> Result<Vec<(&'static str, IpNet)>, Error> {
    let mut ends = Vec::new();
    for (name, text) in [("src", &w.src), ("dst", &w.dst)] {
        if let Some(text) = text {
            ends.push((name, prefix(text, &format!("{field}.{name}"))?));
        }
    }
    match ends[..] {
        [(_, a), (_, b)] if a.network().is_ipv6() != b.network().is_ipv6() => {
            let problem = "source and destination are of different address families";
            Err(Error::value(format!("{field}.dst"), problem))
        }
        _ => Ok(ends),
    }
}

/// Returns the arguments of the action `set_destination` of the table `report_to`.
pub(crate) fn destination(d: &ReportDestination) -> Result<[(&'static str, u64); 7], Error> {
    if d.source_port_bits > 4 {
        return Err(Error::value(
            "reports.source_port_bits",
            format!("{} is more than 4", d.source_port_bits),
        ));
    }
    Ok([
        ("src_mac", mac(&d.src_mac, "reports.src_mac")?),
        ("dst_mac", mac(&d.dst_mac, "reports.dst_mac")?),
        ("src_ip", u64::from(u32::from(d.src_ip))),
        ("dst_ip", u64::from(u32::from(d.dst_ip))),
        ("udp_dst_port", u64::from(d.udp_port)),
        ("src_port_mask", (1 << d.source_port_bits) - 1),
        ("node_id", u64::from(d.node_id)),
    ])
}

/// Value of `limit` in the action `mark_ce` that means no limit (`LIMIT_NONE` of the P4 program).
const LIMIT_NONE: u64 = 0xFFFF_FFFF;

/// Names of the arguments of the actions of `queue_limit`, without their unit.
const THRESHOLD: &str = "threshold";
const LIMIT: &str = "limit";

/// Returns the name of a parameter without its unit: `limit` for `limit_bytes` (v1model) and
/// `limit_cells` (TNA).
pub(crate) fn without_unit(name: &str) -> &str {
    let unit = ["_bytes", "_cells"];
    unit.iter()
        .find_map(|u| name.strip_suffix(u))
        .unwrap_or(name)
}

/// Returns the arguments of the action of the table `queue_limit`, by name without unit, in units
/// of the target. `parameters`: number of parameters of the program's action.
///
/// If the program's `mark_ce` has one parameter (releases without a limit above the threshold), it
/// only accepts a limit of `None`, which is its behaviour.
///
/// # Errors
/// A limit that is not above the threshold in units of the target or does not fit the field, or two
/// values for a program that takes one.
pub(crate) fn limit_arguments(
    limit: Limit,
    unit_bytes: u32,
    parameters: usize,
) -> Result<Vec<(&'static str, u64)>, Error> {
    let unit = u64::from(unit_bytes.max(1));
    match limit {
        Limit::DropTail { limit_bytes } => Ok(vec![(LIMIT, limit_bytes / unit)]),
        Limit::MarkCe {
            threshold_bytes,
            limit_bytes,
        } => {
            limit.rounded(unit_bytes).check().map_err(|m| {
                let text = format!("in the switch's units of {unit} bytes: {m}");
                Error::value("limit_bytes", text)
            })?;
            let threshold = (THRESHOLD, threshold_bytes / unit);
            match (limit_bytes.map(|b| b / unit), parameters) {
                (None, 1) => Ok(vec![threshold]),
                (Some(_), 1) => Err(Error::value(
                    "limit_bytes",
                    "the program on the switch marks above a threshold without a limit (its mark_ce has one parameter): load the program of this release, or leave limit_bytes out",
                )),
                (Some(units), _) if units >= LIMIT_NONE => Err(Error::value(
                    "limit_bytes",
                    format!("{units} does not fit 32 bits"),
                )),
                (units, _) => Ok(vec![threshold, (LIMIT, units.unwrap_or(LIMIT_NONE))]),
            }
        }
        Limit::Unlimited => Ok(Vec::new()),
    }
}

/// Returns the limit of an entry of `queue_limit`, from its action and its arguments by name, in
/// units of the target.
pub(crate) fn limit_of(
    action: Option<&str>,
    arguments: &[(&str, u64)],
    unit_bytes: u32,
) -> Result<Limit, Error> {
    let bytes = |units: u64| units.saturating_mul(u64::from(unit_bytes.max(1)));
    let named = |name: &str| {
        let found = arguments.iter().find(|(n, _)| without_unit(n) == name);
        found.map(|&(_, units)| units)
    };
    // The only parameter, whatever its name.
    let first = arguments.first().map(|&(_, units)| units);
    let missing = |name: &str| {
        let text = format!("the entry of action {action:?} has no {name}");
        Error::value("queue_limit", text)
    };
    match action {
        Some("drop_tail") => Ok(Limit::DropTail {
            limit_bytes: bytes(first.ok_or_else(|| missing(LIMIT))?),
        }),
        Some("mark_ce") if arguments.len() == 1 => Ok(Limit::MarkCe {
            threshold_bytes: bytes(first.ok_or_else(|| missing(THRESHOLD))?),
            limit_bytes: None,
        }),
        Some("mark_ce") => {
            let limit = named(LIMIT).ok_or_else(|| missing(LIMIT))?;
            Ok(Limit::MarkCe {
                threshold_bytes: bytes(named(THRESHOLD).ok_or_else(|| missing(THRESHOLD))?),
                limit_bytes: (limit < LIMIT_NONE).then(|| bytes(limit)),
            })
        }
        Some("unlimited") => Ok(Limit::Unlimited),
        other => {
            let text = format!("unknown action {other:?}");
            Err(Error::value("queue_limit", text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(threshold_bytes: u64, limit_bytes: Option<u64>) -> Limit {
        Limit::MarkCe {
            threshold_bytes,
            limit_bytes,
        }
    }

    fn refused(limit: Limit, unit: u32, parameters: usize) -> String {
        let e = limit_arguments(limit, unit, parameters).unwrap_err();
        e.to_string()
    }

    #[test]
    fn what_is_written_is_read() {
        let all = [
            Limit::DropTail { limit_bytes: 800 },
            mark(800, Some(1600)),
            mark(800, None),
            Limit::Unlimited,
        ];
        for limit in all {
            let arguments = limit_arguments(limit, 80, 2).unwrap();
            assert_eq!(
                limit_of(Some(limit.action()), &arguments, 80).unwrap(),
                limit
            );
        }
        let arguments = limit_arguments(mark(800, Some(1600)), 80, 2).unwrap();
        assert_eq!(arguments, [("threshold", 10), ("limit", 20)]);
        // Arguments by name, with the program's unit, in any order.
        let read = limit_of(
            Some("mark_ce"),
            &[("limit_cells", 20), ("threshold_cells", 10)],
            80,
        );
        assert_eq!(read.unwrap(), mark(800, Some(1600)));
    }

    #[test]
    fn a_program_with_one_value_marks_without_a_limit() {
        assert_eq!(
            limit_arguments(mark(800, None), 80, 1).unwrap(),
            [("threshold", 10)]
        );
        let read = limit_of(Some("mark_ce"), &[("limit_cells", 10)], 80).unwrap();
        assert_eq!(read, mark(800, None));
        let e = refused(mark(800, Some(1600)), 80, 1);
        assert!(
            e.contains("one parameter") && e.contains("leave limit_bytes out"),
            "{e}"
        );
    }

    #[test]
    fn what_the_target_cannot_hold_is_refused() {
        let e = refused(mark(81, Some(159)), 80, 2);
        assert!(e.contains("80 bytes") && e.contains("not above"), "{e}");
        let e = refused(mark(1, Some(LIMIT_NONE)), 1, 2);
        assert!(e.contains("does not fit 32 bits"), "{e}");
    }

    #[test]
    fn an_entry_that_makes_no_sense_is_an_error() {
        assert!(limit_of(Some("forward"), &[], 1).is_err());
        assert!(limit_of(None, &[], 1).is_err());
        assert!(limit_of(Some("drop_tail"), &[], 1).is_err());
        assert!(limit_of(Some("mark_ce"), &[("a", 1), ("b", 2)], 1).is_err());
    }
}
