// SPDX-License-Identifier: Apache-2.0
//! What comes from the data plane by itself: packets and digests.

use crate::shared::Shared;
use crate::target::DigestSample;
use bytes::Bytes;
use std::sync::Weak;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tidemark_proto::p4::v1 as p4;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Entries in one notification of idle ones.
const IDLE_PER_MESSAGE: usize = 1_000;

/// Ends when the server or the target is gone.
pub(crate) async fn forward_packets(server: Weak<Shared>, mut packets: Receiver<Bytes>) {
    loop {
        let frame = match packets.recv().await {
            Ok(frame) => frame,
            Err(RecvError::Lagged(n)) => {
                if let Some(shared) = server.upgrade() {
                    shared.streams().packets_dropped += n;
                }
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        let Some(shared) = server.upgrade() else {
            return;
        };
        let pipeline = shared.device.read().await.pipeline().cloned();
        match pipeline.and_then(|p| p.packet_in.unpack(&frame)) {
            Some(packet) => shared.streams().packet_in(&packet),
            None => shared.streams().packets_dropped += 1,
        }
    }
}

/// Ends when the server or the target is gone.
pub(crate) async fn forward_digests(server: Weak<Shared>, mut samples: Receiver<DigestSample>) {
    loop {
        let Some(shared) = server.upgrade() else {
            return;
        };
        let changed = shared.digests_changed.clone();
        let deadline = shared.digests().next_deadline();
        drop(shared);
        let sleep = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        let sample = tokio::select! {
            s = samples.recv() => match s {
                Ok(s) => Some(s),
                // Digests may be lost; the data plane will repeat them.
                Err(RecvError::Lagged(_)) => None,
                Err(RecvError::Closed) => return,
            },
            () = sleep => None,
            () = changed.notified() => None,
        };
        let Some(shared) = server.upgrade() else {
            return;
        };
        let now = Instant::now();
        let lists = {
            let mut digests = shared.digests();
            let full = sample.and_then(|s| digests.message(&s.digest, &s.data, now));
            let mut lists = digests.due(now);
            lists.extend(full);
            lists
        };
        let mut streams = shared.streams();
        let timestamp = unix_ns();
        for mut list in lists {
            list.timestamp = timestamp;
            streams.digest(&list);
        }
    }
}

/// Tells clients of entries that are idle. Ends when the server is gone.
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
                streams.idle(&p4::IdleTimeoutNotification {
                    table_entry: entries.to_vec(),
                    timestamp,
                });
            }
        }
        drop(shared);
        let sleep = async {
            match next {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = sleep => {}
            () = changed.notified() => {}
        }
    }
}

fn unix_ns() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_nanos()).ok())
        .unwrap_or(0)
}
