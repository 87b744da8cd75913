// SPDX-License-Identifier: Apache-2.0
//! Executes P4Runtime's operations on the data plane between packets.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use p4runtime_server::target::{
    ActionCall, CloneSession, CounterValue, DigestSample, EntryAction, EntryId, MeterConfig,
    Replica, TableEntry, Target, TargetError, TargetErrorKind as Kind, WeightedMember,
};
use tokio::sync::broadcast;

use super::entries;
use crate::data_plane::{Handle, Plane};
use p4_ir::bits::words_from_bytes;
use p4_vm::Count;
use p4_vm::{Engine, Image};
use p4_vm::{Entry, TableError};
use traffic_manager::Loaded;

use super::arrays;
use super::convert::{Result, counter_value, entry_id, not_found, rates, replicas, table_error};

/// The running switch as a P4Runtime target.
#[derive(Clone)]
pub struct EmbeddedTarget {
    plane: Handle,
}

impl EmbeddedTarget {
    /// Wraps the switch that this thread runs.
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

    async fn on_loaded<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Loaded) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.on_plane(|p| f(loaded(p)?)).await
    }

    async fn on_engine<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.on_loaded(|l| f(&mut l.engine)).await
    }

    async fn on_entry<T: Send + 'static>(
        &self,
        table: &str,
        id: EntryId,
        f: impl FnOnce(&mut Entry) -> T + Send + 'static,
    ) -> Result<T> {
        let table = table.to_owned();
        self.on_engine(move |e| {
            let (_, state) = entries::table_of(e, &table)?;
            let entry = state
                .entry_mut(entry_id(id))
                .ok_or_else(|| table_error(TableError::NoEntry, &table))?;
            Ok(f(entry))
        })
        .await
    }
}

fn loaded(p: &mut Plane) -> Result<&mut Loaded> {
    p.switch.loaded_mut().ok_or_else(|| {
        TargetError::new(
            Kind::NotFound,
            "the switch runs no program; set a pipeline configuration first",
        )
    })
}

#[async_trait]
impl Target for EmbeddedTarget {
    async fn load(&self, program: &[u8]) -> Result<()> {
        // Compiled on this thread, so that the data plane only has to swap.
        let program = p4_ir::load(program)
            .map_err(|e| TargetError::new(Kind::InvalidProgram, e.to_string()))?;
        let program = Image::new(program);
        self.on_plane(move |p| {
            p.switch.load(program);
            Ok(())
        })
        .await
    }

    async fn insert_entry(&self, table: &str, id: EntryId, entry: &TableEntry) -> Result<()> {
        let (table, entry) = (table.to_owned(), entry.clone());
        self.on_plane(move |p| {
            let now_us = p.now_ns() / 1000;
            let e = &mut loaded(p)?.engine;
            entries::insert(e, &table, id, &entry)?;
            if let Some(added) = e
                .table_mut(&table)
                .and_then(|(_, t)| t.entry_mut(entry_id(id)))
            {
                added.last_hit_us = now_us;
            }
            Ok(())
        })
        .await
    }

    async fn modify_entry(&self, table: &str, id: EntryId, action: &EntryAction) -> Result<()> {
        let (table, action) = (table.to_owned(), action.clone());
        self.on_engine(move |e| entries::modify(e, &table, id, &action))
            .await
    }

    async fn remove_entry(&self, table: &str, id: EntryId) -> Result<()> {
        let table = table.to_owned();
        self.on_engine(move |e| {
            let (_, state) = entries::table_of(e, &table)?;
            state
                .remove(entry_id(id))
                .map_err(|x| table_error(x, &table))
        })
        .await
    }

    async fn idle_ns(&self, table: &str, ids: &[EntryId]) -> Result<Vec<Option<u64>>> {
        let (table, ids) = (table.to_owned(), ids.to_vec());
        self.on_plane(move |p| {
            let now_us = p.now_ns() / 1000;
            let (_, state) = entries::table_of(&mut loaded(p)?.engine, &table)?;
            let since = |id: &EntryId| {
                let entry = state.entry(entry_id(*id))?;
                Some(now_us.saturating_sub(entry.last_hit_us) * 1000)
            };
            Ok(ids.iter().map(since).collect())
        })
        .await
    }

    async fn set_default_action(&self, table: &str, action: Option<&ActionCall>) -> Result<()> {
        let (table, action) = (table.to_owned(), action.cloned());
        self.on_engine(move |e| entries::set_default(e, &table, action.as_ref()))
            .await
    }

    async fn set_member(
        &self,
        profile: &str,
        member: u64,
        action: Option<&ActionCall>,
    ) -> Result<()> {
        let (profile, action) = (profile.to_owned(), action.cloned());
        self.on_engine(move |e| entries::set_member(e, &profile, member, action.as_ref()))
            .await
    }

    async fn set_group(
        &self,
        profile: &str,
        group: u64,
        members: Option<&[WeightedMember]>,
    ) -> Result<()> {
        let (profile, members) = (profile.to_owned(), members.map(<[_]>::to_vec));
        self.on_engine(move |e| entries::set_group(e, &profile, group, members.as_deref()))
            .await
    }

    async fn read_direct_counter(&self, table: &str, id: EntryId) -> Result<CounterValue> {
        self.on_entry(table, id, |entry| counter_value(entry.count))
            .await
    }

    async fn write_direct_counter(
        &self,
        table: &str,
        id: EntryId,
        value: CounterValue,
    ) -> Result<()> {
        let count = Count {
            packets: value.packets,
            bytes: value.bytes,
        };
        self.on_entry(table, id, move |entry| entry.count = count)
            .await
    }

    async fn read_counter(&self, counter: &str, cells: Range<usize>) -> Result<Vec<CounterValue>> {
        let counter = counter.to_owned();
        self.on_engine(move |e| arrays::read_counter(e, &counter, cells))
            .await
    }

    async fn write_counter(
        &self,
        counter: &str,
        cells: Range<usize>,
        value: CounterValue,
    ) -> Result<()> {
        let counter = counter.to_owned();
        self.on_engine(move |e| arrays::write_counter(e, &counter, cells, value))
            .await
    }

    async fn read_register(&self, register: &str, cells: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let register = register.to_owned();
        self.on_engine(move |e| arrays::read_register(e, &register, cells))
            .await
    }

    async fn write_register(
        &self,
        register: &str,
        cells: Range<usize>,
        value: &[u8],
    ) -> Result<()> {
        let (register, value) = (register.to_owned(), value.to_vec());
        self.on_engine(move |e| arrays::write_register(e, &register, cells, &value))
            .await
    }

    async fn set_meter(
        &self,
        meter: &str,
        cells: Range<usize>,
        config: Option<MeterConfig>,
    ) -> Result<()> {
        let meter = meter.to_owned();
        self.on_engine(move |e| arrays::set_meter(e, &meter, cells, config))
            .await
    }

    async fn set_direct_meter(
        &self,
        table: &str,
        id: EntryId,
        config: Option<MeterConfig>,
    ) -> Result<()> {
        self.on_entry(table, id, move |entry| entry.meter.set(config.map(rates)))
            .await
    }

    async fn set_value_set(&self, value_set: &str, values: &[Vec<u8>]) -> Result<()> {
        let name = value_set.to_owned();
        let values = values
            .iter()
            .map(|v| words_from_bytes(v, v.len() as u32 * 8))
            .collect();
        self.on_engine(move |e| {
            let set = e
                .value_set_mut(&name)
                .ok_or_else(|| not_found("value set", &name))?;
            *set = values;
            Ok(())
        })
        .await
    }

    async fn set_multicast_group(&self, id: u32, list: Option<&[Replica]>) -> Result<()> {
        let list = list.map(replicas);
        self.on_loaded(move |l| {
            match list {
                Some(list) => l.groups.insert(id, list),
                None => l.groups.remove(&id),
            };
            Ok(())
        })
        .await
    }

    async fn set_clone_session(&self, id: u32, session: Option<&CloneSession>) -> Result<()> {
        let session = session.map(|s| traffic_manager::CloneSession {
            replicas: replicas(&s.replicas),
            length_bytes: s.packet_length_bytes,
        });
        self.on_loaded(move |l| {
            match session {
                Some(s) => l.sessions.insert(id, s),
                None => l.sessions.remove(&id),
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

    fn digests(&self) -> broadcast::Receiver<DigestSample> {
        self.plane.digests()
    }
}
