// SPDX-License-Identifier: Apache-2.0
//! Tidemark's own metadata: the words after the specification's metadata, in the order of
//! `domain_bits`.

use crate::bytes::Words;
use crate::layout::domain;
use crate::report::Report;

/// Reads the words whose bits are set. Returns `None` if they do not fit.
#[inline(always)]
pub(crate) fn read(report: &mut Report<'_>, words: &mut Words<'_>, bits: u16) -> Option<()> {
    if bits & domain::LIMIT != 0 {
        report.limit = Some(words.u32()?);
    }
    if bits & domain::POLICY != 0 {
        let word = words.u32()?;
        report.sampling_shift = Some((word >> 24) as u8);
        report.policy_flags = Some((word >> 16) as u8);
    }
    Some(())
}

/// Writes the words that the report has; returns their bits.
pub(crate) fn write(out: &mut Vec<u8>, report: &Report<'_>) -> u16 {
    let mut bits = 0;
    if let Some(limit) = report.limit {
        bits |= domain::LIMIT;
        out.extend(limit.to_be_bytes());
    }
    if report.sampling_shift.is_some() || report.policy_flags.is_some() {
        bits |= domain::POLICY;
        let (shift, flags) = (report.sampling_shift, report.policy_flags);
        out.extend([shift.unwrap_or(0), flags.unwrap_or(0), 0, 0]);
    }
    bits
}

/// Returns the metadata that Tidemark's programs send if nothing is limited, sampled or marked.
pub(crate) fn of_a_postcard<'a>() -> Report<'a> {
    Report {
        limit: Some(u32::MAX),
        sampling_shift: Some(0),
        policy_flags: Some(0),
        ..Report::default()
    }
}
