// SPDX-License-Identifier: Apache-2.0
//! P4Runtime's operations, carried out between packets on the data plane.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use p4runtime_server::target::{
    ActionCall, CloneSession, CounterValue, EntryId, KeyMatch, MatchValue, Replica, TableEntry,
    Target, TargetError, TargetErrorKind as Kind,
};
use tokio::sync::broadcast;

use crate::bmv2::bits::words_from_bytes;
use crate::bmv2::ir::{self, Program, Table};
use crate::bmv2::load;
use crate::engine::Engine;
use crate::engine::state::Count;
use crate::engine::tables::TableError;
use crate::io::plane::{Handle, Plane};
use crate::tm;

type Result<T> = std::result::Result<T, TargetError>;

/// The running switch as a P4Runtime target.
#[derive(Clone)]
pub struct EmbeddedTarget {
    plane: Handle,
}

impl EmbeddedTarget {
    pub fn new(plane: Handle) -> Self {
        Self { plane }
    }

    async fn on_plane<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Plane) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.plane
            .call(f)
            .await
            .map_err(|e| TargetError::new(Kind::Internal, e.to_string()))?
    }

    async fn on_engine<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.on_plane(|p| match &mut p.switch.engine {
            Some(e) => f(e),
            None => Err(TargetError::new(
                Kind::NotFound,
                "the switch runs no program; set a pipeline configuration first",
            )),
        })
        .await
    }
}

fn compile(program: &[u8]) -> Result<Program> {
    load(program).map_err(|e| TargetError::new(Kind::InvalidProgram, e.to_string()))
}

fn not_found(kind: &str, name: &str) -> TargetError {
    TargetError::new(Kind::NotFound, format!("the program has no {kind} {name}"))
}

fn table_error(e: TableError, table: &str) -> TargetError {
    let kind = match e {
        TableError::Full => Kind::ResourceExhausted,
        TableError::NoEntry => Kind::NotFound,
        TableError::Exists | TableError::BadKey | TableError::BadAction => Kind::InvalidArgument,
    };
    TargetError::new(kind, format!("table {table}: {e}"))
}

fn convert_match(k: &KeyMatch) -> ir::MatchValue {
    let words = |b: &[u8]| words_from_bytes(b, k.bits);
    match &k.value {
        MatchValue::Exact(v) => ir::MatchValue::Exact(words(v)),
        MatchValue::Lpm { value, prefix_bits } => ir::MatchValue::Lpm {
            value: words(value),
            prefix_bits: *prefix_bits,
        },
        MatchValue::Ternary { value, mask } => ir::MatchValue::Ternary {
            value: words(value),
            mask: words(mask),
        },
        MatchValue::Range { low, high } => ir::MatchValue::Range {
            low: words(low),
            high: words(high),
        },
    }
}

/// The action of that name among the table's own.
pub fn convert_action(p: &Program, t: &Table, call: &ActionCall) -> Result<ir::ActionCall> {
    let found = t.action_ids.iter().find_map(|id| {
        let a = p.actions.get(*id as usize)?;
        (a.name == call.name).then_some((*id, a))
    });
    let Some((action, a)) = found else {
        return Err(TargetError::new(
            Kind::NotFound,
            format!(
                "table {} has no action {} in the running program",
                t.name, call.name
            ),
        ));
    };
    if a.params.len() != call.params.len() {
        return Err(TargetError::new(
            Kind::InvalidArgument,
            format!(
                "action {} takes {} parameters, got {}",
                a.name,
                a.params.len(),
                call.params.len()
            ),
        ));
    }
    let args = a
        .params
        .iter()
        .zip(&call.params)
        .flat_map(|(p, v)| words_from_bytes(v, p.width))
        .collect();
    Ok(ir::ActionCall { action, args })
}

/// Adds an entry as P4Runtime means it: a larger priority wins.
pub fn insert(e: &mut Engine, table: &str, id: EntryId, entry: &TableEntry) -> Result<()> {
    let call = {
        let t = find_table(e, table)?;
        convert_action(&e.program, t, &entry.action)?
    };
    let (t, state) = e
        .table_mut(table)
        .ok_or_else(|| not_found("table", table))?;
    if t.keys.len() != entry.matches.len() {
        return Err(table_error(TableError::BadKey, table));
    }
    let matches = entry.matches.iter().map(convert_match).collect();
    // BMv2's order is the other way round; compiled entries use it.
    let rank = i64::from(i32::MAX) - i64::from(entry.priority);
    state
        .insert(t, id.0, matches, rank, call, true)
        .map_err(|x| table_error(x, table))
}

fn find_table<'e>(e: &'e Engine, table: &str) -> Result<&'e Table> {
    e.program
        .tables
        .iter()
        .find(|t| t.name == table)
        .ok_or_else(|| not_found("table", table))
}

pub fn set_default(e: &mut Engine, table: &str, action: Option<&ActionCall>) -> Result<()> {
    let call = {
        let t = find_table(e, table)?;
        match action {
            Some(a) => Some(convert_action(&e.program, t, a)?),
            None => t.default.clone(),
        }
    };
    let (t, state) = e
        .table_mut(table)
        .ok_or_else(|| not_found("table", table))?;
    state.set_default(t, call);
    Ok(())
}

fn replicas(list: &[Replica]) -> Vec<tm::Replica> {
    list.iter()
        .map(|r| tm::Replica {
            port: r.port,
            rid: r.instance,
        })
        .collect()
}

fn counter_value(c: Count) -> CounterValue {
    CounterValue {
        packets: c.packets,
        bytes: c.bytes,
    }
}

fn out_of_range(kind: &str, name: &str) -> TargetError {
    TargetError::new(
        Kind::InvalidArgument,
        format!("{kind} {name} has no such cell in the running program"),
    )
}

#[async_trait]
impl Target for EmbeddedTarget {
    async fn verify(&self, program: &[u8]) -> Result<()> {
        compile(program).map(|_| ())
    }

    async fn load(&self, program: &[u8]) -> Result<()> {
        // Compiled here, so that the data plane only swaps.
        let program = compile(program)?;
        self.on_plane(move |p| {
            p.switch.load(program);
            Ok(())
        })
        .await
    }

    async fn insert_entry(&self, table: &str, id: EntryId, entry: &TableEntry) -> Result<()> {
        let (table, entry) = (table.to_owned(), entry.clone());
        self.on_engine(move |e| insert(e, &table, id, &entry)).await
    }

    async fn modify_entry(&self, table: &str, id: EntryId, action: &ActionCall) -> Result<()> {
        let (table, action) = (table.to_owned(), action.clone());
        self.on_engine(move |e| {
            let call = convert_action(&e.program, find_table(e, &table)?, &action)?;
            let (t, state) = e
                .table_mut(&table)
                .ok_or_else(|| not_found("table", &table))?;
            state
                .modify(t, id.0, call)
                .map_err(|x| table_error(x, &table))
        })
        .await
    }

    async fn remove_entry(&self, table: &str, id: EntryId) -> Result<()> {
        let table = table.to_owned();
        self.on_engine(move |e| {
            let (t, state) = e
                .table_mut(&table)
                .ok_or_else(|| not_found("table", &table))?;
            state.remove(t, id.0).map_err(|x| table_error(x, &table))
        })
        .await
    }

    async fn set_default_action(&self, table: &str, action: Option<&ActionCall>) -> Result<()> {
        let (table, action) = (table.to_owned(), action.cloned());
        self.on_engine(move |e| set_default(e, &table, action.as_ref()))
            .await
    }

    async fn read_direct_counter(&self, table: &str, id: EntryId) -> Result<CounterValue> {
        let table = table.to_owned();
        self.on_engine(move |e| {
            let (_, state) = e
                .table_mut(&table)
                .ok_or_else(|| not_found("table", &table))?;
            let entry = state.entry(id.0);
            entry
                .map(|x| counter_value(x.count))
                .ok_or_else(|| table_error(TableError::NoEntry, &table))
        })
        .await
    }

    async fn write_direct_counter(
        &self,
        table: &str,
        id: EntryId,
        value: CounterValue,
    ) -> Result<()> {
        let table = table.to_owned();
        self.on_engine(move |e| {
            let (_, state) = e
                .table_mut(&table)
                .ok_or_else(|| not_found("table", &table))?;
            let entry = state
                .entry_mut(id.0)
                .ok_or_else(|| table_error(TableError::NoEntry, &table))?;
            entry.count = Count {
                packets: value.packets,
                bytes: value.bytes,
            };
            Ok(())
        })
        .await
    }

    async fn read_counter(&self, counter: &str, cells: Range<usize>) -> Result<Vec<CounterValue>> {
        let counter = counter.to_owned();
        self.on_engine(move |e| {
            let c = e
                .counter_mut(&counter)
                .ok_or_else(|| not_found("counter", &counter))?;
            let list = c
                .get(cells)
                .ok_or_else(|| out_of_range("counter", &counter))?;
            Ok(list.iter().copied().map(counter_value).collect())
        })
        .await
    }

    async fn write_counter(
        &self,
        counter: &str,
        cells: Range<usize>,
        value: CounterValue,
    ) -> Result<()> {
        let counter = counter.to_owned();
        self.on_engine(move |e| {
            let c = e
                .counter_mut(&counter)
                .ok_or_else(|| not_found("counter", &counter))?;
            let list = c
                .get_mut(cells)
                .ok_or_else(|| out_of_range("counter", &counter))?;
            list.fill(Count {
                packets: value.packets,
                bytes: value.bytes,
            });
            Ok(())
        })
        .await
    }

    async fn read_register(&self, register: &str, cells: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let register = register.to_owned();
        self.on_engine(move |e| {
            let r = e
                .register_mut(&register)
                .ok_or_else(|| not_found("register", &register))?;
            cells
                .map(|i| {
                    r.read_bytes(i)
                        .ok_or_else(|| out_of_range("register", &register))
                })
                .collect()
        })
        .await
    }

    async fn write_register(
        &self,
        register: &str,
        cells: Range<usize>,
        value: &[u8],
    ) -> Result<()> {
        let (register, value) = (register.to_owned(), value.to_vec());
        self.on_engine(move |e| {
            let r = e
                .register_mut(&register)
                .ok_or_else(|| not_found("register", &register))?;
            for i in cells {
                if !r.write_bytes(i, &value) {
                    return Err(out_of_range("register", &register));
                }
            }
            Ok(())
        })
        .await
    }

    async fn set_multicast_group(&self, id: u32, list: Option<&[Replica]>) -> Result<()> {
        let list = list.map(replicas);
        self.on_plane(move |p| {
            match list {
                Some(l) => p.switch.groups.insert(id, l),
                None => p.switch.groups.remove(&id),
            };
            Ok(())
        })
        .await
    }

    async fn set_clone_session(&self, id: u32, session: Option<&CloneSession>) -> Result<()> {
        let session = session.map(|s| tm::CloneSession {
            replicas: replicas(&s.replicas),
            length_bytes: s.packet_length_bytes,
        });
        self.on_plane(move |p| {
            match session {
                Some(s) => p.switch.sessions.insert(id, s),
                None => p.switch.sessions.remove(&id),
            };
            Ok(())
        })
        .await
    }

    async fn packet_out(&self, frame: Bytes) -> Result<()> {
        self.on_plane(move |p| {
            if p.packet_out(&frame) {
                Ok(())
            } else {
                Err(TargetError::new(
                    Kind::NotFound,
                    "the switch has no CPU port; start it with --cpu-port",
                ))
            }
        })
        .await
    }

    fn packet_in(&self) -> broadcast::Receiver<Bytes> {
        self.plane.packet_in()
    }
}
