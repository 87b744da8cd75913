// SPDX-License-Identifier: Apache-2.0
//! Executes a compiled program on one packet at a time. Time and queues are
//! the traffic manager's affair ([`crate::tm`]).

mod deparse;
pub mod eval;
mod exec;
mod fields;
mod hash;
mod headers;
mod indirect;
pub mod packet;
mod parse;
pub mod profiles;
mod run;
pub mod state;
pub mod tables;
mod transition;

use std::sync::Arc;

use crate::bmv2::expr::FieldRef;
use crate::bmv2::ir::{ActionCall, END, Program};
use eval::set_word;
use exec::Exec;
use packet::Packet;
use state::{Cells, Count};
use tables::TableState;

/// BMv2's default.
pub const DEFAULT_DROP_PORT: u32 = 511;
/// Buffers kept for reuse.
const POOL: usize = 8192;

pub struct Engine {
    pub program: Program,
    pub cells: Cells,
    pub tables: Vec<TableState>,
    profiles: Vec<profiles::ProfileState>,
    value_sets: parse::ValueSets,
    /// Words of a fresh packet: all zero but the validity of metadata.
    fresh: Box<[u64]>,
    drop_port: u32,
    free_words: Vec<Box<[u64]>>,
    free_frames: Vec<Arc<Vec<u8>>>,
    /// Nodes a packet may pass: ends a loop in a malformed program.
    max_nodes: usize,
}

#[derive(Clone, Copy)]
enum Gress {
    In,
    Out,
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
            free_words: Vec::new(),
            free_frames: Vec::new(),
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

    /// A packet as received, metadata set as far as the receiver does.
    pub fn receive(&mut self, port: u32, frame: &[u8], now_us: u64) -> Packet {
        let mut shared = self.free_frames.pop().unwrap_or_default();
        if let Some(buffer) = Arc::get_mut(&mut shared) {
            buffer.clear();
            buffer.extend_from_slice(frame);
        } else {
            shared = Arc::new(frame.to_vec());
        }
        self.receive_shared(port, shared, now_us)
    }

    pub fn receive_shared(&mut self, port: u32, frame: Arc<Vec<u8>>, now_us: u64) -> Packet {
        let words = self.fresh_words();
        let length = frame.len() as u32;
        let mut p = Packet {
            words,
            payload: 0..frame.len(),
            frame,
            requests: packet::Requests::default(),
            length_bytes: length,
            ingress_bytes: length,
            ingress_port: port,
        };
        let std = &self.program.std;
        put(&mut p, std.ingress_port, u64::from(port));
        put(&mut p, std.packet_length, u64::from(length));
        put(&mut p, std.ingress_global_timestamp, now_us);
        p
    }

    fn free_words(&mut self) -> Box<[u64]> {
        self.free_words.pop().unwrap_or_else(|| self.fresh.clone())
    }

    fn fresh_words(&mut self) -> Box<[u64]> {
        let mut words = self.free_words();
        words.copy_from_slice(&self.fresh);
        words
    }

    /// Gives the packet's buffers back.
    pub fn recycle(&mut self, p: Packet) {
        if self.free_words.len() < POOL {
            self.free_words.push(p.words);
        }
        let mut frame = p.frame;
        if self.free_frames.len() < POOL && Arc::get_mut(&mut frame).is_some() {
            self.free_frames.push(frame);
        }
    }

    /// Zeroes all metadata.
    pub fn reset_metadata(&self, p: &mut Packet) {
        let metadata = ..self.program.metadata_words.end;
        if let (Some(m), Some(fresh)) = (p.words.get_mut(metadata), self.fresh.get(metadata)) {
            m.copy_from_slice(fresh);
        }
    }

    /// A copy that shares the frame; requests are not copied.
    pub fn duplicate(&mut self, p: &Packet) -> Packet {
        let mut words = self.free_words();
        words.copy_from_slice(&p.words);
        copy_with(p, words)
    }

    /// A copy with metadata as a fresh packet has.
    pub fn duplicate_headers(&mut self, p: &Packet) -> Packet {
        let mut words = self.free_words();
        let n = self.program.metadata_words.end;
        for (range, from) in [(0..n, &self.fresh), (n..words.len(), &p.words)] {
            if let (Some(to), Some(from)) = (words.get_mut(range.clone()), from.get(range)) {
                to.copy_from_slice(from);
            }
        }
        copy_with(p, words)
    }

    /// Copies the fields of a field list between header vectors.
    pub fn copy_field_list(&self, list: u32, to: &mut Packet, from: &Packet) {
        let Some(fields) = self.program.field_lists.get(&list) else {
            return;
        };
        for f in &fields.parts {
            f.set(&mut to.words, f.get(&from.words));
        }
        for r in &fields.words {
            let range = r.start as usize..r.end as usize;
            if let (Some(d), Some(s)) = (to.words.get_mut(range.clone()), from.words.get(range)) {
                d.copy_from_slice(s);
            }
        }
    }

    fn exec(&mut self, now_us: u64) -> Exec<'_> {
        Exec {
            program: &self.program,
            cells: &mut self.cells,
            drop_port: self.drop_port,
            now_us,
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
        let good = self.exec(now_us).verify_checksums(p);
        put(p, self.program.std.checksum_error, u64::from(!good));
        self.pipeline(Gress::In, p, now_us);
        p.requests.exit = false;
    }

    pub fn egress(&mut self, p: &mut Packet, now_us: u64) {
        self.pipeline(Gress::Out, p, now_us);
        p.requests.exit = false;
    }

    /// Checksum update and deparser, into `out`.
    pub fn deparse(&mut self, p: &mut Packet, out: &mut Vec<u8>) {
        self.exec(0).deparse(p, out);
    }

    fn pipeline(&mut self, gress: Gress, p: &mut Packet, now_us: u64) {
        let mut pc = 0;
        for _ in 0..self.max_nodes {
            let flow = match gress {
                Gress::In => &self.program.ingress,
                Gress::Out => &self.program.egress,
            };
            let mut exec = Exec {
                program: &self.program,
                cells: &mut self.cells,
                drop_port: self.drop_port,
                now_us,
            };
            let Some(t) = exec.run(&flow.ops, pc, &[], p) else {
                return;
            };
            let node = self.apply(t as usize, p, now_us);
            if p.requests.exit {
                return;
            }
            let flow = match gress {
                Gress::In => &self.program.ingress,
                Gress::Out => &self.program.egress,
            };
            match flow.starts.get(node as usize) {
                Some(start) => pc = *start as usize,
                None => return,
            }
        }
    }

    fn apply(&mut self, t: usize, p: &mut Packet, now_us: u64) -> u32 {
        let (Some(table), Some(state)) = (self.program.tables.get(t), self.tables.get_mut(t))
        else {
            return END;
        };
        let slot = state.lookup(table, &p.words, p.ingress_bytes);
        if let (Some((meter, target)), Some(s)) = (table.direct_meter, slot) {
            let by_bytes = self
                .program
                .meters
                .get(meter as usize)
                .is_some_and(|m| m.bytes);
            let amount = if by_bytes {
                f64::from(p.ingress_bytes)
            } else {
                1.0
            };
            let colour = state.meter(s).map_or(0, |m| m.colour(now_us, amount));
            put(p, Some(target), colour);
        }
        if let (Some(profile), Some(s)) = (table.profile, slot) {
            return self.apply_choice(t, profile, s, p, now_us);
        }
        let outcome = state.outcome(slot);
        if let Some(a) = outcome
            .action
            .and_then(|a| self.program.actions.get(a as usize))
        {
            Exec {
                program: &self.program,
                cells: &mut self.cells,
                drop_port: self.drop_port,
                now_us,
            }
            .run_list(&a.code, outcome.args, p);
        }
        outcome.next
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

fn copy_with(p: &Packet, words: Box<[u64]>) -> Packet {
    Packet {
        words,
        frame: Arc::clone(&p.frame),
        payload: p.payload.clone(),
        requests: packet::Requests::default(),
        length_bytes: p.length_bytes,
        ingress_bytes: p.ingress_bytes,
        ingress_port: p.ingress_port,
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
