// SPDX-License-Identifier: Apache-2.0
//! Wire layer: decodes UDP payloads into reports.
//!
//! [`stage`] decodes several datagrams before the first of them is taken and
//! knows the fast path. The plain form is `int_report::decode` and
//! [`crate::Pipeline::push_report`] for each report.

mod stage;

pub(crate) use stage::{Contents, Stage, Staged};

use crate::flow::FlowHint;
use int_report::tag::Tagged;
use int_report::{InnerError, InnerPacket, Report};
use std::net::IpAddr;

/// A UDP payload and where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Source address of the datagram.
    pub exporter: IpAddr,
    /// Time of reception in ns, collector's clock.
    pub rx_ns: u64,
    /// Everything after the UDP header.
    pub payload: &'a [u8],
}

/// A decoded report that has not been accounted for yet.
#[derive(Clone, Copy)]
pub(crate) struct Received<'a> {
    pub exporter: &'a IpAddr,
    pub rx_ns: u64,
    pub report: &'a Report<'a>,
    /// The tag of its datagram, not verified.
    pub tagged: Option<Tagged<'a>>,
    pub inner: Result<&'a InnerPacket, &'a InnerError>,
    /// Probable slot of its flow, if that was looked up ahead.
    pub hint: Option<FlowHint>,
}
