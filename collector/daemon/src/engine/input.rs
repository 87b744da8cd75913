// SPDX-License-Identifier: Apache-2.0
//! Input of an engine.

use crate::source::Batch;
use std::sync::Arc;

/// Something received.
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
    /// Another host, through its agent; `None` is this machine.
    pub host: Option<Arc<str>>,
    /// The events.
    pub events: Vec<tcp_probe::Event>,
    /// Which of them another engine has as well and counts; empty: none.
    pub copies: Vec<bool>,
}
