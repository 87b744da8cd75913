# SPDX-License-Identifier: Apache-2.0
"""Summarises a phase, and compares flows with their truth."""

from __future__ import annotations

from . import application, checks, verdict
from .json_types import JsonObject
from .limits import acts_at_bytes

ESTIMATES = ("n_b", "alpha", "mean_loss_burst", "delta", "t_e_ms", "c_e_share")


def phase_summary(
    phase: JsonObject,
    truth: JsonObject,
    *,
    limit_action: str,
    machine: JsonObject,
    base_rtt_ms: float | None,
    transfers: application.Transfers | None,
) -> JsonObject:
    """One phase of summary.json from the controller's `Phase` (docs/reference/api.md), the truth of
    its time, the switch's action at the limit, how the machine kept up (the row's columns; a live
    run has only `stolen_cpu`), and the short flows, which are unknown during a run."""
    link = phase["links"][0]
    estimate = link["estimate"]
    estimates = estimate["estimates"]
    limit = link.get("limit") or {}
    summary = {
        "name": phase["name"],
        "utilisation": mean_utilisation(estimate),
        "loss_rate": estimate["loss_rate"],
        "delay_ms": _quantiles(estimate["delay_ms"]),
        "occupancy_bytes": _quantiles(estimate["occupancy_bytes"]),
        "limit_bytes": estimate.get("limit_bytes") or acts_at_bytes(limit),
        "limit_action": limit_action,
        "drops": estimate["drops"],
        "ce_marked": estimate["ce_marked"],
        "application": application.view(
            transfers, base_rtt_ms, estimate["delay_ms"], estimate["loss_rate"]
        ),
        "reports": {k: phase["reports"][k] for k in ("received", "lost", "malformed")},
        "join": {"matched_fraction": phase["join"]["matched_fraction"]},
        "estimates": {
            **{name: interval(estimates.get(name)) for name in ESTIMATES},
            "regime": {"value": estimates["regime"]["value"], "low": None, "high": None},
        },
        "truth": truth,
        "stolen_cpu_fraction": machine.get("stolen_cpu"),
        "late_p99_ms": machine.get("late_p99_ms"),
        "why_not_trusted": machine.get("why_not_trusted", ""),
        "advice": advice_summary(link["advice"]),
        "window": {
            "start_ns": link["start_ns"],
            "end_ns": link["end_ns"],
            "start_s": link["start_s"],
            "end_s": link["end_s"],
        },
    }
    doubts = [c.text for c in checks.trust(summary) if not c.ok]
    said = link["verdict"]
    summary["verdict"] = verdict.untrusted(doubts) if doubts else said and verdict.kept(said)
    return summary


def mean_utilisation(estimate: JsonObject) -> float | None:
    """The mean: the controller reports mean, non_empty and p01, `analyze` only the mean."""
    value = estimate["utilisation"]
    return value["mean"] if isinstance(value, dict) else value


def interval(estimate: JsonObject | None) -> JsonObject:
    """`{value, low, high}`; nulls if there is no estimate."""
    if estimate is None:
        return {"value": None, "low": None, "high": None}
    return {key: estimate[key] for key in ("value", "low", "high")}


def advice_summary(advice: JsonObject | None) -> JsonObject | None:
    if advice is None:
        return None
    predicted = advice.get("predicted") or {}
    return {
        "limit_bytes": advice["limit_bytes"],
        "rule": advice["rule"],
        "predicted": {
            key: interval(predicted.get(key)) for key in ("utilisation", "loss_rate", "delay_ms")
        },
        "reasons": advice["reasons"],
    }


def _quantiles(values: JsonObject) -> JsonObject:
    return {key: values.get(key) for key in ("p50", "p99", "max")}


def matched(
    flows: list[JsonObject], truth_flows: list[JsonObject]
) -> list[tuple[JsonObject, JsonObject | None]]:
    """Pairs each flow of the truth with the controller's record of it; None if it has none."""
    by_key = {}
    for flow in flows:
        key = flow.get("key")
        if key:
            by_key[key["src"], key["src_port"], key["dst"], key["dst_port"]] = flow
    pairs = []
    for flow in truth_flows:
        source, source_port = flow["source"].rsplit(":", 1)
        destination, destination_port = flow["destination"].rsplit(":", 1)
        seen = by_key.get((source, int(source_port), destination, int(destination_port)))
        pairs.append((flow, seen))
    return pairs


def class_check(flows: list[JsonObject], truth_flows: list[JsonObject]) -> JsonObject:
    """Counts long flows whose class was estimated correctly: `{right, wrong: [...]}`."""
    right, wrong = 0, []
    long_flows = [f for f in truth_flows if f["kind"] != "short"]
    for flow, seen in matched(flows, long_flows):
        estimated = seen["class"].lower() if seen else "unseen"
        if estimated == flow["kind"]:
            right += 1
        else:
            wrong.append({"name": flow["name"], "kind": flow["kind"], "estimated": estimated})
    return {"right": right, "wrong": wrong}
