// SPDX-License-Identifier: Apache-2.0
//! Rows that the pipeline makes and that stores keep.
//!
//! [`PostcardRow`], [`ProbeRow`] and [`FlatEvent`] are generated from
//! `contract/columns.toml`, as are the columns of the stores. Units stand in the
//! names of fields; windows (`cwnd`, `ssthresh`) are segments.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod event;
mod flow;
mod join;

pub use event::{Event, EventRow, FlowRow, HostMoment};
pub use flow::FlowKey;
pub use join::Join;

use std::sync::Arc;

include!("generated/rows.rs");

impl PostcardRow {
    /// Egress time, or ingress time of a dropped packet.
    #[inline]
    pub fn time_ns(&self) -> u64 {
        if self.dropped {
            self.ingress_ns
        } else {
            self.egress_ns
        }
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
