// SPDX-License-Identifier: Apache-2.0
//! Records of a perf ring buffer. Pure: works on the two halves that the
//! readable part of a ring consists of, so it is tested on recorded bytes.

/// A record of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A sample with `PERF_SAMPLE_TIME | PERF_SAMPLE_RAW`.
    Sample {
        /// When it was stamped, clock of the perf event.
        time_ns: u64,
        /// The tracepoint's data.
        raw: &'a [u8],
    },
    /// The kernel had no room for this many records.
    Lost(u64),
    /// Too short for its type.
    Malformed,
    /// A type that is not used here.
    Other(u32),
}

/// Header of a record: type, flags, size.
const HEADER_BYTES: usize = 8;
const TYPE_LOST: u32 = 2;
const TYPE_SAMPLE: u32 = 9;
const TYPE_LOST_SAMPLES: u32 = 13;

/// The bytes from which no further record could be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// Bytes after the last record that could be read.
    pub skipped_bytes: usize,
}

/// Calls `f` for every record in `first` followed by `second` (the second half
/// is not empty when the data wrap around the end of the ring). `scratch` holds
/// the record that lies in both.
///
/// # Errors
/// When a record's size makes no sense; what follows cannot be found then.
#[inline]
pub fn records(
    first: &[u8],
    second: &[u8],
    scratch: &mut Vec<u8>,
    mut f: impl FnMut(Record<'_>),
) -> Result<(), Corrupt> {
    let rest = contiguous(first, &mut f)?;
    if second.is_empty() {
        return if rest.is_empty() {
            Ok(())
        } else {
            Err(Corrupt {
                skipped_bytes: rest.len(),
            })
        };
    }
    let mut taken = 0;
    if !rest.is_empty() {
        // The record across the end: header first, which may be split too.
        let corrupt = Corrupt {
            skipped_bytes: rest.len() + second.len(),
        };
        scratch.clear();
        scratch.extend_from_slice(rest);
        if scratch.len() < HEADER_BYTES {
            taken = HEADER_BYTES - scratch.len();
            scratch.extend_from_slice(second.get(..taken).ok_or(corrupt)?);
        }
        let (_, size) = header(scratch).ok_or(corrupt)?;
        let missing = size.checked_sub(scratch.len()).ok_or(corrupt)?;
        scratch.extend_from_slice(second.get(taken..taken + missing).ok_or(corrupt)?);
        taken += missing;
        one(scratch, &mut f);
    }
    let rest = contiguous(second.get(taken..).unwrap_or_default(), &mut f)?;
    if rest.is_empty() {
        Ok(())
    } else {
        Err(Corrupt {
            skipped_bytes: rest.len(),
        })
    }
}

/// Takes whole records off the front; returns the incomplete one at the end.
#[inline]
fn contiguous<'a>(mut data: &'a [u8], f: &mut impl FnMut(Record<'_>)) -> Result<&'a [u8], Corrupt> {
    while data.len() >= HEADER_BYTES {
        let corrupt = Corrupt {
            skipped_bytes: data.len(),
        };
        let (_, size) = header(data).ok_or(corrupt)?;
        let Some((record, rest)) = data.split_at_checked(size) else {
            break;
        };
        one(record, f);
        data = rest;
    }
    Ok(data)
}

/// Type and size of the record at the front; `None` when the size is impossible.
#[inline]
fn header(data: &[u8]) -> Option<(u32, usize)> {
    let bytes = data.first_chunk::<HEADER_BYTES>()?;
    let kind = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let size = usize::from(u16::from_ne_bytes([bytes[6], bytes[7]]));
    (size >= HEADER_BYTES).then_some((kind, size))
}

#[inline]
fn one(record: &[u8], f: &mut impl FnMut(Record<'_>)) {
    let Some((kind, _)) = header(record) else {
        return f(Record::Malformed);
    };
    let body = record.get(HEADER_BYTES..).unwrap_or_default();
    f(match kind {
        TYPE_SAMPLE => sample(body).unwrap_or(Record::Malformed),
        // Event id, then the number.
        TYPE_LOST => u64_at(body, 8).map_or(Record::Malformed, Record::Lost),
        TYPE_LOST_SAMPLES => u64_at(body, 0).map_or(Record::Malformed, Record::Lost),
        other => Record::Other(other),
    });
}

/// Time (8 bytes), length of the raw data (4 bytes), raw data.
#[inline]
fn sample(body: &[u8]) -> Option<Record<'_>> {
    let (time, rest) = body.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let raw = rest.get(..u32::from_ne_bytes(*length) as usize)?;
    Some(Record::Sample {
        time_ns: u64::from_ne_bytes(*time),
        raw,
    })
}

#[inline]
fn u64_at(data: &[u8], offset: usize) -> Option<u64> {
    let bytes = data.get(offset..)?.first_chunk::<8>()?;
    Some(u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests;
