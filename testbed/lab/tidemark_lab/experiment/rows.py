# SPDX-License-Identifier: Apache-2.0
"""Makes rows from measurements, one per phase and switch. Shared by all back ends."""

from __future__ import annotations

import json
from pathlib import Path

from .. import offline, summary
from ..json_types import JsonObject
from ..traffic import Truth, counted
from ..trial.outcome import completion_times_ms, jain, quantile
from . import trust
from .backend import BackEnd, MeasuredPhase, Window
from .columns import COLUMNS, SETTING
from .plan import Plan

INTERVALS = ("n_b", "t_e_ms", "alpha", "delta", "c_e_share", "mean_loss_burst", "d_mean")


def of_phase(
    program: Path, plan: Plan, back_end: BackEnd, phase: MeasuredPhase, run_dir: Path
) -> list[JsonObject]:
    truth = Truth.read(run_dir / "truth.json")
    rows = []
    for switch in range(len(plan.experiment.topology.switches)):
        place = back_end.place(plan, switch)
        window = phase.windows[switch]
        kept = kept_link(run_dir, phase.name, plan.experiment.topology.switches[switch].name)
        kept.parent.mkdir(exist_ok=True)
        managed = plan.law(switch) is not None
        # The controller does not know about queue management, so no advice and no verdict.
        picture = None if managed else kept.with_suffix(".svg")
        link = offline.analyze(program, run_dir / "capture", window, place, picture)
        # The complete estimates of the phase: more than a row has.
        kept.write_text(json.dumps(link, indent=1) + "\n")
        there = _at_switch(plan, truth, switch, window)
        late = None
        if plan.reports_itself(switch):
            late = trust.lateness(run_dir / "capture", place, window)
        flooding = trust.flooding(run_dir / "capture", place, window)
        row = (
            _settings(plan, phase, switch)
            | _truth(truth, there, window)
            | _outcome(link)
            | _estimates(link)
            | _flows(truth, there, window, link)
            | _machine(phase, switch, late, link)
        )
        if managed:
            row |= {"advised_bytes": None, "rule": None}
        doubts = trust.doubts(phase, late, link["reports_lost"], flooding)
        why = [*doubts, *back_end.doubts(row)]
        rows.append({**row, "trusted": not why, "why_not_trusted": "; ".join(why)})
    return rows


def kept_link(run_dir: Path, phase: str, switch: str) -> Path:
    """Path of a phase's `analyze` record; the picture of its verdict has the extension .svg."""
    return run_dir / "links" / f"{phase}-{switch}.json"


def _settings(plan: Plan, phase: MeasuredPhase, switch: int) -> JsonObject:
    window, limits = phase.windows[switch], phase.limits[switch]
    described = plan.experiment.topology.switches[switch]
    law, limit_bytes = plan.law(switch), limits.limit_bytes
    if law and described.scheduling == "fair":
        # The fair queue has the limit, and the program one far above.
        (limit_bytes,) = plan.limits_of(switch)
    return {
        "phase": phase.name,
        "switch": described.name,
        "seconds": (window.end_ns - window.start_ns) / 1e9,
        "rate_bps": described.rate,
        "bdp_bytes": plan.bdp_bytes(switch),
        "action": limits.action,
        "aqm": law,
        "limit_bytes": float(limit_bytes),
        "threshold_bytes": limits.threshold_bytes and float(limits.threshold_bytes),
    }


def _at_switch(plan: Plan, truth: Truth, switch: int, window: Window) -> list[JsonObject]:
    """Persistent flows that pass the switch from start to end, with their class there."""
    kinds = {flow.name: plan.kind_at(flow, switch) for flow in plan.flows}
    return [
        {**flow, "kind": kinds[flow["name"]]}
        for flow in truth.persistent(window.start_unix_ns, window.end_unix_ns)
        if kinds.get(flow["name"])
    ]


def _truth(truth: Truth, there: list[JsonObject], window: Window) -> JsonObject:
    # By the classes at this switch, which differ from those over the whole path.
    found = truth.phase(window.start_unix_ns, window.end_unix_ns) | counted(there)
    return {f"true_{name}": value for name, value in found.items()}


def _outcome(link: JsonObject) -> JsonObject:
    arrivals = link["arrivals"]
    delay, occupancy = link["delay_ms"], link["occupancy_bytes"]
    return {
        "utilisation": summary.mean_utilisation(link),
        "loss_rate": link["loss_rate"],
        "marked_rate": link["ce_marked"] / arrivals if arrivals else None,
        "arrivals": arrivals,
        "drops": link["drops"],
        "ce_marked": link["ce_marked"],
        **{f"delay_{k}_ms": delay.get(k) for k in ("mean", "p50", "p99", "max")},
        **{f"occupancy_{k}_bytes": occupancy.get(k) for k in ("mean", "p50", "p99", "max")},
    }


def _estimates(link: JsonObject) -> JsonObject:
    estimates = link["estimates"]
    out: JsonObject = {}
    for name in INTERVALS:
        found = summary.interval(estimates.get(name))
        out |= {name: found["value"], f"{name}_low": found["low"], f"{name}_high": found["high"]}
    return {
        **out,
        "d_max": summary.interval(estimates.get("d_max"))["value"],
        "regime": estimates["regime"]["value"],
        "advised_bytes": link["advice"]["limit_bytes"],
        "rule": link["advice"]["rule"],
    }


def _flows(truth: Truth, there: list[JsonObject], window: Window, link: JsonObject) -> JsonObject:
    classes = summary.class_check(link["flows"], there)
    lbp = summary.matched(link["flows"], [f for f in there if f["kind"] == "lbp"])
    times = completion_times_ms(truth.flows, window.start_unix_ns, window.end_unix_ns)
    return {
        "jain": jain([seen["rate_bps"] if seen else 0.0 for _, seen in lbp]),
        "classes_right": classes["right"],
        "classes_wrong": " ".join(
            f"{w['name']} {w['kind']}>{w['estimated']}" for w in classes["wrong"]
        ),
        "transfers": len(times),
        "completion_p50_ms": quantile(times, 0.5),
        "completion_p95_ms": quantile(times, 0.95),
    }


def _machine(
    phase: MeasuredPhase, switch: int, late: trust.Lateness | None, link: JsonObject
) -> JsonObject:
    if phase.stolen_cpu_fraction is None:
        late = None
    live = phase.live[switch] if phase.live else {}
    return {
        "live_n_b": live.get("n_b"),
        "live_limit_bytes": live.get("limit_bytes"),
        "reports_lost": link["reports_lost"],
        "late_p99_ms": late and late.p99_ms,
        "late_max_ms": late and late.max_ms,
        "stolen_cpu": phase.stolen_cpu_fraction,
        "traffic_cpu": phase.traffic_cpu,
        "switch_cpu": phase.switch_cpu,
        "load_average": phase.load_average,
    }


def whole(row: JsonObject, run: JsonObject, settings: JsonObject) -> JsonObject:
    """A complete row, with the values that all rows of a run share, in the table's order."""
    shared = run | row
    out = {c.name: shared.get(c.name) for c in COLUMNS}
    for path, value in settings.items():
        out[SETTING + path] = value if isinstance(value, str) else json.dumps(value)
    return out
