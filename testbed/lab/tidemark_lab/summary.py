# SPDX-License-Identifier: Apache-2.0
"""summary.json and the table on the terminal."""

from __future__ import annotations

from collections.abc import Callable

from .json_types import JsonObject
from .limits import acts_at_bytes

ESTIMATES = ("n_b", "alpha", "mean_loss_burst", "delta", "t_e_ms", "c_e_share")


def phase_summary(
    phase: JsonObject,
    truth: JsonObject,
    advice: JsonObject | None,
    *,
    limit_action: str,
    stolen_cpu_fraction: float,
) -> JsonObject:
    """One phase of summary.json from the controller's `Phase` (docs/reference/api.md), the
    truth of its time, the advice it led to, what the switch does at the limit, and the
    share of the CPU time, 0 to 1, that the hypervisor gave to others."""
    link = phase["links"][0]
    estimate = link["estimate"]
    estimates = estimate["estimates"]
    limit = link.get("limit") or {}
    return {
        "name": phase["name"],
        "utilisation": mean_utilisation(estimate),
        "loss_rate": estimate["loss_rate"],
        "delay_ms": _quantiles(estimate["delay_ms"]),
        "occupancy_bytes": _quantiles(estimate["occupancy_bytes"]),
        "limit_bytes": estimate.get("limit_bytes") or acts_at_bytes(limit),
        "limit_action": limit_action,
        "drops": estimate["drops"],
        "ce_marked": estimate["ce_marked"],
        "reports": {k: phase["reports"][k] for k in ("received", "lost", "malformed")},
        "join": {"matched_fraction": phase["join"]["matched_fraction"]},
        "estimates": {
            **{name: interval(estimates.get(name)) for name in ESTIMATES},
            "regime": {"value": estimates["regime"]["value"], "low": None, "high": None},
        },
        "truth": truth,
        "stolen_cpu_fraction": stolen_cpu_fraction,
        "advice": advice_summary(advice),
        "window": {
            "start_ns": link["start_ns"],
            "end_ns": link["end_ns"],
            "start_s": link["start_s"],
            "end_s": link["end_s"],
        },
    }


def mean_utilisation(estimate: JsonObject) -> float | None:
    """The controller gives its parts (mean, non_empty, p01), `analyze` the mean."""
    value = estimate["utilisation"]
    return value["mean"] if isinstance(value, dict) else value


def interval(estimate: JsonObject | None) -> JsonObject:
    """`{value, low, high}`; nulls where nothing could be said."""
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
        "feasible": advice.get("feasible"),
        "predicted": {
            key: interval(predicted.get(key)) for key in ("utilisation", "loss_rate", "delay_ms")
        },
        "reasons": advice["reasons"],
    }


def _quantiles(values: JsonObject) -> JsonObject:
    return {key: values.get(key) for key in ("p50", "p99", "max")}


def table(summary: JsonObject) -> str:
    """Both phases beside each other, with the truth and the prediction."""
    first, second = summary["phases"]
    advised = first["advice"] or {}
    predicted = advised.get("predicted") or {}
    rows: list[tuple[str, str, str, str]] = [
        ("", first["name"], second["name"], "predicted / truth"),
    ]

    def row(label: str, one: str, two: str, beside: str = "") -> None:
        rows.append((label, one, two, beside))

    row(
        "limit",
        _bytes(first["limit_bytes"]),
        _bytes(second["limit_bytes"]),
        f"advised {_bytes(advised.get('limit_bytes'))}",
    )
    row(
        "utilisation",
        _percent(first["utilisation"]),
        _percent(second["utilisation"]),
        _range(predicted.get("utilisation"), _percent),
    )
    row(
        "loss rate",
        _percent(first["loss_rate"], 3),
        _percent(second["loss_rate"], 3),
        _range(predicted.get("loss_rate"), lambda v: _percent(v, 3)),
    )
    row("dropped / CE marked", _lost(first), _lost(second))
    for key in ("p50", "p99", "max"):
        row(
            f"queueing delay {key}",
            _number(first["delay_ms"][key], " ms"),
            _number(second["delay_ms"][key], " ms"),
            _range(predicted.get("delay_ms"), lambda v: _number(v, " ms")) if key == "max" else "",
        )
    for key in ("p50", "p99", "max"):
        row(
            f"occupancy {key}",
            _bytes(first["occupancy_bytes"][key]),
            _bytes(second["occupancy_bytes"][key]),
        )
    truth = first["truth"]
    for key, label, form, beside in (
        ("n_b", "N_b", lambda v: _number(v, "", 1), f"truth {truth['n_b']}"),
        ("t_e_ms", "T_e", lambda v: _number(v, " ms"), f"truth {_number(truth['t_e_ms'], ' ms')}"),
        ("c_e_share", "C_e / C", _percent, ""),
        ("alpha", "alpha", lambda v: _number(v, "", 2), ""),
        ("mean_loss_burst", "mean loss burst", lambda v: _number(v, " pkts", 1), ""),
        ("delta", "delta", lambda v: _number(v, "", 2), ""),
    ):
        row(
            label,
            _range(first["estimates"][key], form),
            _range(second["estimates"][key], form),
            beside,
        )
    row("regime", first["estimates"]["regime"]["value"], second["estimates"]["regime"]["value"])
    row(
        "reports lost / received",
        "{lost} / {received}".format(**first["reports"]),
        "{lost} / {received}".format(**second["reports"]),
    )
    row(
        "packets joined",
        _percent(first["join"]["matched_fraction"], 2),
        _percent(second["join"]["matched_fraction"], 2),
    )
    text = _align(rows)
    for reason in advised.get("reasons") or []:
        text += f"\n  - {reason}"
    return text


def _lost(phase: JsonObject) -> str:
    return f"{phase['drops']} / {phase['ce_marked']}"


def _align(rows: list[tuple[str, str, str, str]]) -> str:
    widths = [max(len(r[i]) for r in rows) for i in range(4)]
    lines = []
    for number, r in enumerate(rows):
        cells = [r[0].ljust(widths[0])] + [r[i].rjust(widths[i]) for i in (1, 2)] + [r[3]]
        lines.append("  ".join(cells).rstrip())
        if number == 0:
            lines.append("-" * (sum(widths) + 6))
    return "\n".join(lines)


def _bytes(value: float | None) -> str:
    return "-" if value is None else f"{value / 1000:.1f} kB"


def _percent(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def _number(value: float | None, unit: str, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}{unit}"


def _range(value: JsonObject | None, form: Callable[[float], str]) -> str:
    if value is None or value["value"] is None:
        return "-"
    text = form(value["value"])
    if value["low"] is None or value["low"] == value["high"]:
        return text
    return f"{text} ({form(value['low'])} to {form(value['high'])})"


def matched(
    flows: list[JsonObject], truth_flows: list[JsonObject]
) -> list[tuple[JsonObject, JsonObject | None]]:
    """Each flow of the truth with what the controller says of it; None where it saw none."""
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
    """How many long flows got their true class: `{right, wrong: [...]}`."""
    right, wrong = 0, []
    long_flows = [f for f in truth_flows if f["kind"] != "short"]
    for flow, seen in matched(flows, long_flows):
        estimated = seen["class"].lower() if seen else "unseen"
        if estimated == flow["kind"]:
            right += 1
        else:
            wrong.append({"name": flow["name"], "kind": flow["kind"], "estimated": estimated})
    return {"right": right, "wrong": wrong}
