// SPDX-License-Identifier: Apache-2.0
//! A telemetry report.

/// The datagram of one telemetry report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Capture time, on the hosts' clock.
    pub captured_ns: u64,
    /// Payload of the datagram.
    pub payload: Vec<u8>,
}
