// SPDX-License-Identifier: Apache-2.0
//! Checks the switch's clone session, destination of reports and watched traffic. Reads only, and
//! writes nothing.

use super::client::Client;
use super::entries::{REPORT_CLONE_SESSION, clone_sessions, entries_of, key_of, watch_items};
use super::program::Program;
use crate::program_contract::{WATCH_TABLES, destination as arguments_of};
use crate::values::number;
use crate::{Error, Provision, ReportDestination};
use daemon_kit::doctor::Finding;
use std::net::Ipv4Addr;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Replication;

const REMEDY: &str =
    "`tidemark-controller provision`, with switches[].provision.reports and .watch";

/// Returns one finding per check.
pub(super) async fn inspect(
    client: &Client,
    program: &Program,
    plan: Option<&Provision>,
) -> Vec<Finding> {
    let reports = plan.and_then(|p| p.reports.as_ref());
    vec![
        session(client, reports).await,
        destination(client, program, reports).await,
        watches(client, program, plan).await,
    ]
}

/// Returns the finding for something that could not be read.
pub(super) fn unread(check: impl Into<String>, e: &Error) -> Finding {
    match e {
        Error::Rpc {
            code: tonic::Code::Unimplemented,
            ..
        } => Finding::warning(check, "the switch does not let it be read", REMEDY),
        e => Finding::problem(check, e.to_string(), REMEDY),
    }
}

/// Checks the clone session that makes the reports.
async fn session(client: &Client, reports: Option<&ReportDestination>) -> Finding {
    let check = format!("clone session {REPORT_CLONE_SESSION}");
    let found = match client.read("the clone sessions", clone_sessions()).await {
        Ok(found) => found,
        Err(e) => return unread(check, &e),
    };
    let mut sessions = found.iter().filter_map(clone_session_of);
    let Some(session) = sessions.find(|s| s.session_id == REPORT_CLONE_SESSION) else {
        return Finding::problem(check, "is not there: nothing is reported", REMEDY);
    };
    let ports: Vec<u32> = session.replicas.iter().filter_map(port_of).collect();
    let shown = match ports[..] {
        [port] => format!("goes to port {port}"),
        [] => return Finding::problem(check, "has no port: nothing is reported", REMEDY),
        _ => format!("goes to ports {ports:?}: each report is sent more than once"),
    };
    if session.packet_length_bytes != 0 {
        let bytes = session.packet_length_bytes;
        let found = format!("{shown}, cut at {bytes} bytes; the program truncates them itself");
        return Finding::problem(check, found, REMEDY);
    }
    match reports {
        Some(r) if ports != [r.port] => {
            Finding::problem(check, format!("{shown}, not to port {}", r.port), REMEDY)
        }
        _ if ports.len() > 1 => Finding::problem(check, shown, REMEDY),
        _ => Finding::ok(check, shown),
    }
}

fn port_of(replica: &p4::Replica) -> Option<u32> {
    match replica.port_kind.as_ref()? {
        p4::replica::PortKind::EgressPort(port) => Some(*port),
        p4::replica::PortKind::Port(bytes) => number(bytes).ok()?.try_into().ok(),
    }
}

fn clone_session_of(entity: &p4::Entity) -> Option<&p4::CloneSessionEntry> {
    match entity.entity.as_ref()? {
        Entity::PacketReplicationEngineEntry(e) => match e.r#type.as_ref()? {
            Replication::CloneSessionEntry(s) => Some(s),
            Replication::MulticastGroupEntry(_) => None,
        },
        _ => None,
    }
}

/// Returns the action of a table entry.
fn action_of(entity: &p4::Entity) -> Option<&p4::Action> {
    let Entity::TableEntry(e) = entity.entity.as_ref()? else {
        return None;
    };
    match e.action.as_ref()?.r#type.as_ref()? {
        p4::table_action::Type::Action(a) => Some(a),
        _ => None,
    }
}

/// Checks the addresses in the headers of reports.
async fn destination(
    client: &Client,
    program: &Program,
    reports: Option<&ReportDestination>,
) -> Finding {
    let check = "report destination";
    let read = async {
        let table = program.table("report_to")?;
        let key = entries_of(&table, true);
        let found = client.read("the destination of reports", key).await?;
        let action = found.iter().find_map(action_of);
        let action = action.filter(|a| table.action_name(a.action_id) == Some("set_destination"));
        Ok(action.map(|a| {
            let arguments = a.params.iter();
            let named = arguments.map(|p| {
                let name = table.parameter_name(a.action_id, p.param_id);
                (name, number(&p.value).unwrap_or(u64::MAX))
            });
            named.collect::<Vec<_>>()
        }))
    };
    let held = match read.await {
        Ok(Some(held)) => held,
        Ok(None) => {
            let found = "none is set: reports have no destination address";
            return Finding::problem(check, found, REMEDY);
        }
        Err(e) => return unread(check, &e),
    };
    let value = |name: &str| held.iter().find(|h| h.0 == name).map(|h| h.1);
    let shown = format!(
        "{}:{}, as node {}",
        shown("dst_ip", value("dst_ip").unwrap_or(0)),
        value("udp_dst_port").unwrap_or(0),
        value("node_id").unwrap_or(0)
    );
    let wanted = match reports.map(arguments_of) {
        None => return Finding::ok(check, shown),
        Some(Ok(wanted)) => wanted,
        Some(Err(e)) => return unread(check, &e),
    };
    let faults = wanted.iter().filter_map(|&(name, wanted)| {
        let have = value(name)?;
        (have != wanted).then(|| {
            let (have, wanted) = (self::shown(name, have), self::shown(name, wanted));
            format!("{name} is {have}, not {wanted}")
        })
    });
    let faults: Vec<String> = faults.collect();
    if faults.is_empty() {
        return Finding::ok(check, shown);
    }
    Finding::problem(check, format!("{shown}; {}", faults.join("; ")), REMEDY)
}

/// Formats a value as in the plan.
fn shown(name: &str, value: u64) -> String {
    if name.ends_with("_ip") {
        let bits = u32::try_from(value).unwrap_or(u32::MAX);
        return Ipv4Addr::from(bits).to_string();
    }
    if name.ends_with("_mac") {
        let bytes = value.to_be_bytes();
        let pairs = bytes.iter().skip(2).map(|b| format!("{b:02x}"));
        return pairs.collect::<Vec<_>>().join(":");
    }
    value.to_string()
}

/// Checks the entries of the traffic to report.
async fn watches(client: &Client, program: &Program, plan: Option<&Provision>) -> Finding {
    let check = "watch entries";
    let mut held = Vec::new();
    for table in WATCH_TABLES {
        // The program does not support IPv6 and has only one table.
        let Ok(table) = program.table(table) else {
            continue;
        };
        let all = entries_of(&table, false);
        match client.read("watch", all).await {
            Ok(found) => held.extend(found),
            Err(e) => return unread(check, &e),
        }
    }
    if held.is_empty() {
        return Finding::problem(check, "none: no traffic is reported", REMEDY);
    }
    let wanted = match plan.map(|p| watch_items(program, &p.watch)) {
        None => return Finding::ok(check, format!("{} are there", held.len())),
        Some(Ok(wanted)) => wanted,
        Some(Err(e)) => return unread(check, &e),
    };
    let same =
        |a: &p4::Entity, b: &p4::Entity| key_of(a) == key_of(b) && action_of(a) == action_of(b);
    let missing = wanted.iter();
    let missing = missing.filter(|w| !held.iter().any(|h| same(h, &w.entity)));
    let missing: Vec<&str> = missing.map(|w| w.what.as_str()).collect();
    if missing.is_empty() {
        return Finding::ok(check, format!("{} are there", held.len()));
    }
    let found = format!(
        "{} are there; different from the configuration: {}",
        held.len(),
        missing.join(", ")
    );
    Finding::problem(check, found, REMEDY)
}
