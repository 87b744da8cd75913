// SPDX-License-Identifier: Apache-2.0
//! Packets to the memory of the last seconds.

use crate::engine::RowSink;
use crate::packets::PacketMemory;
use std::sync::Arc;
use tidemark_pipeline::{PostcardRow, ProbeRow};

impl RowSink for Arc<PacketMemory> {
    fn rows(&mut self, rows: &[PostcardRow], _: &[ProbeRow]) {
        self.add(rows);
    }
}
