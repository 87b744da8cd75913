// SPDX-License-Identifier: Apache-2.0
//! An image with its state.

use super::pool::Pool;
use crate::image::Image;
use crate::interpreter::exec::Exec;
use crate::metadata::put;
use crate::packet::Packet;
use crate::state::cells::Cells;
use crate::state::profiles::ProfileState;
use crate::state::tables::{EntryId, TableState};
use crate::state::value_sets::ValueSets;
use crate::vector::set_word;

/// A program and its state that outlives a packet.
pub struct Engine {
    /// The program.
    pub image: Image,
    /// Registers, counters and meters.
    pub(super) cells: Cells,
    /// Table entries, by table number.
    pub(super) tables: Vec<TableState>,
    pub(super) profiles: Vec<ProfileState>,
    pub(super) value_sets: ValueSets,
    /// Words of a fresh packet: all zero except the validity of metadata.
    pub(super) fresh: Box<[u64]>,
    pub(super) pool: Pool,
    /// Most nodes that a packet may pass: ends a loop in a malformed program.
    max_nodes: usize,
}

impl Engine {
    /// Makes an engine with empty tables and zeroed cells.
    pub fn new(image: Image) -> Self {
        let program = &image.program;
        let mut fresh = vec![0u64; program.words];
        for h in program.headers.iter().filter(|h| h.metadata) {
            set_word(&mut fresh, h.valid, 1);
        }
        let mut e = Self {
            cells: Cells::new(program),
            tables: program.tables.iter().map(TableState::new).collect(),
            profiles: program
                .profiles
                .iter()
                .map(|_| Default::default())
                .collect(),
            value_sets: vec![Vec::new(); program.value_sets.len()],
            fresh: fresh.into(),
            pool: Pool::default(),
            max_nodes: program.nodes.len() + 1,
            image,
        };
        e.add_const_entries();
        e
    }

    fn add_const_entries(&mut self) {
        for (t, s) in self.image.program.tables.iter().zip(&mut self.tables) {
            for (i, e) in t.const_entries.iter().enumerate() {
                let id = EntryId::Compiled(i as u32);
                // Among equal keys of an exact table, the first entry wins.
                let call = e.call.clone();
                let added = s.insert(t, id, &e.matches, i64::from(e.priority), call, false);
                if let Err(x) = added {
                    tracing::debug!(table = t.name, entry = i, "compiled entry ignored: {x}");
                }
            }
        }
    }

    fn exec(&mut self, now_us: u64) -> Exec<'_> {
        Exec {
            image: &self.image,
            cells: &mut self.cells,
            tables: &mut self.tables,
            profiles: &self.profiles,
            now_us,
            passes: self.max_nodes,
        }
    }

    /// Only parses: for clones of the received frame.
    pub fn parse(&mut self, p: &mut Packet, now_us: u64) -> u64 {
        let sets = std::mem::take(&mut self.value_sets);
        let error = self.exec(now_us).parse(p, &sets);
        self.value_sets = sets;
        error
    }

    /// Seeds the generator of `random()`.
    pub fn seed(&mut self, seed: u64) {
        self.cells.seed(seed);
    }

    /// Runs the parser, checksum verification and the ingress pipeline.
    pub fn ingress(&mut self, p: &mut Packet, now_us: u64) {
        let error = self.parse(p, now_us);
        put(p, self.image.program.std.parser_error, error);
        let mut exec = self.exec(now_us);
        let image = exec.image;
        let good = exec.verify_checksums(p);
        put(p, image.program.std.checksum_error, u64::from(!good));
        let flow = &image.code.ingress;
        exec.run(&flow.ops, &flow.starts, &[], p);
        p.requests.exit = false;
    }

    /// Runs the egress pipeline.
    pub fn egress(&mut self, p: &mut Packet, now_us: u64) {
        let mut exec = self.exec(now_us);
        let flow = &exec.image.code.egress;
        exec.run(&flow.ops, &flow.starts, &[], p);
        p.requests.exit = false;
    }

    /// Updates checksums and deparses into `out`. A packet that makes another pass stays whole:
    /// it is truncated only when it is sent.
    pub fn deparse(&mut self, p: &mut Packet, out: &mut Vec<u8>) {
        let whole = p.requests.recirculate.is_some();
        self.exec(0).deparse(p, out, whole);
    }
}
