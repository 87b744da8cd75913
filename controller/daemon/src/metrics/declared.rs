// SPDX-License-Identifier: Apache-2.0
//! The declarations: every metric with its name, its help text and its value.

use super::snapshot::{AuditSample, CollectorSample, LinkSample};
use tidemark_metrics::{MetricDoc, table};

pub(super) type OfLink = fn(&LinkSample) -> Option<f64>;
pub(super) type OfCollector = fn(&CollectorSample) -> u64;
pub(super) type OfAudit = fn(&AuditSample) -> u64;

/// A value of the estimate.
macro_rules! estimated {
    (|$e:ident| $value:expr) => {
        |l: &LinkSample| {
            let $e = l.estimate.as_deref()?;
            $value
        }
    };
}

pub(super) const LINK: &[(MetricDoc, OfLink)] = table! {
    gauge utilisation_ratio "Bytes that left over capacity, in the window":
        estimated!(|e| e.utilisation.mean);
    gauge loss_ratio "Drops over arrivals, in the window": estimated!(|e| Some(e.loss_rate));
    gauge delay_p99_seconds "Queueing delay, 99th percentile of the window":
        estimated!(|e| e.delay_ms.p99.map(|v| v / 1e3));
    gauge occupancy_p99_bytes "Occupancy met by arrivals, 99th percentile of the window":
        estimated!(|e| e.occupancy_bytes.p99);
    gauge locally_bottlenecked_flows "Estimate of N_b": estimated!(|e| Some(e.estimates.n_b.value));
    gauge loss_burst_ratio "Estimate of alpha = mean loss burst / N_b":
        estimated!(|e| Some(e.estimates.alpha.value));
    gauge window_spread_ratio "Estimate of delta":
        estimated!(|e| e.estimates.delta.map(|d| d.value));
    gauge effective_rtt_seconds "Estimate of T_e":
        estimated!(|e| e.estimates.t_e_ms.map(|t| t.value / 1e3));
    gauge locally_bottlenecked_share_ratio "Estimate of C_e / C":
        estimated!(|e| Some(e.estimates.c_e_share.value));
    gauge limit_bytes "Limit in force": |l| l.limit_bytes.map(|b| b as f64);
    gauge advised_limit_bytes "Limit advised": |l| l.advised_bytes.map(|b| b as f64);
};

pub(super) const COLLECTOR: &[(MetricDoc, OfCollector)] = table! {
    gauge collector_connected "1 while subscribed": |c| u64::from(c.connected);
    gauge updates "Updates received": |c| c.updates;
    gauge updates_lost "Updates missed because the controller read too slowly": |c| c.updates_lost;
};

pub(super) const TELEMETRY_AGE: MetricDoc =
    MetricDoc::gauge("telemetry_age_seconds", "Age of the newest update");

pub(super) const SWITCH_READY: MetricDoc =
    MetricDoc::gauge("switch_ready", "1 while limits can be set at the switch");

pub(super) const LIMIT_CHANGES: MetricDoc =
    MetricDoc::counter("limit_changes", "Limit changes by outcome").labels(&["outcome"]);

pub(super) const AUDIT: &[(MetricDoc, OfAudit)] = table! {
    gauge audit_records_not_written "Records of the audit log that its file has not taken":
        |a| a.not_written;
    gauge audit_records_stored "Records of the audit log that ClickHouse has taken": |a| a.stored;
    gauge audit_records_rejected "Lines of the audit log that are no record, or that ClickHouse cannot read":
        |a| a.rejected;
    gauge audit_store_retries "Failed attempts to store records in ClickHouse": |a| a.retries;
    gauge audit_waiting_bytes "Bytes of the audit log that ClickHouse has not taken yet":
        |a| a.waiting_bytes;
};

/// Every metric, for the documents.
pub fn docs() -> Vec<MetricDoc> {
    let of_link = LINK.iter().map(|(d, _)| d.labels(&["node", "port"]));
    let of_collector = COLLECTOR.iter().map(|(d, _)| d.labels(&["collector"]));
    let age = TELEMETRY_AGE.labels(&["collector"]);
    let ready = SWITCH_READY.labels(&["node"]);
    of_link
        .chain(of_collector)
        .chain([age, ready, LIMIT_CHANGES])
        .chain(AUDIT.iter().map(|(d, _)| *d))
        .collect()
}
