# SPDX-License-Identifier: Apache-2.0
"""The tables of a run of the demo, from `summary.json`, as rows of text. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..formats import MISSING, Format, interval, kilobytes, number, percent, show
from ..json_types import JsonObject
from ..markdown import aligned


@dataclass(frozen=True)
class Table:
    """`rows` begin with the label of the row."""

    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


def outcome(summary: JsonObject) -> Table:
    """What was measured in each phase; the advice's prediction beside the phase
    that ran under it."""
    phases = summary["phases"]
    advice = next((p["advice"] for p in phases if p.get("advice")), None) or {}
    predicted = advice.get("predicted") or {}
    targets = (summary.get("config", {}).get("scenario") or {}).get("targets") or {}

    def row(
        label: str,
        pick: Callable[[JsonObject], float | None],
        form: Format,
        beside: str = MISSING,
        goal: str = "",
    ) -> tuple[str, ...]:
        return (label, *(show(pick(p), form) for p in phases), beside, goal or MISSING)

    def bound(name: str, sign: str, form: Format) -> str:
        return f"{sign} {form(targets[name])}" if targets.get(name) is not None else MISSING

    loss = percent(3)
    milliseconds = number(1, "ms")
    rows = [
        row(
            "limit",
            lambda p: p["limit_bytes"],
            kilobytes,
            show(advice.get("limit_bytes"), kilobytes),
        ),
        row(
            "utilisation",
            lambda p: p["utilisation"],
            percent(1),
            interval(predicted.get("utilisation"), percent(1)),
            bound("utilisation", "≥", percent(0)),
        ),
        row(
            "loss rate",
            lambda p: p["loss_rate"],
            loss,
            interval(predicted.get("loss_rate"), loss),
            bound("loss_rate", "≤", percent(1)),
        ),
        ("dropped / CE marked", *(f"{p['drops']} / {p['ce_marked']}" for p in phases), *2 * ("",)),
        row("queueing delay, median", lambda p: p["delay_ms"]["p50"], milliseconds),
        row("queueing delay, p99", lambda p: p["delay_ms"]["p99"], milliseconds),
        row(
            "queueing delay, largest",
            lambda p: p["delay_ms"]["max"],
            milliseconds,
            interval(predicted.get("delay_ms"), milliseconds),
            bound("delay_ms", "≤", milliseconds),
        ),
        row("occupancy, median", lambda p: p["occupancy_bytes"]["p50"], kilobytes),
        row("occupancy, p99", lambda p: p["occupancy_bytes"]["p99"], kilobytes),
        row("occupancy, largest", lambda p: p["occupancy_bytes"]["max"], kilobytes),
    ]
    head = ("", *(f"phase {p['name']}, measured" for p in phases), "advice, predicted", "target")
    return Table(head, rows)


@dataclass(frozen=True)
class Goal:
    """A quantity that has a prediction and a target."""

    name: str
    label: str
    form: Format
    measured: Callable[[JsonObject], float | None]
    # Whether a value misses a target.
    misses: Callable[[float, float], bool]


GOALS = (
    Goal("utilisation", "utilisation", percent(1), lambda p: p["utilisation"], lambda v, t: v < t),
    Goal("loss_rate", "loss rate", percent(3), lambda p: p["loss_rate"], lambda v, t: v > t),
    Goal(
        "delay_ms",
        "largest queueing delay",
        number(1, "ms"),
        lambda p: p["delay_ms"]["max"],
        lambda v, t: v > t,
    ),
)


def verdicts(summary: JsonObject) -> list[str]:
    """What the phase under the advised limit made of prediction and targets, one
    sentence per quantity; empty without advice or a phase after it."""
    phases = summary["phases"]
    advised = next((i for i, p in enumerate(phases) if p.get("advice")), None)
    if advised is None or advised + 1 >= len(phases):
        return []
    predicted = phases[advised]["advice"].get("predicted") or {}
    targets = (summary.get("config", {}).get("scenario") or {}).get("targets") or {}
    after = phases[advised + 1]
    out = []
    for goal in GOALS:
        value = goal.measured(after)
        if value is None:
            continue
        said = predicted.get(goal.name) or {}
        parts = [f"{goal.label} {goal.form(value)} measured"]
        low, high = said.get("low"), said.get("high")
        if low is not None and high is not None:
            # One packet of delay or rounding is not a wrong prediction.
            slack = 0.02 * max(abs(low), abs(high))
            inside = low - slack <= value <= high + slack
            parts.append(
                f"{'within' if inside else 'outside'} the predicted "
                f"{goal.form(low)} to {goal.form(high)}"
            )
        target = targets.get(goal.name)
        if target is not None:
            missed = goal.misses(value, target)
            parts.append(f"target {goal.form(target)} {'missed' if missed else 'met'}")
        out.append("; ".join(parts) + ".")
    return out


ESTIMATES: tuple[tuple[str, str, Format], ...] = (
    ("n_b", "N_b, flows", number(1)),
    ("t_e_ms", "T_e", number(1, "ms")),
    ("c_e_share", "C_e/C", percent(1)),
    ("alpha", "\u03b1", number(2)),
    ("mean_loss_burst", "mean loss burst", number(1, "pkts")),
    ("delta", "\u0394", number(2)),
)


def estimates(summary: JsonObject) -> Table:
    """Every estimate with its interval beside the truth where there is one."""
    phases = summary["phases"]
    head: tuple[str, ...] = ("",)
    for p in phases:
        head += (f"phase {p['name']}, estimated", "truth")
    rows = []
    for name, label, form in ESTIMATES:
        row: tuple[str, ...] = (label,)
        for p in phases:
            row += (interval(p["estimates"].get(name), form), show(_truth(p, name), form))
        rows.append(row)
    regime: tuple[str, ...] = ("regime",)
    for p in phases:
        regime += (str((p["estimates"].get("regime") or {}).get("value") or MISSING), MISSING)
    rows.append(regime)
    return Table(head, rows)


def _truth(phase: JsonObject, name: str) -> float | None:
    return (phase.get("truth") or {}).get(name)


def evidence(summary: JsonObject) -> Table:
    """Whether the numbers can be trusted."""
    phases = summary["phases"]
    rows = [
        (label, *(f"{p['reports'][key]:,}".replace(",", "\u202f") for p in phases))
        for key, label in (
            ("received", "reports received"),
            ("lost", "reports lost"),
            ("malformed", "reports malformed"),
        )
    ]
    rows.append(
        (
            "data packets of probed flows joined",
            *(show(p["join"]["matched_fraction"], percent(2)) for p in phases),
        )
    )
    return Table(("", *(f"phase {p['name']}" for p in phases)), rows)


def text(summary: JsonObject) -> str:
    """All of them on a terminal, and the reasons of the advice."""
    tables = (outcome(summary), estimates(summary), evidence(summary))
    lines = [line for t in tables for line in [*aligned(t.head, t.rows), ""]]
    advised = next((p["advice"] for p in summary["phases"] if p.get("advice")), None) or {}
    return "\n".join([*lines[:-1], *(f"  - {r}" for r in advised.get("reasons") or [])])
