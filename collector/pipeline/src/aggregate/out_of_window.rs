// SPDX-License-Identifier: Apache-2.0
//! Rows outside the open intervals.

/// Rows that could not be counted in the interval they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutOfWindow {
    /// Too late: counted in the oldest open interval.
    pub late: u64,
    /// Too far ahead: counted in the youngest open interval.
    pub ahead: u64,
    /// Intervals handed on before their time, because the open ones took too much
    /// memory.
    pub forced: u64,
    /// Of egress queues beyond the bound per node: not counted.
    pub links_refused: u64,
}
