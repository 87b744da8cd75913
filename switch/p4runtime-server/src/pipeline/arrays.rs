// SPDX-License-Identifier: Apache-2.0
//! Indexed counters, meters and registers of a P4Info, checked against the
//! program.

use super::checks::preamble;
use super::numbered::Numbered;
use crate::errors::{Outcome, refuse};
use std::collections::HashMap;
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

/// Returns size and width of a program's arrays by name, without arrays that belong to a
/// table. `of` returns table, name, size and width.
pub(super) fn indexed<'a, T>(
    arrays: &'a [T],
    of: impl Fn(&'a T) -> (Option<u32>, &'a str, usize, u32),
) -> HashMap<&'a str, (usize, u32)> {
    let of_no_table = arrays.iter().map(of).filter(|a| a.0.is_none());
    of_no_table
        .map(|(_, name, size, bits)| (name, (size, bits)))
        .collect()
}

pub(super) fn index<'a>(
    arrays: impl Iterator<Item = (&'a Option<p4info::Preamble>, i64, u32)>,
    in_program: HashMap<&str, (usize, u32)>,
    what: &'static str,
) -> Outcome<Numbered<Array>> {
    let mut out = Numbered::new(what);
    for (p, size, bits) in arrays {
        let p = preamble(p)?;
        let Some((its_size, its_bits)) = in_program.get(p.name.as_str()).copied() else {
            out.left_out(p);
            continue;
        };
        let bits_differ = bits != 0 && its_bits != bits;
        if usize::try_from(size) != Ok(its_size) || bits_differ {
            refuse!(invalid:
                "{what} {}: P4Info and program do not belong together: {size} cells of {bits} bits \
                 in P4Info, {its_size} of {its_bits} in the program",
                p.name
            );
        }
        out.insert(
            p.id,
            Array {
                name: p.name.clone(),
                size: its_size,
                bits,
            },
        );
    }
    Ok(out)
}
