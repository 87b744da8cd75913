// SPDX-License-Identifier: Apache-2.0
//! What comes from the data plane by itself: packets and digests.

use crate::inner::Inner;
use crate::target::DigestSample;
use bytes::Bytes;
use std::sync::Weak;
use std::time::Instant;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Ends when the server or the target is gone.
pub async fn forward_packets(server: Weak<Inner>, mut packets: Receiver<Bytes>) {
    loop {
        let frame = match packets.recv().await {
            Ok(frame) => frame,
            Err(RecvError::Lagged(n)) => {
                if let Some(inner) = server.upgrade() {
                    inner.streams().packets_dropped += n;
                }
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        let Some(inner) = server.upgrade() else {
            return;
        };
        let pipeline = inner.device.read().await.pipeline().cloned();
        match pipeline.and_then(|p| p.packet_in.unpack(&frame)) {
            Some(packet) => inner.streams().packet_in(&packet),
            None => inner.streams().packets_dropped += 1,
        }
    }
}

/// Ends when the server or the target is gone.
pub async fn forward_digests(server: Weak<Inner>, mut samples: Receiver<DigestSample>) {
    loop {
        let Some(inner) = server.upgrade() else {
            return;
        };
        let changed = inner.digests_changed.clone();
        let deadline = inner.digests().next_deadline();
        drop(inner);
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
        let Some(inner) = server.upgrade() else {
            return;
        };
        let now = Instant::now();
        let lists = {
            let mut digests = inner.digests();
            let full = sample.and_then(|s| digests.message(&s.digest, &s.data, now));
            let mut lists = digests.due(now);
            lists.extend(full);
            lists
        };
        let mut streams = inner.streams();
        for list in lists {
            streams.digest(&list);
        }
    }
}
