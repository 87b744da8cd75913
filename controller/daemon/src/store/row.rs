// SPDX-License-Identifier: Apache-2.0
//! Converts a record of the audit log to a row of `limit_changes`. The row has the columns of
//! `contract/columns.toml`.

use tidemark_advice::Prediction;
use tidemark_control::Change;
use tidemark_rules::Observed;

include!("generated/rows.rs");

/// Converts one line of the log to a row, as a line of JSON; `None` if the line is not a record.
pub(super) fn row(controller: &str, line: &str) -> Option<String> {
    let change: Change = serde_json::from_str(line).ok()?;
    let expected = |f: fn(&Prediction) -> f64| change.expected.as_ref().map(f);
    let observed = |o: &Option<Observed>, f: fn(&Observed) -> f64| o.as_ref().map(f);
    let (before, after) = (&change.measured_before, &change.measured_after);
    let row = LimitChangeRow {
        controller,
        record: line,
        unix_ms: change.unix_ms,
        node_id: change.node,
        egress_port: change.port,
        queue: change.queue,
        origin: change.origin.label(),
        outcome: change.outcome.label(),
        action_before: change.before.map_or("", |l| l.action()),
        limit_before_bytes: change.before.and_then(|l| l.bytes()),
        action: change.limit.map_or("", |l| l.action()),
        limit_bytes: change.limit.and_then(|l| l.bytes()),
        reason: &change.reason,
        error: change.error.as_deref().unwrap_or_default(),
        expected_utilisation: expected(|p| p.utilisation.value),
        expected_loss_rate: expected(|p| p.loss_rate.value),
        expected_delay_ms: expected(|p| p.delay_ms.value),
        before_utilisation: observed(before, |o| o.utilisation),
        before_loss_rate: observed(before, |o| o.loss_rate),
        before_delay_p99_ms: observed(before, |o| o.delay_p99_ms),
        after_utilisation: observed(after, |o| o.utilisation),
        after_loss_rate: observed(after, |o| o.loss_rate),
        after_delay_p99_ms: observed(after, |o| o.delay_p99_ms),
    };
    serde_json::to_string(&row).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"unix_ms":1700000000123,"node":10,"port":5,"origin":"auto","outcome":"kept","before":{"action":"unlimited"},"limit":{"action":"drop_tail","limit_bytes":172448},"reason":"measured \"after\"","error":null,"expected":null,"measured_before":null,"measured_after":{"utilisation":0.99,"loss_rate":0.002,"drops":9,"delay_mean_ms":5.0,"delay_p50_ms":4.5,"delay_p99_ms":12.5,"delay_max_ms":13.0}}"#;

    #[test]
    fn every_column_has_its_value() {
        let row: serde_json::Value = serde_json::from_str(&row("lab", LINE).unwrap()).unwrap();
        let expected = serde_json::json!({
            "controller": "lab", "record": LINE, "unix_ms": 1_700_000_000_123_u64,
            "node_id": 10, "egress_port": 5, "queue": 0, "origin": "auto", "outcome": "kept",
            "action_before": "unlimited", "limit_before_bytes": null,
            "action": "drop_tail", "limit_bytes": 172_448,
            "reason": "measured \"after\"", "error": "",
            "expected_utilisation": null, "expected_loss_rate": null, "expected_delay_ms": null,
            "before_utilisation": null, "before_loss_rate": null, "before_delay_p99_ms": null,
            "after_utilisation": 0.99, "after_loss_rate": 0.002, "after_delay_p99_ms": 12.5,
        });
        assert_eq!(row, expected);
    }

    #[test]
    fn what_is_no_record_is_none() {
        for line in ["", "{", "{\"unix_ms\": 2, \"no", "[]", &LINE[1..]] {
            assert_eq!(row("lab", line), None, "{line}");
        }
    }
}
