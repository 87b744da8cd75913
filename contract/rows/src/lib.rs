// SPDX-License-Identifier: Apache-2.0
//! Rows that the pipeline produces and that are stored.
//!
//! [`PostcardRow`], [`ProbeRow`] and [`FlatEvent`] are generated from
//! `contract/columns.toml`, as are the columns of the stores. Field names include
//! units; windows (`cwnd`, `ssthresh`) are in segments.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod absent;
mod event;
mod flow;
mod join;

pub use absent::Absent;
pub use event::{Event, EventRow, FlowRow, HostMoment};
pub use flow::FlowKey;
pub use join::Join;
pub use tidemark_proto::UNKNOWN_PORT;

use std::sync::Arc;

include!("generated/rows.rs");

impl PostcardRow {
    /// Fills in absent times and the egress port: an absent time becomes the packet's other
    /// time, and an absent egress port becomes [`UNKNOWN_PORT`].
    pub fn stand_in(&mut self) {
        if self.absent.has(Absent::EGRESS_PORT) {
            self.port = UNKNOWN_PORT;
        }
        if self.absent.has(Absent::INGRESS_TIME) {
            self.ingress_ns = self.egress_ns;
        }
        if self.dropped {
            self.absent = self.absent.without(Absent::EGRESS_TIME);
        } else if self.absent.has(Absent::EGRESS_TIME) {
            self.egress_ns = self.ingress_ns;
        }
    }

    /// Returns the egress time, or the ingress time of a dropped packet.
    #[inline]
    pub fn time_ns(&self) -> u64 {
        if self.dropped {
            self.ingress_ns
        } else {
            self.egress_ns
        }
    }

    /// Returns the queue occupancy on arrival; `None` if the report does not have it.
    #[inline]
    pub fn occupancy(&self) -> Option<u64> {
        self.absent.unless(Absent::OCCUPANCY, self.occupancy_bytes)
    }

    /// Returns the time in the node; `None` for a drop or if one of its times is unknown.
    #[inline]
    pub fn delay_ns(&self) -> Option<u64> {
        let times = Absent::INGRESS_TIME.with(Absent::EGRESS_TIME, true);
        let known = !self.dropped && !self.absent.has(times);
        known.then(|| self.egress_ns.saturating_sub(self.ingress_ns))
    }
}

/// A sample with the name of its host, as stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedProbe {
    /// The sample.
    pub row: ProbeRow,
    /// Name of the host that [`ProbeRow::host`] refers to.
    pub host: Arc<str>,
}
