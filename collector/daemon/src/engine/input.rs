// SPDX-License-Identifier: Apache-2.0
//! Input of an engine.

use crate::source::Batch;
use std::sync::Arc;

/// Reports or events for an engine.
#[derive(Debug)]
pub enum Input {
    /// Report datagrams.
    Reports(Batch),
    /// Events of a host's kernel.
    Events(HostEvents),
}

/// Events of one host, in the order of their times.
#[derive(Clone, Debug)]
pub struct HostEvents {
    /// Host whose agent sent the events; `None` for this machine.
    pub host: Option<Arc<str>>,
    /// The events.
    pub events: Vec<tcp_probe::Event>,
    /// Whether each event is a copy that another engine counts; empty if none is.
    pub copies: Vec<bool>,
}
