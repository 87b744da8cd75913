// SPDX-License-Identifier: Apache-2.0
//! Rows that the pipeline makes and that stores keep.
//!
//! [`PostcardRow`], [`ProbeRow`] and [`FlatEvent`] are generated from
//! `contract/columns.toml`, as are the columns of the stores. Units stand in the
//! names of fields; windows (`cwnd`, `ssthresh`) are segments.

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
    /// Puts in the place of absent times and ports what stands for them: a packet is
    /// counted at the time that is known of it.
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

    /// Egress time, or ingress time of a dropped packet.
    #[inline]
    pub fn time_ns(&self) -> u64 {
        if self.dropped {
            self.ingress_ns
        } else {
            self.egress_ns
        }
    }

    /// The queue met; `None` where the report does not tell it.
    #[inline]
    pub fn occupancy(&self) -> Option<u64> {
        self.absent.unless(Absent::OCCUPANCY, self.occupancy_bytes)
    }

    /// Time in the node; `None` where one of its times is not known, and of a drop.
    #[inline]
    pub fn delay_ns(&self) -> Option<u64> {
        let times = Absent::INGRESS_TIME.with(Absent::EGRESS_TIME, true);
        let known = !self.dropped && !self.absent.has(times);
        known.then(|| self.egress_ns.saturating_sub(self.ingress_ns))
    }
}

/// A sample with the name of its host, as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedProbe {
    /// The sample.
    pub row: ProbeRow,
    /// Name of the host that [`ProbeRow::host`] refers to.
    pub host: Arc<str>,
}
