// SPDX-License-Identifier: Apache-2.0
//! Executes a compiled program on one packet at a time. Time and queues are
//! the traffic manager's affair ([`crate::tm`]).

mod apply;
mod crc32;
mod deparse;
pub mod eval;
mod exec;
mod fields;
mod hash;
mod headers;
mod indirect;
pub mod packet;
mod parse;
mod pool;
pub mod profiles;
mod run;
pub mod state;
pub mod tables;
mod transition;

use crate::bmv2::expr::FieldRef;
use crate::bmv2::ir::{ActionCall, Program};
use eval::set_word;
use exec::Exec;
use packet::Packet;
use pool::Pool;
use state::{Cells, Count};
use tables::TableState;

/// BMv2's default.
pub const DEFAULT_DROP_PORT: u32 = 511;

pub struct Engine {
    pub program: Program,
    pub cells: Cells,
    pub tables: Vec<TableState>,
    profiles: Vec<profiles::ProfileState>,
    value_sets: parse::ValueSets,
    /// Words of a fresh packet: all zero but the validity of metadata.
    fresh: Box<[u64]>,
    drop_port: u32,
    pool: Pool,
    /// Nodes a packet may pass: ends a loop in a malformed program.
    max_nodes: usize,
}

impl Engine {
    pub fn new(program: Program) -> Self {
        let mut fresh = vec![0u64; program.words];
        for h in program.headers.iter().filter(|h| h.metadata) {
            set_word(&mut fresh, h.valid, 1);
        }
        let mut e = Self {
            cells: Cells::new(&program),
            tables: program.tables.iter().map(TableState::new).collect(),
            profiles: program
                .profiles
                .iter()
                .map(|_| Default::default())
                .collect(),
            value_sets: vec![Vec::new(); program.value_sets.len()],
            fresh: fresh.into(),
            drop_port: DEFAULT_DROP_PORT,
            pool: Pool::default(),
            max_nodes: program.nodes.len() + 1,
            program,
        };
        e.add_const_entries();
        e
    }

    fn add_const_entries(&mut self) {
        for (t, s) in self.program.tables.iter().zip(&mut self.tables) {
            for (i, e) in t.const_entries.iter().enumerate() {
                let id = p4runtime_server::target::EntryId::compiled(i as u32).0;
                let call = ActionCall {
                    action: e.call.action,
                    args: e.call.args.clone(),
                };
                // Among equal keys of an exact table the first wins.
                let added = s.insert(t, id, e.matches.clone(), i64::from(e.priority), call, false);
                if let Err(x) = added {
                    tracing::debug!(table = t.name, entry = i, "compiled entry ignored: {x}");
                }
            }
        }
    }

    pub fn drop_port(&self) -> u32 {
        self.drop_port
    }

    fn exec(&mut self, now_us: u64) -> Exec<'_> {
        Exec {
            program: &self.program,
            cells: &mut self.cells,
            tables: &mut self.tables,
            profiles: &self.profiles,
            drop_port: self.drop_port,
            now_us,
            passes: self.max_nodes,
        }
    }

    /// Parses without anything else: for clones of the received frame.
    pub fn parse(&mut self, p: &mut Packet, now_us: u64) -> u64 {
        let sets = std::mem::take(&mut self.value_sets);
        let error = self.exec(now_us).parse(p, &sets);
        self.value_sets = sets;
        error
    }

    /// Parser, checksum verification, ingress pipeline.
    pub fn ingress(&mut self, p: &mut Packet, now_us: u64) {
        let error = self.parse(p, now_us);
        put(p, self.program.std.parser_error, error);
        let mut exec = self.exec(now_us);
        let program = exec.program;
        let good = exec.verify_checksums(p);
        put(p, program.std.checksum_error, u64::from(!good));
        exec.run(&program.ingress.ops, &program.ingress.starts, &[], p);
        p.requests.exit = false;
    }

    pub fn egress(&mut self, p: &mut Packet, now_us: u64) {
        let mut exec = self.exec(now_us);
        let program = exec.program;
        exec.run(&program.egress.ops, &program.egress.starts, &[], p);
        p.requests.exit = false;
    }

    /// Checksum update and deparser, into `out`.
    pub fn deparse(&mut self, p: &mut Packet, out: &mut Vec<u8>) {
        self.exec(0).deparse(p, out);
    }

    pub fn counter_mut(&mut self, name: &str) -> Option<&mut Vec<Count>> {
        let i = self.program.counters.iter().position(|c| c.name == name)?;
        self.cells.counters.get_mut(i)
    }

    pub fn register_mut(&mut self, name: &str) -> Option<&mut state::Register> {
        let i = self.program.registers.iter().position(|r| r.name == name)?;
        self.cells.registers.get_mut(i)
    }

    /// Index of a table and its mutable state.
    pub fn table_mut(&mut self, name: &str) -> Option<(&crate::bmv2::ir::Table, &mut TableState)> {
        let i = self.program.tables.iter().position(|t| t.name == name)?;
        Some((self.program.tables.get(i)?, self.tables.get_mut(i)?))
    }
}

/// Sets a field of standard metadata, if the program has it.
#[inline]
pub fn put(p: &mut Packet, field: Option<FieldRef>, value: u64) {
    if let Some(f) = field {
        f.set(&mut p.words, value);
    }
}

/// Reads a field of standard metadata; 0 if the program lacks it.
#[inline]
pub fn get(p: &Packet, field: Option<FieldRef>) -> u64 {
    field.map_or(0, |f| f.get(&p.words))
}
