// SPDX-License-Identifier: Apache-2.0
//! Indexed counters, meters and registers of a P4Info, checked against the
//! program.

use super::checks::preamble;
use crate::errors::{Failure, Outcome};
use crate::program;
use std::collections::BTreeMap;
use tidemark_proto::p4::config::v1 as p4info;
use tidemark_proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as BitSpec;
use tidemark_proto::p4::config::v1::p4_data_type_spec::TypeSpec;

/// An indexed counter or register.
pub(crate) struct Array {
    pub name: String,
    pub size: usize,
    /// Width of a cell; 0 for counters.
    pub bits: u32,
}

pub(super) fn register_bits(r: &p4info::Register) -> u32 {
    let Some(TypeSpec::Bitstring(b)) = r.type_spec.as_ref().and_then(|t| t.type_spec.as_ref())
    else {
        return 0;
    };
    let bits = match &b.type_spec {
        Some(BitSpec::Bit(b)) => b.bitwidth,
        Some(BitSpec::Int(i)) => i.bitwidth,
        _ => 0,
    };
    u32::try_from(bits).unwrap_or(0)
}

pub(super) fn index<'a>(
    arrays: impl Iterator<Item = (&'a Option<p4info::Preamble>, i64, u32)>,
    in_program: &[program::Array],
    what: &str,
) -> Outcome<BTreeMap<u32, Array>> {
    let in_program = program::by_name(in_program);
    let mut out = BTreeMap::new();
    for (p, size, bits) in arrays {
        let p = preamble(p)?;
        let json = in_program
            .get(p.name.as_str())
            .filter(|a| !a.is_direct)
            .ok_or_else(|| {
                Failure::invalid(format!(
                    "{what} {}: P4Info and program do not belong together: the program has no such {what}",
                    p.name
                ))
            })?;
        let size_of_program = json.size.unwrap_or(0);
        let bits_differ = json.bitwidth.is_some_and(|b| bits != 0 && b != bits);
        if u64::try_from(size).ok() != Some(size_of_program) || bits_differ {
            return Err(Failure::invalid(format!(
                "{what} {}: P4Info and program do not belong together: {size} cells of {bits} bits \
                 in P4Info, {size_of_program} of {} in the program",
                p.name,
                json.bitwidth.unwrap_or(0)
            )));
        }
        out.insert(
            p.id,
            Array {
                name: p.name.clone(),
                size: usize::try_from(size).unwrap_or(0),
                bits,
            },
        );
    }
    Ok(out)
}
