// SPDX-License-Identifier: Apache-2.0
//! Runs p4c's packet tests (`.stf`) in virtual time.
//!
//! Statements: `add`, `setdefault`, `packet`, `expect`, `mc_*`,
//! `mirroring_add[_mc]`, `register_*`, `wait`. Table keys and actions may be
//! given by the end of their name. Among entries the larger priority wins.

mod names;
mod parse;
mod values;

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail};

use names::{ends_with_name, find_key, find_table};
use p4_ir::{ActionCall, MatchValue, Program, Table};
use p4_vm::{Engine, EntryId, Image};
pub(crate) use parse::{Call, Statement, parse};
use traffic_manager::{CloneSession, Loaded, Replica, Switch, Wire};
use values::{anything, convert_key, number, words};

/// Logical time between two packets, long enough for every recirculation.
const STEP_NS: u64 = 1_000_000_000;

#[derive(Default)]
struct Sent(BTreeMap<u32, Vec<Vec<u8>>>);

impl Wire for Sent {
    fn transmit(&mut self, port: u32, frame: Vec<u8>, _time_ns: u64) {
        self.0.entry(port).or_default().push(frame);
    }
}

#[derive(Default)]
struct Expected {
    /// Number of packets and content do not matter.
    any: bool,
    packets: Vec<Option<String>>,
}

/// Runs a test on a fresh switch.
///
/// # Errors
/// A statement that is not understood, or the first difference.
pub(crate) fn run(program: Program, test: &str) -> Result<()> {
    let mut switch = Switch::new();
    switch.load(Image::new(program));
    let mut sent = Sent::default();
    let mut expected: BTreeMap<u32, Expected> = BTreeMap::new();
    let mut nodes: Vec<Vec<Replica>> = Vec::new();
    let mut time_ns = STEP_NS;
    let mut next_id = 1u64;
    for (line, statement) in parse(test)? {
        apply(
            statement,
            &mut switch,
            &mut sent,
            &mut expected,
            &mut nodes,
            &mut time_ns,
            &mut next_id,
        )
        .with_context(|| format!("line {line}"))?;
    }
    switch.run_until(time_ns + STEP_NS, &mut sent);
    compare(&expected, &sent)
}

fn loaded(switch: &mut Switch) -> Result<&mut Loaded> {
    switch.loaded_mut().context("no program")
}

fn apply(
    s: Statement,
    switch: &mut Switch,
    sent: &mut Sent,
    expected: &mut BTreeMap<u32, Expected>,
    nodes: &mut Vec<Vec<Replica>>,
    time_ns: &mut u64,
    next_id: &mut u64,
) -> Result<()> {
    match s {
        Statement::Add {
            table,
            priority,
            matches,
            action,
        } => {
            let e = &mut loaded(switch)?.engine;
            // A larger priority wins, as in p4c's own runner.
            add(e, &table, -priority, &matches, &action, *next_id)?;
            *next_id += 1;
        }
        Statement::SetDefault { table, action } => {
            let e = &mut loaded(switch)?.engine;
            let t = find_table(&e.image.program, &table)?;
            let call = convert(&e.image.program, t, &action)?;
            let name = t.name.clone();
            let (t, state) = e.table_mut(&name).context("no table")?;
            state.set_default(t, Some(call));
        }
        Statement::Packet { port, data } => {
            switch.run_until(*time_ns, sent);
            switch.receive(port, &data, *time_ns);
            *time_ns += STEP_NS;
            switch.run_until(*time_ns, sent);
        }
        Statement::Expect { port, data } => {
            let e = expected.entry(port).or_default();
            match data {
                Some(d) => e.packets.push(Some(d)),
                None => e.any = true,
            }
        }
        Statement::GroupCreate { group } => {
            loaded(switch)?.groups.entry(group).or_default();
        }
        Statement::NodeCreate { rid, ports } => {
            nodes.push(ports.iter().map(|p| Replica { port: *p, rid }).collect());
        }
        Statement::NodeAssociate { group, node } => {
            let members = nodes.get(node).context("no such node")?;
            loaded(switch)?
                .groups
                .entry(group)
                .or_default()
                .extend(members);
        }
        Statement::MirrorPort { session, port } => {
            let one = vec![Replica { port, rid: 0 }];
            loaded(switch)?
                .sessions
                .entry(session)
                .or_default()
                .replicas
                .extend(one);
        }
        Statement::MirrorGroup { session, group } => {
            let replicas = loaded(switch)?
                .groups
                .get(&group)
                .cloned()
                .unwrap_or_default();
            loaded(switch)?.sessions.insert(
                session,
                CloneSession {
                    replicas,
                    length_bytes: None,
                },
            );
        }
        Statement::RegisterWrite {
            register,
            index,
            value,
        } => {
            let e = &mut loaded(switch)?.engine;
            let r = e.register_mut(&register).context("no such register")?;
            if !r.write_bytes(index, &value.to_be_bytes()) {
                bail!("register {register} has no cell {index}");
            }
        }
        Statement::Nothing => {}
    }
    Ok(())
}

fn convert(p: &Program, t: &Table, call: &Call) -> Result<ActionCall> {
    let actions = || {
        t.action_ids
            .iter()
            .filter_map(|id| p.actions.get(*id as usize).map(|a| (*id, a)))
    };
    let (action, a) = actions()
        .find(|(_, a)| a.name == call.action)
        .or_else(|| actions().find(|(_, a)| ends_with_name(&a.name, &call.action)))
        .ok_or_else(|| anyhow!("table {} has no action {}", t.name, call.action))?;
    let mut args = Vec::new();
    for (i, param) in a.params.iter().enumerate() {
        let value = call
            .args
            .iter()
            .find(|(n, _)| n.as_deref() == Some(param.name.as_str()))
            .or_else(|| call.args.get(i).filter(|(n, _)| n.is_none()))
            .ok_or_else(|| anyhow!("action {} lacks {}", a.name, param.name))?;
        args.extend(words(&number(&value.1)?, param.width));
    }
    Ok(ActionCall { action, args })
}

fn add(
    e: &mut Engine,
    table: &str,
    priority: i64,
    matches: &[(String, String)],
    action: &Call,
    id: u64,
) -> Result<()> {
    let t = find_table(&e.image.program, table)?;
    let call = convert(&e.image.program, t, action)?;
    let mut keys: Vec<MatchValue> = t.keys.iter().map(anything).collect();
    for (name, value) in matches {
        let i = find_key(t, name)?;
        if let (Some(slot), Some(k)) = (keys.get_mut(i), t.keys.get(i)) {
            *slot = convert_key(k, value)?;
        }
    }
    let name = t.name.clone();
    let (t, state) = e.table_mut(&name).context("no table")?;
    state.insert(t, EntryId::Added(id), keys, priority, call, true)?;
    Ok(())
}

fn compare(expected: &BTreeMap<u32, Expected>, sent: &Sent) -> Result<()> {
    for (port, frames) in &sent.0 {
        let none = Expected::default();
        let want = expected.get(port).unwrap_or(&none);
        if want.any {
            continue;
        }
        if want.packets.len() != frames.len() {
            bail!(
                "port {port}: {} packets expected, {} sent",
                want.packets.len(),
                frames.len()
            );
        }
        for (i, (w, f)) in want.packets.iter().zip(frames).enumerate() {
            if let Some(w) = w {
                compare_packet(w, f).with_context(|| format!("port {port}, packet {i}"))?;
            }
        }
    }
    for (port, want) in expected {
        if !sent.0.contains_key(port) && !want.packets.is_empty() {
            bail!(
                "port {port}: {} packets expected, none sent",
                want.packets.len()
            );
        }
    }
    Ok(())
}

/// `*` is any digit; `$` at the end means that nothing follows.
fn compare_packet(want: &str, frame: &[u8]) -> Result<()> {
    use std::fmt::Write as _;
    let mut have = String::with_capacity(frame.len() * 2);
    for b in frame {
        let _ = write!(have, "{b:02x}");
    }
    let (digits, exact) = match want.strip_suffix('$') {
        Some(d) => (d, true),
        None => (want, false),
    };
    let same = digits
        .chars()
        .zip(have.chars())
        .all(|(w, h)| w == '*' || w == h);
    if !same || have.len() < digits.len() || (exact && have.len() != digits.len()) {
        bail!("expected {want}, sent {have}");
    }
    Ok(())
}
