// SPDX-License-Identifier: Apache-2.0
//! What the sink hands to its writer.

use tidemark_rows::{FlatEvent, NamedProbe, PostcardRow};

/// Rows of one table.
pub(crate) enum Rows {
    Postcards(Vec<PostcardRow>),
    Probes(Vec<NamedProbe>),
    Events(Vec<FlatEvent>),
}

/// Rows, and what makes a time of day of their `rx_ns`.
pub(crate) struct Message {
    pub rows: Rows,
    pub unix_minus_rx_ns: i64,
}
