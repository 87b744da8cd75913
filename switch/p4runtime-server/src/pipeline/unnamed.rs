// SPDX-License-Identifier: Apache-2.0
//! Objects of a program that its P4Info does not name (all, if there is none). BMv2's runtime
//! services reach them by name. Their ids are not shown to P4Runtime clients.

use p4_ir::{MatchKind, Program};
use std::collections::HashMap;
use tidemark_proto::p4::config::v1 as p4info;
use tidemark_proto::p4::config::v1::match_field::{Match, MatchType};

/// First id that is not in the P4Info.
pub(crate) const FIRST_ID: u32 = 0xf000_0000;

/// Size of an action profile that is not in the P4Info.
const PROFILE_SIZE: i64 = 1 << 20;

/// Size of a value set that is not in the P4Info.
const VALUE_SET_SIZE: i32 = 1 << 16;

/// Ids by name, beginning with the names of the P4Info.
struct Ids<'a> {
    known: HashMap<(u8, &'a str), u32>,
    next: u32,
}

const ACTION: u8 = 0;
const TABLE: u8 = 1;
const PROFILE: u8 = 2;
const OTHER: u8 = 3;

impl<'a> Ids<'a> {
    fn new(info: &'a p4info::P4Info) -> Self {
        let mut known = HashMap::new();
        let mut add = |kind, p: &'a Option<p4info::Preamble>| {
            if let Some(p) = p {
                known.insert((kind, p.name.as_str()), p.id);
            }
        };
        info.actions.iter().for_each(|x| add(ACTION, &x.preamble));
        info.tables.iter().for_each(|x| add(TABLE, &x.preamble));
        let profiles = info.action_profiles.iter();
        profiles.for_each(|x| add(PROFILE, &x.preamble));
        info.counters.iter().for_each(|x| add(OTHER, &x.preamble));
        info.registers.iter().for_each(|x| add(OTHER, &x.preamble));
        info.meters.iter().for_each(|x| add(OTHER, &x.preamble));
        info.value_sets.iter().for_each(|x| add(OTHER, &x.preamble));
        Self {
            known,
            next: FIRST_ID,
        }
    }

    /// Assigns a new id, unless the name has one already.
    fn add(&mut self, kind: u8, name: &'a str) -> Option<p4info::Preamble> {
        if name.is_empty() || self.known.contains_key(&(kind, name)) {
            return None;
        }
        self.known.insert((kind, name), self.next);
        Some(self.fresh(name))
    }

    fn fresh(&mut self, name: &str) -> p4info::Preamble {
        let id = self.next;
        self.next = self.next.saturating_add(1);
        p4info::Preamble {
            id,
            name: name.to_owned(),
            ..Default::default()
        }
    }

    fn get(&self, kind: u8, name: &str) -> u32 {
        self.known.get(&(kind, name)).copied().unwrap_or_default()
    }
}

fn width(bits: u32) -> i32 {
    i32::try_from(bits).unwrap_or(0)
}

/// Returns a P4Info of the objects that `info` lacks.
pub(crate) fn objects(info: &p4info::P4Info, program: &Program) -> p4info::P4Info {
    let mut ids = Ids::new(info);
    let mut out = p4info::P4Info::default();
    for a in &program.actions {
        let Some(preamble) = ids.add(ACTION, &a.name) else {
            continue;
        };
        let params = (1..).zip(&a.params).map(|(id, p)| p4info::action::Param {
            id,
            name: p.name.clone(),
            bitwidth: width(p.width),
            ..Default::default()
        });
        out.actions.push(p4info::Action {
            preamble: Some(preamble),
            params: params.collect(),
        });
    }
    tables(program, &mut ids, &mut out);
    let indexed = program.counters.iter().filter(|c| c.table.is_none());
    out.counters = indexed
        .filter_map(|c| {
            Some(p4info::Counter {
                preamble: Some(ids.add(OTHER, &c.name)?),
                size: c.size as i64,
                ..Default::default()
            })
        })
        .collect();
    let indexed = program.meters.iter().filter(|m| m.table.is_none());
    out.meters = indexed
        .filter_map(|m| {
            Some(p4info::Meter {
                preamble: Some(ids.add(OTHER, &m.name)?),
                size: m.size as i64,
                ..Default::default()
            })
        })
        .collect();
    for r in &program.registers {
        use p4info::p4_bitstring_like_type_spec::TypeSpec as BitSpec;
        use p4info::p4_data_type_spec::TypeSpec;
        let (Some(preamble), Ok(size)) = (ids.add(OTHER, &r.name), i32::try_from(r.size)) else {
            continue;
        };
        let bits = p4info::P4BitstringLikeTypeSpec {
            type_spec: Some(BitSpec::Bit(p4info::P4BitTypeSpec {
                bitwidth: width(r.width),
            })),
            ..Default::default()
        };
        out.registers.push(p4info::Register {
            preamble: Some(preamble),
            type_spec: Some(p4info::P4DataTypeSpec {
                type_spec: Some(TypeSpec::Bitstring(bits)),
            }),
            size,
            ..Default::default()
        });
    }
    for v in &program.value_sets {
        let Some(preamble) = ids.add(OTHER, &v.name) else {
            continue;
        };
        out.value_sets.push(p4info::ValueSet {
            preamble: Some(preamble),
            r#match: vec![p4info::MatchField {
                id: 1,
                bitwidth: width(v.width_bits),
                r#match: Some(Match::MatchType(MatchType::Exact as i32)),
                ..Default::default()
            }],
            size: VALUE_SET_SIZE,
        });
    }
    out
}

fn tables<'a>(program: &'a Program, ids: &mut Ids<'a>, out: &mut p4info::P4Info) {
    for p in &program.profiles {
        let Some(preamble) = ids.add(PROFILE, &p.name) else {
            continue;
        };
        out.action_profiles.push(p4info::ActionProfile {
            preamble: Some(preamble),
            with_selector: p.selector.is_some(),
            size: PROFILE_SIZE,
            ..Default::default()
        });
    }
    for (number, t) in (0u32..).zip(&program.tables) {
        let Some(preamble) = ids.add(TABLE, &t.name) else {
            continue;
        };
        let id = preamble.id;
        let profile = t.profile.and_then(|p| program.profiles.get(p as usize));
        let profile = profile.map_or(0, |p| ids.get(PROFILE, &p.name));
        let its =
            |p: &&mut p4info::ActionProfile| p.preamble.as_ref().is_some_and(|p| p.id == profile);
        if let Some(p) = out.action_profiles.iter_mut().find(its) {
            p.table_ids.push(id);
        }
        let counter = program.counters.iter().find(|c| c.table == Some(number));
        if let Some(c) = counter.filter(|_| t.with_counters) {
            out.direct_counters.push(p4info::DirectCounter {
                preamble: Some(ids.fresh(&c.name)),
                direct_table_id: id,
                ..Default::default()
            });
        }
        let meter = t.direct_meter.as_ref();
        if let Some(m) = meter.and_then(|(m, _)| program.meters.get(*m as usize)) {
            out.direct_meters.push(p4info::DirectMeter {
                preamble: Some(ids.fresh(&m.name)),
                direct_table_id: id,
                ..Default::default()
            });
        }
        let fields = (1..).zip(&t.keys).map(|(id, k)| p4info::MatchField {
            id,
            name: k.name.clone(),
            bitwidth: width(k.field.width),
            r#match: Some(Match::MatchType(match k.kind {
                MatchKind::Exact => MatchType::Exact,
                MatchKind::Lpm => MatchType::Lpm,
                MatchKind::Ternary => MatchType::Ternary,
                MatchKind::Range => MatchType::Range,
            } as i32)),
            ..Default::default()
        });
        let mut action_refs: Vec<p4info::ActionRef> = Vec::new();
        for a in &t.action_ids {
            let name = program.actions.get(*a as usize).map(|a| a.name.as_str());
            let id = ids.get(ACTION, name.unwrap_or_default());
            if id != 0 && action_refs.iter().all(|r| r.id != id) {
                action_refs.push(p4info::ActionRef {
                    id,
                    ..Default::default()
                });
            }
        }
        out.tables.push(p4info::Table {
            preamble: Some(preamble),
            match_fields: fields.collect(),
            action_refs,
            implementation_id: profile,
            size: t.max_size as i64,
            is_const_table: !t.const_entries.is_empty(),
            idle_timeout_behavior: i32::from(t.support_timeout),
            ..Default::default()
        });
    }
}
