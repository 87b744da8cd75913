// SPDX-License-Identifier: Apache-2.0
//! Declares every metric: its name, its help text and its value.

use super::snapshot::{AuditSample, CollectorSample, LinkSample};
use daemon_kit::metric_table;
use daemon_kit::metrics::exposition::BUILD_INFO;
use daemon_kit::metrics::{MetricDoc, Number};
use tidemark_advice::Verdict;

type OfLink = fn(&LinkSample) -> Option<f64>;
type OfCollector = fn(&CollectorSample) -> Option<Number>;
type OfAudit = fn(&AuditSample) -> u64;

fn of_bytes(l: &LinkSample, bytes: impl Fn(&Verdict) -> Option<u64>) -> Option<f64> {
    bytes(l.verdict.as_deref()?).map(|b| b as f64)
}

/// Reads a value of the estimate.
macro_rules! estimated {
    (|$e:ident| $value:expr) => {
        |l: &LinkSample| {
            let $e = l.estimate.as_deref()?;
            $value
        }
    };
}

pub(super) const LINK: &[(MetricDoc, OfLink)] = metric_table! {
    gauge utilisation_ratio "Share of the capacity used by bytes that left, in the window":
        estimated!(|e| e.utilisation.mean);
    gauge loss_ratio "Share of arrivals that were dropped, in the window": estimated!(|e| e.loss_rate);
    gauge delay_p99_seconds "Queueing delay, 99th percentile of the window":
        estimated!(|e| e.delay_ms.p99.map(|v| v / 1e3));
    gauge occupancy_p99_bytes "Occupancy met by arrivals, 99th percentile of the window":
        estimated!(|e| e.occupancy_bytes.p99);
    gauge locally_bottlenecked_flows "Estimate of N_b": estimated!(|e| Some(e.estimates.n_b.value));
    gauge locally_bottlenecked_flows_low "Lower end of N_b's 90 % range":
        estimated!(|e| Some(e.estimates.n_b.low));
    gauge locally_bottlenecked_flows_high "Upper end of N_b's 90 % range":
        estimated!(|e| Some(e.estimates.n_b.high));
    gauge loss_burst_ratio "Estimate of alpha = mean loss burst / N_b":
        estimated!(|e| Some(e.estimates.alpha.value));
    gauge window_spread_ratio "Estimate of delta":
        estimated!(|e| e.estimates.delta.map(|d| d.value));
    gauge effective_rtt_seconds "Estimate of T_e":
        estimated!(|e| e.estimates.t_e_ms.map(|t| t.value / 1e3));
    gauge locally_bottlenecked_share_ratio "Estimate of C_e / C":
        estimated!(|e| Some(e.estimates.c_e_share.value));
    gauge capacity_bytes_per_second "Capacity of the link, in bytes: an eighth of its bits per second":
        |l| l.capacity_bps.map(|bps| bps as f64 / 8.0);
    gauge limit_bytes "Limit in force": |l| l.limit_bytes.map(|b| b as f64);
    gauge advised_limit_bytes "Limit to set": |l| of_bytes(l, |v| v.set_bytes);
    gauge advised_limit_low_bytes "Lower end of the limits that serve": |l| of_bytes(l, |v| v.low_bytes);
    gauge advised_limit_high_bytes "Upper end of the limits that serve":
        |l| of_bytes(l, |v| v.high_bytes);
    gauge advised_limit_chance_ratio "Probability that each target is met at the limit to set":
        |l| l.verdict.as_ref()?.chance;
    gauge buffer_verdict "1: the buffer is too big; 0: fine; -1: too small; absent: cannot say":
        |l| l.verdict.as_ref()?.answer.sign();
    gauge target_utilisation_ratio "Target: minimum utilisation":
        |l| Some(l.targets.utilisation).filter(|&u| u > 0.0);
    gauge target_loss_ratio "Target: maximum loss rate": |l| l.targets.loss_rate;
    gauge target_delay_seconds "Target: maximum queueing delay":
        |l| l.targets.delay_ms.map(|d| d / 1e3);
    gauge report_age_seconds "Age of the link's newest report": |l| l.report_age_s;
};

pub(super) const LINK_INFO: MetricDoc = MetricDoc::info(
    "link_info",
    "Names of the link's node and port; empty if the collector has none",
)
.labels(&["node", "port", "queue", "node_name", "port_name"]);

pub(super) const COLLECTOR: &[(MetricDoc, OfCollector)] = metric_table! {
    gauge collector_connected "1 while subscribed": |c| Some(u64::from(c.connected).into());
    counter updates "Updates received": |c| Some(c.updates.into());
    counter updates_lost "Updates missed because the controller read too slowly":
        |c| Some(c.updates_lost.into());
    gauge telemetry_age_seconds "Age of the newest update": |c| c.age_s.map(Number::Real);
};

pub(super) const SWITCH_READY: MetricDoc =
    MetricDoc::gauge("switch_ready", "1 while limits can be set at the switch").labels(&["node"]);

pub(super) const LIMIT_CHANGES: MetricDoc =
    MetricDoc::counter("limit_changes", "Limit changes by outcome").labels(&["outcome"]);

pub(super) const AUTO_MODE: MetricDoc = MetricDoc::gauge(
    "auto_mode",
    "1 while advice is applied without being asked for",
);

pub(super) const AUDIT: &[(MetricDoc, OfAudit)] = metric_table! {
    counter audit_records_not_written "Audit records that could not be written to the log file":
        |a| a.not_written;
    counter audit_records_stored "Audit records stored in ClickHouse": |a| a.stored;
    counter audit_records_rejected "Lines of the audit log that are not records, or that ClickHouse cannot read":
        |a| a.rejected;
    counter audit_store_retries "Failed attempts to store records in ClickHouse": |a| a.retries;
    gauge audit_waiting_bytes "Bytes of the audit log that are not in ClickHouse yet":
        |a| a.waiting_bytes;
};

/// Returns every metric, for the documentation.
pub fn docs() -> Vec<MetricDoc> {
    let of_link = LINK
        .iter()
        .map(|(d, _)| d.labels(&["node", "port", "queue"]));
    let of_collector = COLLECTOR.iter().map(|(d, _)| d.labels(&["collector"]));
    of_link
        .chain(of_collector)
        .chain([
            BUILD_INFO,
            LINK_INFO,
            SWITCH_READY,
            LIMIT_CHANGES,
            AUTO_MODE,
        ])
        .chain(AUDIT.iter().map(|(d, _)| *d))
        .collect()
}
