// SPDX-License-Identifier: Apache-2.0
//! Forwards unsolicited messages of the data plane: packets and digests.

use crate::digests::Malformed;
use crate::shared::Shared;
use crate::target::DigestSample;
use bytes::Bytes;
use std::sync::Weak;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::stream_message_response::Update;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Most entries in one idle-timeout notification.
const IDLE_PER_MESSAGE: usize = 1_000;

/// Forwards packet-ins to clients until the server or the target is gone.
pub(crate) async fn forward_packets(server: Weak<Shared>, mut packets: Receiver<Bytes>) {
    loop {
        let frame = packets.recv().await;
        let Some(shared) = server.upgrade() else {
            return;
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(RecvError::Lagged(n)) => {
                shared.count_lost(n);
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        let pipeline = shared.device.read().await.pipeline().cloned();
        let lost = match pipeline.and_then(|p| p.packet_in.unpack(&frame)) {
            Some(packet) => shared.streams().tell_primaries(&Update::Packet(packet)),
            None => 1,
        };
        shared.count_lost(lost);
    }
}

/// Forwards digests to clients until the server or the target is gone.
pub(crate) async fn forward_digests(server: Weak<Shared>, mut samples: Receiver<DigestSample>) {
    loop {
        let Some(shared) = server.upgrade() else {
            return;
        };
        let changed = shared.digests_changed.clone();
        let deadline = shared.digests().next_deadline();
        drop(shared);
        let mut lost = 0;
        let sample = tokio::select! {
            s = samples.recv() => match s {
                Ok(s) => Some(s),
                Err(RecvError::Lagged(n)) => {
                    lost = n;
                    None
                }
                Err(RecvError::Closed) => return,
            },
            () = until(deadline) => None,
            () = changed.notified() => None,
        };
        let Some(shared) = server.upgrade() else {
            return;
        };
        let now = Instant::now();
        let lists = {
            let mut digests = shared.digests();
            let full = sample.map_or(Ok(None), |s| digests.message(&s.digest, &s.data, now));
            let mut lists = digests.due(now);
            match full {
                Ok(list) => lists.extend(list),
                Err(Malformed) => lost += 1,
            }
            lists
        };
        let mut streams = shared.streams();
        let timestamp = unix_ns();
        for mut list in lists {
            list.timestamp = timestamp;
            lost += streams.tell_primaries(&Update::Digest(list));
        }
        shared.count_lost(lost);
    }
}

/// Notifies clients of idle entries until the server is gone.
pub(crate) async fn forward_idle(server: Weak<Shared>) {
    loop {
        let Some(shared) = server.upgrade() else {
            return;
        };
        let changed = shared.idle_changed.clone();
        let (found, next) = shared.device.write().await.idle(Instant::now()).await;
        if !found.is_empty() {
            let timestamp = unix_ns();
            let mut streams = shared.streams();
            for entries in found.chunks(IDLE_PER_MESSAGE) {
                let idle = p4::IdleTimeoutNotification {
                    table_entry: entries.to_vec(),
                    timestamp,
                };
                // A client that is too slow is notified again.
                streams.tell_primaries(&Update::IdleTimeoutNotification(idle));
            }
        }
        drop(shared);
        tokio::select! {
            () = until(next) => {}
            () = changed.notified() => {}
        }
    }
}

/// Waits until a time; without a time, for ever.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

fn unix_ns() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_nanos()).ok())
        .unwrap_or(0)
}
