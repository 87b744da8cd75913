// SPDX-License-Identifier: Apache-2.0
//! Sink that keeps packets in the packet memory.

use crate::engine::RowSink;
use crate::packets::PacketMemory;
use std::sync::Arc;
use tidemark_pipeline::{PostcardRow, ProbeRow};

impl RowSink for Arc<PacketMemory> {
    fn rows(&mut self, rows: &[PostcardRow], _: &[ProbeRow]) {
        self.add(rows);
    }
}
