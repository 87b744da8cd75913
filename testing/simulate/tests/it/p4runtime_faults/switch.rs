// SPDX-License-Identifier: Apache-2.0
//! The switch behind the server: the embedded switch's engine with the compiled program, and writes
//! that fail or take long.

use bytes::Bytes;
use p4_vm::{Engine, Image};
use p4runtime_server::target::{
    ActionCall, CloneSession, DigestSample, EntryAction, EntryId, MatchValue, Replica, TableEntry,
    Target, TargetError, TargetErrorKind as Kind,
};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use test_support::rng::Rng;
use tidemark_switch::p4runtime::{insert, modify, set_default};
use tokio::sync::broadcast;

type Done = Result<(), TargetError>;

const LIMITS: &str = "Ingress.queue_limit";

/// How writes fail.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Failing {
    /// Probability that a write is refused.
    pub(crate) refuses: f64,
    /// Probability that a write is done at once but answered late, and by how much.
    pub(crate) slow: f64,
    pub(crate) slow_ms: u64,
}

#[derive(Default)]
struct Plane {
    engine: Option<Engine>,
    /// Tables of the existing entries.
    entries: BTreeMap<u64, String>,
    /// Port and limit of the limit entries.
    limits: BTreeMap<u64, (u32, Option<u64>)>,
    sessions: BTreeMap<u32, CloneSession>,
    loads: u64,
}

/// A start of the switch.
pub(crate) struct Switch {
    plane: Mutex<Plane>,
    rng: Mutex<Rng>,
    failing: Mutex<Failing>,
    packets: broadcast::Sender<Bytes>,
    digests: broadcast::Sender<DigestSample>,
}

fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap()
}

fn no_program() -> TargetError {
    TargetError::new(Kind::NotFound, "no program")
}

fn unsupported() -> TargetError {
    TargetError::new(Kind::Unsupported, "not simulated")
}

fn compile(program: &[u8]) -> Result<Image, TargetError> {
    let program = p4_ir::load(program);
    let program = program.map_err(|e| TargetError::new(Kind::InvalidProgram, e.to_string()))?;
    Ok(Image::new(program))
}

/// Returns the bytes of a limit; `None` for other actions.
fn bytes_of(action: &EntryAction) -> Option<u64> {
    match action {
        EntryAction::Call(c) if c.name == "Ingress.drop_tail" => {
            let number = |p: &Vec<u8>| p.iter().fold(0, |n, b| (n << 8) | u64::from(*b));
            c.params.first().map(number)
        }
        _ => None,
    }
}

impl Switch {
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            plane: Mutex::default(),
            rng: Mutex::new(rng),
            failing: Mutex::default(),
            packets: broadcast::channel(4).0,
            digests: broadcast::channel(4).0,
        }
    }

    pub(crate) fn set_failing(&self, failing: Failing) {
        *locked(&self.failing) = failing;
    }

    /// Returns the limit in force at a port, bytes.
    pub(crate) fn limit(&self, port: u32) -> Option<u64> {
        let plane = locked(&self.plane);
        let found = plane.limits.values().find(|(p, _)| *p == port);
        found.and_then(|(_, bytes)| *bytes)
    }

    /// Returns the number of entries per table.
    pub(crate) fn entries(&self) -> BTreeMap<String, usize> {
        let mut count = BTreeMap::new();
        for table in locked(&self.plane).entries.values() {
            *count.entry(table.clone()).or_default() += 1;
        }
        count
    }

    /// Carries out a write, unless the switch refuses it; may answer late.
    async fn write<T>(
        &self,
        f: impl FnOnce(&mut Plane) -> Result<T, TargetError>,
    ) -> Result<T, TargetError> {
        let failing = *locked(&self.failing);
        let (refused, slow) = {
            let mut rng = locked(&self.rng);
            (rng.chance(failing.refuses), rng.chance(failing.slow))
        };
        if refused {
            return Err(TargetError::new(Kind::ResourceExhausted, "no cell left"));
        }
        let done = f(&mut locked(&self.plane));
        if slow {
            tokio::time::sleep(Duration::from_millis(failing.slow_ms)).await;
        }
        done
    }
}

#[async_trait::async_trait]
impl Target for Switch {
    async fn load(&self, program: &[u8]) -> Done {
        let image = compile(program)?;
        let mut plane = locked(&self.plane);
        *plane = Plane {
            engine: Some(Engine::new(image)),
            loads: plane.loads + 1,
            ..Plane::default()
        };
        Ok(())
    }
    async fn insert_entry(&self, table: &str, id: EntryId, entry: &TableEntry) -> Done {
        self.write(|p| {
            let engine = p.engine.as_mut().ok_or_else(no_program)?;
            insert(engine, table, id, entry)?;
            p.entries.insert(id.0, table.into());
            if let (LIMITS, Some(MatchValue::Exact(port))) =
                (table, entry.matches.first().map(|m| &m.value))
            {
                let port = port.iter().fold(0, |n, b| (n << 8) | u32::from(*b));
                p.limits.insert(id.0, (port, bytes_of(&entry.action)));
            }
            Ok(())
        })
        .await
    }
    async fn modify_entry(&self, table: &str, id: EntryId, action: &EntryAction) -> Done {
        self.write(|p| {
            let engine = p.engine.as_mut().ok_or_else(no_program)?;
            modify(engine, table, id, action)?;
            if let Some((_, limit)) = p.limits.get_mut(&id.0) {
                *limit = bytes_of(action);
            }
            Ok(())
        })
        .await
    }
    async fn remove_entry(&self, table: &str, id: EntryId) -> Done {
        self.write(|p| {
            let engine = p.engine.as_mut().ok_or_else(no_program)?;
            let (_, state) = engine.table_mut(table).ok_or_else(no_program)?;
            let removed = state.remove(p4_vm::EntryId::Added(id.0));
            removed.map_err(|e| TargetError::new(Kind::NotFound, e.to_string()))?;
            p.entries.remove(&id.0);
            p.limits.remove(&id.0);
            Ok(())
        })
        .await
    }
    async fn set_default_action(&self, table: &str, action: Option<&ActionCall>) -> Done {
        self.write(|p| set_default(p.engine.as_mut().ok_or_else(no_program)?, table, action))
            .await
    }
    async fn set_multicast_group(&self, _: u32, _: Option<&[Replica]>) -> Done {
        Err(unsupported())
    }
    async fn set_clone_session(&self, id: u32, session: Option<&CloneSession>) -> Done {
        self.write(|p| {
            match session {
                Some(s) => p.sessions.insert(id, s.clone()),
                None => p.sessions.remove(&id),
            };
            Ok(())
        })
        .await
    }
    fn packet_in(&self) -> broadcast::Receiver<Bytes> {
        self.packets.subscribe()
    }
    fn digests(&self) -> broadcast::Receiver<DigestSample> {
        self.digests.subscribe()
    }
}
