// SPDX-License-Identifier: Apache-2.0
//! State that all requests to a server share.

use crate::arbitration::{Arbitration, unknown_device};
use crate::device::Device;
use crate::digests::Digests;
use crate::errors::{Outcome, refuse};
use crate::streams::Streams;
use crate::target::Target;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tidemark_proto::p4::v1 as p4;
use tokio::sync::{Notify, RwLock};

pub(crate) struct Shared {
    device_id: u64,
    pub target: Arc<dyn Target>,
    pub device: RwLock<Device>,
    streams: Mutex<Streams>,
    digests: Mutex<Digests>,
    /// Signals that deadlines of digests may have moved.
    pub digests_changed: Arc<Notify>,
    /// Signals that idle timeouts may have been written.
    pub idle_changed: Arc<Notify>,
    /// Packets and digests that no client received.
    pub lost: Arc<AtomicU64>,
}

impl Shared {
    pub(crate) fn new(target: Arc<dyn Target>, device_id: u64) -> Self {
        Self {
            device_id,
            device: RwLock::new(Device::new(target.clone())),
            streams: Mutex::new(Streams::new(Arbitration::new(device_id))),
            target,
            digests: Mutex::default(),
            digests_changed: Arc::default(),
            idle_changed: Arc::default(),
            lost: Arc::default(),
        }
    }

    pub(crate) fn count_lost(&self, messages: u64) {
        self.lost.fetch_add(messages, Ordering::Relaxed);
    }

    pub(crate) fn digests(&self) -> MutexGuard<'_, Digests> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies digest configurations of the committed pipeline after a Write.
    pub(crate) fn configure_digests(&self, device: &Device) {
        self.idle_changed.notify_one();
        if let Some(configs) = device.digests() {
            self.digests().configure(configs);
            self.digests_changed.notify_one();
        }
    }

    /// Restarts digests after a change of the pipeline.
    pub(crate) fn restart_digests(&self, device: &Device) {
        if let Some(p) = device.pipeline() {
            *self.digests() = Digests::new(p);
        }
        self.configure_digests(device);
    }

    pub(crate) fn streams(&self) -> MutexGuard<'_, Streams> {
        // Each change of the streams leaves them consistent.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn check_device(&self, id: u64) -> Outcome<()> {
        if id == self.device_id {
            return Ok(());
        }
        Err(unknown_device(id, self.device_id))
    }

    pub(crate) fn check_primary(
        &self,
        role: &str,
        role_id: u64,
        id: Option<&p4::Uint128>,
    ) -> Outcome<()> {
        if role_id != 0 && role.is_empty() {
            refuse!(invalid: "numeric role ids are not supported; use role");
        }
        self.streams().arbitration().check_primary(role, id)
    }
}
