// SPDX-License-Identifier: Apache-2.0
//! A mock switch that only records what it is told.

use bytes::Bytes;
use p4runtime_server::target::{
    ActionCall, CloneSession, CounterValue, DigestSample, EntryAction, EntryId, MeterConfig,
    Replica, TableEntry, Target, TargetError, TargetErrorKind, WeightedMember,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;
use tokio::sync::broadcast;

#[derive(Default)]
pub(crate) struct State {
    pub programs: Vec<Vec<u8>>,
    pub entries: HashMap<(String, EntryId), TableEntry>,
    pub defaults: HashMap<String, Option<ActionCall>>,
    pub idle_ns: HashMap<EntryId, u64>,
    pub hits: HashMap<EntryId, CounterValue>,
    pub counters: HashMap<(String, usize), CounterValue>,
    pub registers: HashMap<(String, usize), Vec<u8>>,
    pub members: HashMap<(String, u64), ActionCall>,
    pub selector_groups: HashMap<(String, u64), Vec<WeightedMember>>,
    pub meters: HashMap<(String, usize), MeterConfig>,
    pub direct_meters: HashMap<EntryId, MeterConfig>,
    pub value_sets: HashMap<String, Vec<Vec<u8>>>,
    pub groups: HashMap<u32, Vec<Replica>>,
    pub sessions: HashMap<u32, CloneSession>,
    pub sent: Vec<Bytes>,
    pub refuse: Option<TargetErrorKind>,
}

pub(crate) struct Mock {
    pub state: Mutex<State>,
    pub packets: broadcast::Sender<Bytes>,
    pub digests: broadcast::Sender<DigestSample>,
}

impl Mock {
    pub(crate) fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn check(&self) -> Result<std::sync::MutexGuard<'_, State>, TargetError> {
        let state = self.state();
        match state.refuse {
            Some(kind) => Err(TargetError::new(kind, "refused by the target")),
            None => Ok(state),
        }
    }
}

#[async_trait::async_trait]
impl Target for Mock {
    async fn load(&self, program: &[u8]) -> Result<(), TargetError> {
        let mut s = self.check()?;
        let mut programs = std::mem::take(&mut s.programs);
        programs.push(program.to_vec());
        *s = State {
            programs,
            ..State::default()
        };
        Ok(())
    }
    async fn insert_entry(
        &self,
        table: &str,
        id: EntryId,
        entry: &TableEntry,
    ) -> Result<(), TargetError> {
        let old = self
            .check()?
            .entries
            .insert((table.into(), id), entry.clone());
        assert!(old.is_none(), "id used twice");
        Ok(())
    }
    async fn modify_entry(
        &self,
        table: &str,
        id: EntryId,
        action: &EntryAction,
    ) -> Result<(), TargetError> {
        let mut s = self.check()?;
        s.entries.get_mut(&(table.into(), id)).unwrap().action = action.clone();
        Ok(())
    }
    async fn remove_entry(&self, table: &str, id: EntryId) -> Result<(), TargetError> {
        self.check()?.entries.remove(&(table.into(), id)).unwrap();
        Ok(())
    }
    async fn idle_ns(&self, _: &str, ids: &[EntryId]) -> Result<Vec<Option<u64>>, TargetError> {
        let s = self.check()?;
        Ok(ids.iter().map(|id| s.idle_ns.get(id).copied()).collect())
    }
    async fn set_default_action(
        &self,
        table: &str,
        action: Option<&ActionCall>,
    ) -> Result<(), TargetError> {
        self.check()?.defaults.insert(table.into(), action.cloned());
        Ok(())
    }
    async fn read_direct_counter(&self, _: &str, id: EntryId) -> Result<CounterValue, TargetError> {
        Ok(self.check()?.hits.get(&id).copied().unwrap_or_default())
    }
    async fn write_direct_counter(
        &self,
        _: &str,
        id: EntryId,
        value: CounterValue,
    ) -> Result<(), TargetError> {
        self.check()?.hits.insert(id, value);
        Ok(())
    }
    async fn read_counter(
        &self,
        counter: &str,
        cells: Range<usize>,
    ) -> Result<Vec<CounterValue>, TargetError> {
        let s = self.check()?;
        Ok(cells
            .map(|i| {
                s.counters
                    .get(&(counter.into(), i))
                    .copied()
                    .unwrap_or_default()
            })
            .collect())
    }
    async fn write_counter(
        &self,
        counter: &str,
        cells: Range<usize>,
        value: CounterValue,
    ) -> Result<(), TargetError> {
        let mut s = self.check()?;
        for i in cells {
            s.counters.insert((counter.into(), i), value);
        }
        Ok(())
    }
    async fn read_register(
        &self,
        register: &str,
        cells: Range<usize>,
    ) -> Result<Vec<Vec<u8>>, TargetError> {
        let s = self.check()?;
        Ok(cells
            .map(|i| {
                s.registers
                    .get(&(register.into(), i))
                    .cloned()
                    .unwrap_or(vec![0, 0])
            })
            .collect())
    }
    async fn write_register(
        &self,
        register: &str,
        cells: Range<usize>,
        value: &[u8],
    ) -> Result<(), TargetError> {
        let mut s = self.check()?;
        for i in cells {
            s.registers.insert((register.into(), i), value.to_vec());
        }
        Ok(())
    }
    async fn set_member(
        &self,
        profile: &str,
        member: u64,
        action: Option<&ActionCall>,
    ) -> Result<(), TargetError> {
        let mut s = self.check()?;
        let key = (profile.to_owned(), member);
        match action {
            Some(a) => drop(s.members.insert(key, a.clone())),
            None => drop(s.members.remove(&key).expect("a member that exists")),
        }
        Ok(())
    }
    async fn set_group(
        &self,
        profile: &str,
        group: u64,
        members: Option<&[WeightedMember]>,
    ) -> Result<(), TargetError> {
        let mut s = self.check()?;
        let key = (profile.to_owned(), group);
        match members {
            Some(m) => {
                for m in m {
                    assert!(s.members.contains_key(&(profile.to_owned(), m.member)));
                }
                s.selector_groups.insert(key, m.to_vec());
            }
            None => drop(s.selector_groups.remove(&key).expect("a group that exists")),
        }
        Ok(())
    }
    async fn set_meter(
        &self,
        meter: &str,
        cells: Range<usize>,
        config: Option<MeterConfig>,
    ) -> Result<(), TargetError> {
        let mut s = self.check()?;
        for i in cells {
            match config {
                Some(c) => s.meters.insert((meter.into(), i), c),
                None => s.meters.remove(&(meter.into(), i)),
            };
        }
        Ok(())
    }
    async fn set_direct_meter(
        &self,
        _: &str,
        id: EntryId,
        config: Option<MeterConfig>,
    ) -> Result<(), TargetError> {
        let mut s = self.check()?;
        match config {
            Some(c) => s.direct_meters.insert(id, c),
            None => s.direct_meters.remove(&id),
        };
        Ok(())
    }
    async fn set_value_set(&self, name: &str, values: &[Vec<u8>]) -> Result<(), TargetError> {
        self.check()?
            .value_sets
            .insert(name.into(), values.to_vec());
        Ok(())
    }
    async fn set_multicast_group(
        &self,
        id: u32,
        replicas: Option<&[Replica]>,
    ) -> Result<(), TargetError> {
        let mut s = self.check()?;
        match replicas {
            Some(r) => s.groups.insert(id, r.to_vec()),
            None => s.groups.remove(&id),
        };
        Ok(())
    }
    async fn set_clone_session(
        &self,
        id: u32,
        session: Option<&CloneSession>,
    ) -> Result<(), TargetError> {
        let mut s = self.check()?;
        match session {
            Some(c) => s.sessions.insert(id, c.clone()),
            None => s.sessions.remove(&id),
        };
        Ok(())
    }
    async fn packet_out(&self, frame: Bytes) -> Result<(), TargetError> {
        self.check()?.sent.push(frame);
        Ok(())
    }
    fn packet_in(&self) -> broadcast::Receiver<Bytes> {
        self.packets.subscribe()
    }
    fn digests(&self) -> broadcast::Receiver<DigestSample> {
        self.digests.subscribe()
    }
}
