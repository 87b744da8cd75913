// SPDX-License-Identifier: Apache-2.0
//! Records of a perf ring buffer. Pure: it is tested on recorded bytes.

/// A record of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A sample with `PERF_SAMPLE_TIME | PERF_SAMPLE_RAW`.
    Sample {
        /// Timestamp, by the clock of the perf event.
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

const TYPE_LOST: u32 = 2;
const TYPE_SAMPLE: u32 = 9;
const TYPE_LOST_SAMPLES: u32 = 13;

impl<'a> Record<'a> {
    /// Reads the body of a record of type `kind`.
    #[inline]
    #[must_use]
    pub fn read(kind: u32, body: &'a [u8]) -> Self {
        match kind {
            TYPE_SAMPLE => sample(body).unwrap_or(Record::Malformed),
            // Event id, then the number.
            TYPE_LOST => u64_at(body, 8).map_or(Record::Malformed, Record::Lost),
            TYPE_LOST_SAMPLES => u64_at(body, 0).map_or(Record::Malformed, Record::Lost),
            other => Record::Other(other),
        }
    }
}

/// Reads time (8 bytes), length of the raw data (4 bytes), raw data.
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
