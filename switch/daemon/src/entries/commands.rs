// SPDX-License-Identifier: Apache-2.0
//! Files of `simple_switch_CLI` commands, of which those that write are executed.
//!
//! ```text
//! table_set_default ipv4_lpm drop
//! table_add ipv4_lpm ipv4_forward 10.0.1.1/32 => 00:00:00:00:01:01 1
//! mirroring_add 100 2
//! ```

use std::collections::BTreeSet;

use anyhow::{Context, Result, anyhow, bail};
use p4runtime_server::Runtime;
use p4runtime_server::runtime::{ActionEntry, Mirror, Rate};
use p4runtime_server::target::CounterValue;

use super::words::{data, key, priority, split, whole};
use crate::data_plane::Handle;
use traffic_manager::Port;

/// Commands that write, with their usage.
const COMMANDS: &[(&str, &str)] = &[
    ("table_add", "TABLE ACTION KEYS => DATA [PRIORITY]"),
    ("table_set_default", "TABLE ACTION [DATA]"),
    ("table_reset_default", "TABLE"),
    ("table_modify", "TABLE ACTION HANDLE => DATA"),
    ("table_delete", "TABLE HANDLE"),
    ("table_clear", "TABLE"),
    ("table_set_timeout", "TABLE HANDLE MS"),
    ("act_prof_create_member", "PROFILE ACTION [DATA]"),
    ("act_prof_create_group", "PROFILE"),
    ("act_prof_add_member_to_group", "PROFILE MEMBER GROUP"),
    ("table_indirect_add", "TABLE KEYS => MEMBER [PRIORITY]"),
    (
        "table_indirect_add_with_group",
        "TABLE KEYS => GROUP [PRIORITY]",
    ),
    ("table_indirect_set_default", "TABLE MEMBER"),
    ("mirroring_add", "SESSION PORT"),
    ("mirroring_add_mc", "SESSION GROUP"),
    ("mirroring_delete", "SESSION"),
    ("mc_mgrp_create", "GROUP"),
    ("mc_node_create", "RID PORTS [| LAGS]"),
    ("mc_node_associate", "GROUP NODE"),
    ("mc_set_lag_membership", "LAG PORTS"),
    ("register_write", "REGISTER INDEX VALUE"),
    ("register_reset", "REGISTER"),
    ("counter_write", "COUNTER INDEX PACKETS BYTES"),
    ("counter_reset", "COUNTER"),
    ("meter_set_rates", "METER INDEX RATE:BURST RATE:BURST"),
    ("meter_array_set_rates", "METER RATE:BURST RATE:BURST"),
    ("set_queue_depth", "PACKETS [PORT]"),
    ("set_queue_rate", "PACKETS_PER_S [PORT]"),
];

/// Commands that only show something, which are skipped.
const SHOWS: &[&str] = &[
    "show_",
    "table_dump",
    "table_info",
    "table_num",
    "switch_info",
    "mc_dump",
    "help",
];

/// Iterates over numbered lines without comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let all = (1..).zip(text.lines());
    all.map(|(n, line)| {
        let line = line.split_once('#').map_or(line, |(before, _)| before);
        (n, line.split_whitespace().collect::<Vec<_>>())
    })
    .filter(|(_, words)| !words.is_empty())
}

fn is_shown(word: &str) -> bool {
    SHOWS.iter().any(|s| word.starts_with(s))
}

/// Returns whether a file contains such commands.
pub(super) fn are_in(text: &str) -> bool {
    lines(text).next().is_some_and(|(_, words)| {
        let first = words.first().copied().unwrap_or_default();
        is_shown(first) || COMMANDS.iter().any(|(name, _)| *name == first)
    })
}

/// Executes the commands, up to the first that fails.
///
/// # Errors
/// A command that is unknown, malformed or refused, with its line.
pub(super) async fn run(runtime: &Runtime, plane: Option<&Handle>, text: &str) -> Result<()> {
    for (number, words) in lines(text) {
        let Some((name, arguments)) = words.split_first() else {
            continue;
        };
        if is_shown(name) {
            continue;
        }
        let found = COMMANDS.iter().find(|(n, _)| n == name);
        let place = || format!("line {number}: {}", words.join(" "));
        let Some((_, usage)) = found else {
            return Err(anyhow!("not a command that writes")).with_context(place);
        };
        let command = Command {
            runtime,
            plane,
            words: arguments,
        };
        let done = command.run(name).await;
        done.with_context(|| format!("{}: write {name} {usage}", place()))?;
    }
    Ok(())
}

struct Command<'a> {
    runtime: &'a Runtime,
    plane: Option<&'a Handle>,
    words: &'a [&'a str],
}

/// Makes an error from BMv2's code.
fn refused(e: impl std::fmt::Debug) -> anyhow::Error {
    anyhow!("refused: {e:?}")
}

impl Command<'_> {
    fn word(&self, at: usize) -> Result<&str> {
        let word = self.words.get(at).copied();
        word.with_context(|| format!("argument {} is missing", at + 1))
    }

    /// Returns the full name of the counter, meter, register or action profile given first.
    async fn array(&self) -> Result<String> {
        let name = self.word(0)?;
        let found = self.runtime.array_named(name).await;
        found.with_context(|| format!("the program has no {name}, or several"))
    }

    fn number<T: TryFrom<i128>>(&self, at: usize) -> Result<T> {
        whole(self.word(at)?).with_context(|| format!("argument {}", at + 1))
    }

    fn from(&self, at: usize) -> &[&str] {
        self.words.get(at..).unwrap_or_default()
    }

    async fn run(&self, name: &str) -> Result<()> {
        let r = self.runtime;
        match name {
            "mirroring_add" => self.mirror(Some(self.number(1)?), None).await,
            "mirroring_add_mc" => self.mirror(None, Some(self.number(1)?)).await,
            "mirroring_delete" => match r.delete_mirror(self.number(0)?).await? {
                true => Ok(()),
                false => bail!("there is no such session"),
            },
            "mc_mgrp_create" => r
                .create_multicast_group(self.number(0)?)
                .await
                .map_err(refused),
            "mc_node_create" => {
                let mut parts = self.from(1).split(|w| *w == "|");
                let mut set = || -> Result<BTreeSet<u32>> {
                    let numbers = parts.next().unwrap_or_default().iter();
                    numbers.map(|w| whole(w)).collect()
                };
                let (ports, lags) = (set()?, set()?);
                let node = r.create_node(self.number(0)?, ports, lags).await;
                node.map(|_| ()).map_err(refused)
            }
            "mc_node_associate" => {
                let done = r.associate_node(self.number(0)?, self.number(1)?).await;
                done.map_err(refused)
            }
            "mc_set_lag_membership" => {
                let ports = self
                    .from(1)
                    .iter()
                    .map(|w| whole(w))
                    .collect::<Result<_>>()?;
                r.set_lag(self.number(0)?, ports).await.map_err(refused)
            }
            "register_write" => {
                let (at, value) = (self.number::<u32>(1)?, self.number(2)?);
                let cells = Some(at..at.saturating_add(1));
                r.write_register(&self.array().await?, cells, value)
                    .await
                    .map_err(refused)
            }
            "register_reset" => r
                .write_register(self.word(0)?, None, 0)
                .await
                .map_err(refused),
            "counter_write" => {
                let value = CounterValue {
                    packets: self.number(2)?,
                    bytes: self.number(3)?,
                };
                self.counter(Some(self.number(1)?), value).await
            }
            "counter_reset" => self.counter(None, CounterValue::default()).await,
            "meter_set_rates" => self.meter(Some(self.number(1)?), self.from(2)).await,
            "meter_array_set_rates" => self.meter(None, self.from(1)).await,
            "set_queue_depth" => {
                let depth = self.number::<u32>(0)?.max(1);
                self.queues(move |p| p.set_depth(depth)).await
            }
            "set_queue_rate" => {
                let rate = self.number(0)?;
                self.queues(move |p| p.set_rate_pps(rate)).await
            }
            "act_prof_create_member" => {
                let shapes = r.tables().await;
                let action = self.word(1)?;
                let data = shapes
                    .iter()
                    .find_map(|t| data(t, action, self.from(2)).ok());
                let data = data.with_context(|| format!("no action {action} with such data"))?;
                let member = r.add_member(&self.array().await?, &data.0, &data.1).await;
                member.map(|_| ()).map_err(refused)
            }
            "act_prof_create_group" => {
                let group = r.create_group(&self.array().await?).await;
                group.map(|_| ()).map_err(refused)
            }
            "act_prof_add_member_to_group" => {
                let (member, group) = (self.number(1)?, self.number(2)?);
                r.change_group(&self.array().await?, member, group, true)
                    .await
                    .map_err(refused)
            }
            _ => self.table(name).await,
        }
    }

    async fn table(&self, command: &str) -> Result<()> {
        let r = self.runtime;
        let name = self.word(0)?;
        let table = r.table_named(name).await;
        let table = table.with_context(|| format!("the program has no table {name}"))?;
        let done = match command {
            "table_add" => {
                let (keys, rest) = split(self.from(2))?;
                let keys = key(&table, keys)?;
                let (given, priority) = priority(&table, rest)?;
                let (action, data) = data(&table, self.word(1)?, given)?;
                let action = ActionEntry::Call(action, data);
                r.add_entry(&table.name, &keys, &action, priority)
                    .await
                    .map(|_| ())
            }
            "table_indirect_add" | "table_indirect_add_with_group" => {
                let (keys, rest) = split(self.from(1))?;
                let keys = key(&table, keys)?;
                let (given, priority) = priority(&table, rest)?;
                let [handle] = given else {
                    bail!("one handle is needed");
                };
                let action = match command {
                    "table_indirect_add" => ActionEntry::Member(whole(handle)?),
                    _ => ActionEntry::Group(whole(handle)?),
                };
                r.add_entry(&table.name, &keys, &action, priority)
                    .await
                    .map(|_| ())
            }
            "table_indirect_set_default" => {
                let member = ActionEntry::Member(self.number(1)?);
                r.set_default_choice(&table.name, Some(&member)).await
            }
            "table_set_default" => {
                let given: Vec<&str> = self
                    .from(2)
                    .iter()
                    .filter(|w| **w != "=>")
                    .copied()
                    .collect();
                let (action, data) = data(&table, self.word(1)?, &given)?;
                r.set_default(&table.name, Some((&action, &data))).await
            }
            "table_reset_default" => r.set_default(&table.name, None).await,
            "table_modify" => {
                let given: Vec<&str> = self
                    .from(3)
                    .iter()
                    .filter(|w| **w != "=>")
                    .copied()
                    .collect();
                let (action, data) = data(&table, self.word(1)?, &given)?;
                let action = ActionEntry::Call(action, data);
                r.modify_entry(&table.name, self.number(2)?, &action).await
            }
            "table_delete" => r.delete_entry(&table.name, self.number(1)?).await,
            "table_clear" => r.clear(&table.name, false).await,
            "table_set_timeout" => {
                r.set_timeout(&table.name, self.number(1)?, self.number(2)?)
                    .await
            }
            other => bail!("{other}: not a command"),
        };
        done.map_err(refused)
    }

    async fn mirror(&self, port: Option<u32>, group: Option<u32>) -> Result<()> {
        let mirror = Mirror { port, group };
        Ok(self.runtime.set_mirror(self.number(0)?, mirror).await?)
    }

    async fn counter(&self, at: Option<u32>, value: CounterValue) -> Result<()> {
        let name = &self.array().await?;
        match self.runtime.table_of(name).await {
            Some(table) => {
                let done = self.runtime.write_direct_counter(&table, at, value).await;
                done.map_err(refused)
            }
            None => self
                .runtime
                .write_counter(name, at, value)
                .await
                .map_err(refused),
        }
    }

    async fn meter(&self, at: Option<u32>, rates: &[&str]) -> Result<()> {
        let rate = |word: &&str| {
            let (rate, burst) = word.split_once(':').context("write RATE:BURST")?;
            Ok(Rate {
                units_per_us: rate.parse().with_context(|| format!("rate {rate}"))?,
                burst: whole(burst)?,
            })
        };
        let rates = rates.iter().map(rate).collect::<Result<Vec<_>>>()?;
        let name = &self.array().await?;
        match self.runtime.table_of(name).await {
            Some(table) => {
                let done = self.runtime.set_direct_meter(&table, at, &rates).await;
                done.map_err(refused)
            }
            None => self
                .runtime
                .set_meter(name, at, &rates)
                .await
                .map_err(refused),
        }
    }

    /// Changes the queues of the given port, or of all ports.
    async fn queues(&self, change: impl Fn(&mut Port) + Send + 'static) -> Result<()> {
        let port: Option<u32> = match self.words.get(1) {
            Some(_) => Some(self.number(1)?),
            None => None,
        };
        let plane = self.plane.context("queues are set with --port here")?;
        crate::thrift::change_ports(plane, port, change).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_commands_is_known_by_its_first_line() {
        assert!(are_in("\n# routes\ntable_add t a 1 => 2\n"));
        assert!(are_in("show_tables\n"));
        assert!(!are_in("updates { type: INSERT }"));
        assert!(!are_in(""));
    }
}
