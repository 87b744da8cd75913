// SPDX-License-Identifier: Apache-2.0
//! Tests a writer that is killed, and a writer whose disk loses power in every way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod kill;
mod power_cuts;

use tidemark_pipeline::PostcardRow;

/// Returns the row of a packet, given its order.
fn postcard(order: u64) -> PostcardRow {
    PostcardRow {
        order,
        node_id: 1,
        ingress_ns: order * 1000,
        egress_ns: order * 1000 + 500,
        tcp_seq: order as u32,
        ip_bytes: 1500,
        ..PostcardRow::default()
    }
}
