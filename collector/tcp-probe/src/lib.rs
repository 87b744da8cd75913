// SPDX-License-Identifier: Apache-2.0
//! State of Linux TCP senders, from the kernel's own tracepoints: `tcp:tcp_probe` (one sample per
//! segment received), `tcp:tcp_retransmit_skb` and `tcp:tcp_cong_state_set`.
//!
//! [`perf`] reads them in binary from per-CPU rings of the running kernel,
//! [`text`] parses what `trace_pipe` prints (kernels 4.16 to today). Both give
//! the same [`Event`].

#![warn(missing_docs)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod event;
pub mod format;
pub mod layout;
pub mod perf;
pub mod ring;
pub mod text;

pub use event::{CongStateEvent, Event, RetransmitEvent, Sample};
pub use int_report::FlowKey;
