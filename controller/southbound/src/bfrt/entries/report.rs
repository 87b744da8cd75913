// SPDX-License-Identifier: Apache-2.0
//! Entries for the reported traffic, and the mirror sessions that carry reports.

use super::put;
use crate::bfrt::client::Item;
use crate::bfrt::info::{Info, Part, Table, Value};
use crate::program_contract::{WATCH_TABLES, destination, watched_ends};
use crate::{Error, ReportDestination, Watch};
use ipnet::IpNet;
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::update::Type;

/// A mirror session of the program: the session truncates packets, and how much of a packet a
/// report needs depends on its headers.
pub(crate) struct Session {
    pub id: u64,
    /// Headers of the packets in this session.
    pub headers: String,
    header_bytes: u64,
}

impl Session {
    /// Returns the length of the packets after truncation.
    pub(crate) fn length_bytes(&self) -> u64 {
        MIRROR_HEADER_BYTES + self.header_bytes
    }
}

/// Bytes mirrored in front of the headers (contract with the P4 program).
const MIRROR_HEADER_BYTES: u64 = 30;
const ETHERNET: u64 = 14;
const VLAN: u64 = 4;
const IPV4: u64 = 20;
const IPV6: u64 = 40;
const UDP: u64 = 8;
const TCP: u64 = 20;

/// Returns sessions 1 to 12: without and with VLAN; IPv4, IPv6; other, UDP, TCP.
pub(crate) fn sessions() -> Vec<Session> {
    let mut all = Vec::new();
    for (tag, vlan) in [("", 0), (", VLAN", VLAN)] {
        for (family, ip) in [("IPv4", IPV4), ("IPv6", IPV6)] {
            for (protocol, transport) in [("other", 0), ("UDP", UDP), ("TCP", TCP)] {
                all.push(Session {
                    id: all.len() as u64 + 1,
                    headers: format!("{family}, {protocol}{tag}"),
                    header_bytes: ETHERNET + vlan + ip + transport,
                });
            }
        }
    }
    all
}

/// Creates the entries of traffic to report (or not), in the table of its address family, or in
/// both if it names no address. In BFRT the smaller priority wins, in the plan the larger.
pub(crate) fn watch(info: &Info, w: &Watch, place: u64, field: &str) -> Result<Vec<Item>, Error> {
    let ends = watched_ends(w, field)?;
    let mut items = Vec::new();
    for (table, ipv6) in WATCH_TABLES.into_iter().zip([false, true]) {
        let t = match (ends.first(), info.table(table)) {
            (Some((_, end)), _) if end.network().is_ipv6() != ipv6 => continue,
            // The program does not support IPv6.
            (None, Err(_)) if ipv6 => continue,
            (_, t) => t?,
        };
        let mut key = Vec::new();
        for (name, end) in &ends {
            let (name, masked) = match end {
                IpNet::V4(p) => {
                    let (value, mask) = (p.network().to_bits(), p.netmask().to_bits());
                    (
                        format!("ipv4_{name}"),
                        Part::Masked(value.into(), mask.into()),
                    )
                }
                IpNet::V6(p) => {
                    let (value, mask) = (p.network().to_bits(), p.netmask().to_bits());
                    (format!("ipv6_{name}"), Part::Masked(value, mask))
                }
            };
            key.push((name, masked));
        }
        let numbers = w.numbers().into_iter();
        key.extend(numbers.filter_map(|(n, v)| Some((n.into(), Part::Number(v?)))));
        if t.has_priority() {
            let priority = priority(w, place, field)?;
            key.push(("$MATCH_PRIORITY".into(), Part::Number(priority)));
        }
        let key: Vec<_> = key
            .iter()
            .map(|(name, part)| (name.as_str(), *part))
            .collect();
        let data = if w.report {
            let shift = Value::Number(u64::from(w.sampling_shift));
            t.action("report", &[("sampling_shift", shift)])?
        } else {
            t.action("ignore", &[])?
        };
        let what = format!("{}[{field}]", t.name);
        items.push(put(what, t.id, t.key(&key)?, data));
    }
    Ok(items)
}

fn priority(w: &Watch, place: u64, field: &str) -> Result<u64, Error> {
    match w.priority {
        Some(p) if p > 0 => Ok(u64::from(u32::MAX >> 8).saturating_sub(p as u64)),
        Some(p) => Err(Error::value(
            format!("{field}.priority"),
            format!("{p} must be above 0"),
        )),
        None => Ok(place),
    }
}

/// Creates the entry that turns the reports of an egress port on or off.
pub(crate) fn report_port(info: &Info, port: u32, on: bool) -> Result<Item, Error> {
    let t = info.table("report_port")?;
    let name = if on { "report_on" } else { "report_off" };
    let key = t.key(&[("egress_port", Part::Number(port.into()))])?;
    let what = format!("{}[port {port}] = {name}", t.name);
    Ok(put(what, t.id, key, t.action(name, &[])?))
}

/// Creates the default entry of the keyless table with the addresses of the reports.
pub(crate) fn report_to(info: &Info, d: &ReportDestination) -> Result<Item, Error> {
    let t = info.table("report_to")?;
    let args = destination(d)?.map(|(name, value)| (name, Value::Number(value)));
    Ok(Item {
        what: format!("{} = {}:{}", t.name, d.dst_ip, d.udp_port),
        kind: Type::Modify,
        entry: bf::TableEntry {
            table_id: t.id,
            data: Some(t.action("set_destination", &args)?),
            is_default_entry: true,
            ..Default::default()
        },
    })
}

/// Returns the device's table of mirror sessions.
pub(crate) fn mirror_table(info: &Info) -> Result<&Table, Error> {
    info.table("mirror.cfg")
        .or_else(|_| info.table("$mirror.cfg"))
}

/// Creates the mirror sessions that carry reports to a port.
pub(crate) fn mirror_sessions(info: &Info, port: u32) -> Result<Vec<Item>, Error> {
    let t = mirror_table(info)?;
    let items = sessions().into_iter().map(|s| {
        let key = t.key(&[("$sid", Part::Number(s.id))])?;
        let length = s.length_bytes();
        let data = t.action(
            "$normal",
            &[
                ("$session_enable", Value::Flag(true)),
                ("$direction", Value::Text("EGRESS".into())),
                ("$ucast_egress_port", Value::Number(u64::from(port))),
                ("$ucast_egress_port_valid", Value::Flag(true)),
                ("$max_pkt_len", Value::Number(length)),
            ],
        )?;
        let what = format!("{}[session {}] = port {port}", t.name, s.id);
        Ok(put(what, t.id, key, data))
    });
    items.collect()
}
