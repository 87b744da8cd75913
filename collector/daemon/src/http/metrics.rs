// SPDX-License-Identifier: Apache-2.0
//! Every stage's counters, for Prometheus.

use super::Shown;
use super::encode::{clocks, counter, gauge, labelled};
use crate::agent::AgentStatus;
use int_report::{DecodeError, InnerError};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

/// Reads what is shown whenever it is asked.
pub struct Metrics(pub Shown);

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let e = &mut encoder;
        let shown = &self.0;
        let s = shown.snapshot.get();
        counter(e, "datagrams", "UDP datagrams received", s.datagrams)?;
        labelled(
            e,
            "datagrams_malformed",
            "Datagrams that could not be decoded to their end",
            DecodeError::LABELS.into_iter().zip(s.malformed),
        )?;
        counter(
            e,
            "kernel_drops",
            "Datagrams that found the socket's buffer full",
            shown.counters.kernel_drops(),
        )?;
        let sockets = shown.counters.sockets();
        counter(
            e,
            "receive_calls",
            "System calls that brought datagrams",
            sockets.batches,
        )?;
        counter(
            e,
            "receive_messages",
            "Messages of the kernel: single or coalesced datagrams",
            sockets.messages,
        )?;
        counter(e, "receive_bytes", "UDP payload received", sockets.bytes)?;
        counter(
            e,
            "receive_errors",
            "Failed system calls of the receiver",
            sockets.errors,
        )?;
        let [events, lost, filtered, malformed] = shown.counters.probe();
        counter(e, "probe_events", "Tracepoint events read", events)?;
        counter(
            e,
            "probe_lost",
            "Tracepoint events that found the ring full",
            lost,
        )?;
        counter(
            e,
            "probe_filtered",
            "Tracepoint events left out by the filter",
            filtered,
        )?;
        counter(
            e,
            "probe_malformed",
            "Tracepoint records not understood",
            malformed,
        )?;
        let agents = shown.status().agents;
        let of_agents = |f: fn(&AgentStatus) -> u64| agents.iter().map(f).sum();
        for (name, help, value) in [
            (
                "agent_events",
                "Events that agents have sent",
                of_agents(|a| a.events),
            ),
            (
                "agent_events_malformed",
                "Events of agents not understood",
                of_agents(|a| a.malformed),
            ),
            (
                "agent_ring_lost",
                "Events lost in rings of agents' kernels",
                of_agents(|a| a.ring_lost),
            ),
            (
                "agent_buffer_lost",
                "Events that agents had no room to keep",
                of_agents(|a| a.buffer_lost),
            ),
            (
                "agent_batches_missing",
                "Batches of agents that never came",
                of_agents(|a| a.missing),
            ),
            (
                "agent_batches_repeated",
                "Batches of agents that came again",
                of_agents(|a| a.repeated),
            ),
        ] {
            counter(e, name, help, value)?;
        }
        labelled(
            e,
            "inner_errors_by_reason",
            "Reports whose inner packet cannot be read",
            InnerError::LABELS.into_iter().zip(s.stats.inner_errors),
        )?;
        for (name, help, value) in s.stats.named() {
            counter(e, name, help, value)?;
        }
        if let Some((_, w)) = &shown.capture {
            counter(
                e,
                "capture_rows",
                "Rows written to the capture",
                w.written(),
            )?;
            counter(
                e,
                "capture_rows_lost",
                "Rows the capture could not take",
                w.lost(),
            )?;
            let failed = f64::from(u8::from(w.failure().is_some()));
            gauge(
                e,
                "capture_failed",
                "1 after the capture stopped on an error",
                failed,
            )?;
        }
        if let Some(stats) = &shown.clickhouse {
            super::clickhouse::encode(e, stats)?;
        }
        counter(
            e,
            "updates_lost",
            "Updates that found a subscriber's queue full",
            shown.hub.lost(),
        )?;
        let count = |n: usize| n as f64;
        gauge(
            e,
            "subscribers",
            "Subscribers of the telemetry stream",
            count(shown.hub.subscribers().len()),
        )?;
        gauge(e, "flows_active", "Flows remembered", s.flows_active as f64)?;
        gauge(
            e,
            "packets_waiting",
            "Packets waiting for a sample",
            s.packets_waiting as f64,
        )?;
        gauge(
            e,
            "samples_held",
            "Samples held back",
            s.samples_held as f64,
        )?;
        gauge(
            e,
            "packets_in_memory",
            "Packets kept for zooming",
            count(shown.packets.len()),
        )?;
        gauge(
            e,
            "join_matched_ratio",
            "Matched part of the data packets of probed flows",
            s.stats.matched_fraction(),
        )?;
        clocks(
            e,
            "clock_offset_seconds",
            "Host clock less node clock",
            &shown.hub.clocks(),
            |c| c.offset_ns as f64 / 1e9,
        )?;
        clocks(
            e,
            "clock_drift_ppm",
            "Drift of the host clock against the node's",
            &shown.hub.clocks(),
            |c| c.drift_ppb / 1e3,
        )?;
        Ok(())
    }
}
