// SPDX-License-Identifier: Apache-2.0
//! INT telemetry report codec: v2.0, v1.0 and v0.5. Pure: no I/O, no allocation
//! per report, no panic on any input.
//!
//! [`decode`] calls a closure for every individual report of one UDP payload; [`parse_inner`] reads
//! the truncated original packet of a report. The meaning of a node's numbers (time unit and width,
//! depth unit, drop codes) is not on the wire: [`drop_reason`] knows the drop codes, and
//! [`sequence`] accounts for lost reports.
//!
//! ```
//! let payload = [
//!     0x20, 0x40, 0, 5, 0, 0, 0, 10, // version 2, hw_id 1, sequence 5, node 10
//!     0x10, 4, 1, 0x20, 0x40, 0, 0, 0, 0, 0, 0, 0, // RepType 1, F, port ids only
//!     0, 1, 0, 2, // ingress 1, egress 2
//!     0, 0, 0, 0,
//! ];
//! let mut egress = None;
//! let reports = int_report::decode(&payload, |r| egress = r.egress_port)?;
//! assert_eq!((reports, egress), (1, Some(2)));
//! # Ok::<(), int_report::DecodeError>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bytes;
pub mod card;
mod coalesced;
mod domain;
pub mod drop_reason;
mod embedded;
pub mod encode;
mod error;
mod fast_path;
mod header;
mod inner;
#[cfg(feature = "keys")]
pub mod keys;
#[expect(
    dead_code,
    reason = "it is the whole layout, of which the codec needs most"
)]
mod layout;
mod report;
pub mod sequence;
pub mod tag;
mod v0_5;
mod v1;
mod v2;

pub use coalesced::datagrams;
pub use embedded::nodes_of_hops;
pub use error::{DecodeError, InnerError};
pub use fast_path::{FastPath, fast_path};
pub use header::{StreamHeader, peek_header};
pub use inner::{InnerPacket, parse_inner};
pub use report::{Hop, Inner, InnerKind, Report, Stack};
pub use tidemark_rows::FlowKey;

/// Domain-specific id of Tidemark's own metadata ("TM").
pub const DS_TIDEMARK: u16 = 0x544D;

/// Conventional UDP destination port of telemetry reports (there is no IANA port).
pub const DEFAULT_PORT: u16 = 32766;

/// Decodes one UDP payload, of the version that its first four bits name, and calls `f` for every
/// individual report in order, or once for each hop if the report's packet carries the metadata of
/// several hops. Returns the number of reports.
///
/// # Errors
/// The reason why the payload is malformed. Reports before the malformed one have been delivered
/// already; nothing after it is read.
#[inline]
pub fn decode<'a>(payload: &'a [u8], mut f: impl FnMut(&Report<'a>)) -> Result<usize, DecodeError> {
    let f = |report: &Report<'a>| match report.limit {
        // Tidemark's switches report on themselves only.
        Some(_) => f(report),
        None => embedded::expand(report, &mut f),
    };
    match payload.first() {
        None => Err(DecodeError::Empty),
        Some(first) => match first >> 4 {
            2 => v2::decode(payload, f),
            1 => v1::decode(payload, f),
            0 => v0_5::decode(payload, f),
            version => Err(DecodeError::UnknownVersion { version }),
        },
    }
}

#[cfg(test)]
mod tests;
