// SPDX-License-Identifier: Apache-2.0
//! Runs p4c's packet tests (`.stf`) in virtual time.
//!
//! Statements: `add`, `setdefault`, `packet`, `expect`, `mc_*`, `mirroring_add[_mc]`,
//! `register_*`, `wait`. Table keys and actions may be given by the end of their name. Of
//! several matching entries, the larger priority wins.

mod names;
mod parse;
mod values;

use std::collections::BTreeMap;

pub(crate) use parse::hex;

use anyhow::{Context, Result, anyhow, bail};

use names::{ends_with_name, find_key, find_table};
use p4_ir::{ActionCall, MatchValue, Program, Table};
use p4_vm::{EntryId, Image};
use parse::{Call, Entry};
use traffic_manager::{CloneSession, Loaded, Replica, Switch, Wire};
use values::{anything, convert_key, number, words};

/// Logical time between two packets, long enough for every recirculation.
const STEP_NS: u64 = 1_000_000_000;

/// Frames by the port on which they leave, in order.
#[derive(Default)]
pub(crate) struct Sent(pub BTreeMap<u32, Vec<Vec<u8>>>);

impl Wire for Sent {
    fn transmit(&mut self, port: u32, frame: Vec<u8>, _time_ns: u64) {
        self.0.entry(port).or_default().push(frame);
    }
}

#[derive(Default)]
struct Expected {
    /// Whether any number of packets with any content is accepted.
    any: bool,
    /// Expected packets: hex digits, `*`, and optionally a final `$`.
    packets: Vec<String>,
}

/// Runs a test on a fresh switch.
///
/// # Errors
/// A statement that is not understood, or the first difference.
pub(crate) fn run(program: Program, test: &str) -> Result<()> {
    let mut switch = Switch::new();
    switch.load(Image::new(program));
    let mut r = Runner {
        switch,
        sent: Sent::default(),
        expected: BTreeMap::new(),
        nodes: Vec::new(),
        time_ns: STEP_NS,
        next_id: 1,
    };
    for (number, line) in (1..).zip(test.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            r.statement(line)
                .with_context(|| format!("line {number}: {line}"))?;
        }
    }
    r.switch.run_until(r.time_ns + STEP_NS, &mut r.sent);
    compare(&r.expected, &r.sent)
}

struct Runner {
    switch: Switch,
    sent: Sent,
    expected: BTreeMap<u32, Expected>,
    /// Nodes of multicast groups, in the order of their creation.
    nodes: Vec<Vec<Replica>>,
    time_ns: u64,
    next_id: u64,
}

impl Runner {
    fn loaded(&mut self) -> Result<&mut Loaded> {
        self.switch.loaded_mut().context("no program")
    }

    fn statement(&mut self, line: &str) -> Result<()> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let (first, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let arg = |i: usize| rest.split_whitespace().nth(i).context("too few arguments");
        match word.to_ascii_lowercase().as_str() {
            "add" => self.add(&parse::entry(rest)?)?,
            "setdefault" => self.set_default(first, &parse::call(more)?)?,
            "packet" => self.packet(first.parse()?, &parse::hex(more)?),
            "expect" => {
                let packet: String = more.split_whitespace().collect::<String>().to_lowercase();
                let e = self.expected.entry(first.parse()?).or_default();
                if packet.is_empty() {
                    e.any = true;
                } else {
                    e.packets.push(packet);
                }
            }
            "mc_mgrp_create" => {
                self.loaded()?.groups.entry(arg(0)?.parse()?).or_default();
            }
            "mc_node_create" => {
                let rid = arg(0)?.parse()?;
                let ports = rest.split_whitespace().skip(1).map(str::parse);
                let node = ports.map(|port| Ok(Replica { port: port?, rid }));
                self.nodes.push(node.collect::<Result<_>>()?);
            }
            "mc_node_associate" => {
                let node: usize = arg(1)?.parse()?;
                let members = self.nodes.get(node).context("no such node")?.clone();
                let group = self.loaded()?.groups.entry(arg(0)?.parse()?);
                group.or_default().extend(members);
            }
            "mirroring_add" => {
                let port = arg(1)?.parse()?;
                let session = self.loaded()?.sessions.entry(arg(0)?.parse()?);
                session.or_default().replicas.push(Replica { port, rid: 0 });
            }
            "mirroring_add_mc" => {
                let loaded = self.loaded()?;
                let replicas = loaded.groups.get(&arg(1)?.parse()?).cloned();
                let session = CloneSession {
                    replicas: replicas.unwrap_or_default(),
                    length_bytes: None,
                };
                loaded.sessions.insert(arg(0)?.parse()?, session);
            }
            "register_write" => {
                let (register, index) = (arg(0)?, arg(1)?.parse()?);
                let value: u64 = arg(2)?.parse()?;
                let cells = self.loaded()?.engine.register_mut(register);
                let cells = cells.context("no such register")?;
                if !cells.write_bytes(index, &value.to_be_bytes()) {
                    bail!("register {register} has no cell {index}");
                }
            }
            // Registers are zero at the start; reads and meters only print.
            "register_read"
            | "register_reset"
            | "mirroring_get"
            | "wait"
            | "meter_get_rates"
            | "meter_set_rates"
            | "meter_array_set_rates" => {}
            other => bail!("statement \"{other}\" is not known"),
        }
        Ok(())
    }

    fn packet(&mut self, port: u32, data: &[u8]) {
        self.switch.run_until(self.time_ns, &mut self.sent);
        self.switch.receive(port, data, self.time_ns);
        self.time_ns += STEP_NS;
        self.switch.run_until(self.time_ns, &mut self.sent);
    }

    fn set_default(&mut self, table: &str, action: &Call) -> Result<()> {
        let e = &mut self.loaded()?.engine;
        let t = find_table(&e.image.program, table)?;
        let call = convert(&e.image.program, t, action)?;
        let name = t.name.clone();
        let (t, state) = e.table_mut(&name).context("no table")?;
        state.set_default(t, Some(call));
        Ok(())
    }

    fn add(&mut self, entry: &Entry) -> Result<()> {
        let id = EntryId::Added(self.next_id);
        self.next_id += 1;
        let e = &mut self.loaded()?.engine;
        let t = find_table(&e.image.program, &entry.table)?;
        let call = convert(&e.image.program, t, &entry.action)?;
        let mut keys: Vec<MatchValue> = t.keys.iter().map(anything).collect();
        for (name, value) in &entry.matches {
            let i = find_key(t, name)?;
            if let (Some(slot), Some(k)) = (keys.get_mut(i), t.keys.get(i)) {
                *slot = convert_key(k, value)?;
            }
        }
        let name = t.name.clone();
        let (t, state) = e.table_mut(&name).context("no table")?;
        // A larger priority wins, as in p4c's own runner.
        state.insert(t, id, &keys, -entry.priority, call, true)?;
        Ok(())
    }
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
            compare_packet(w, f).with_context(|| format!("port {port}, packet {i}"))?;
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

/// Compares a packet: `*` is any digit; `$` at the end means that nothing follows.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(test: &str) -> String {
        format!("{:#}", run(Program::default(), test).unwrap_err())
    }

    #[test]
    fn errors_name_the_line() {
        let e = error("# comment\n\nexpect 2\njump 1\n");
        assert_eq!(e, "line 4: jump 1: statement \"jump\" is not known");
        assert!(error("packet 1 abc").contains("odd number"));
        assert!(error("mirroring_add 1").contains("too few"));
    }

    #[test]
    fn packets_are_held_against_digits() {
        assert!(error("expect 2 aB** $").contains("1 packets expected"));
        assert!(compare_packet("ab**$", &[0xab, 0xcd]).is_ok());
        assert!(compare_packet("ab**$", &[0xab, 0xcd, 0]).is_err());
        assert!(compare_packet("ab**", &[0xab, 0xcd, 0]).is_ok());
        assert!(compare_packet("ab**", &[0xab]).is_err());
    }
}
