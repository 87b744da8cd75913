// SPDX-License-Identifier: Apache-2.0
//! Fuzzes messages from agents.
#![no_main]

use prost::Message;
use tidemark_collector::agent::{event_of, message_of};
use tidemark_proto::telemetry::AgentBatch;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(batch) = AgentBatch::decode(data) else {
        return;
    };
    for message in &batch.events {
        if let Some(event) = event_of(message) {
            assert_eq!(event_of(&message_of(&event)), Some(event));
        }
    }
});
