# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Figs. 4, 6: distributions of many flows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..report.style import DROP, LIMIT, WATER
from . import runs, utb_fairness, utb_time
from .draw import svg
from .paper import Check, Figure
from .runs import RunData
from .utb import ALGORITHM, SCALED
from .utb_fairness import COLOURS, COUNT

# Theorem 4: the queue falls below B - BDP/√n with a probability of at most 2 %.
MOST_BELOW = 0.02


def figures(root: Path) -> list[Figure]:
    """Those whose runs are there."""
    reno = sorted(runs.find(root, "utb-many"), key=lambda r: int(r.setting(COUNT)))
    others = sorted(
        runs.find(root, "utb-others"), key=lambda r: (r.setting(ALGORITHM), int(r.setting(COUNT)))
    )
    made = []
    if reno:
        made += [distributions(reno)]
    if others:
        made.append(other_distributions(others))
    for run in runs.find(root, "utb-ecn")[:1]:
        made.append(utb_time.marks_against_drops(run))
    made += [utb_time.unfair(r) for r in reno if int(r.setting(COUNT)) == 4][:1]
    made += [utb_time.window_distributions(r) for r in reno if int(r.setting(COUNT)) == 16][:1]
    if reno:
        made += [utb_fairness.flows_with_loss(reno), utb_fairness.fairness(reno)]
    return made


def _distribution(
    axis: Any, run: RunData, phase: str, spare: float, colour: str, label: str
) -> tuple[float, list[tuple[object, ...]]]:
    """Draws the queue met by packets; the share below B - spare·BDP/√n, and the data."""
    row = run.row(phase)
    limit = float(row["limit_bytes"]) / runs.FRAME_BYTES
    bdp = float(row["bdp_bytes"]) / runs.FRAME_BYTES
    least = limit - spare * bdp / math.sqrt(int(row["true_n_b"]))
    queue = run.packets(phase).queue
    at, share = runs.histogram(queue, limit)
    axis.plot(at, share, color=colour, linewidth=0.8, label=label)
    axis.axvline(limit, color=LIMIT, linestyle=":", linewidth=0.8)
    axis.axvline(max(least, 0), color=colour, linestyle="--", linewidth=0.6)
    axis.set_xlabel("queue (packets)")
    rows: list[tuple[object, ...]] = [
        (label, phase, int(a), float(s)) for a, s in zip(at, share, strict=True) if s > 0
    ]
    return float(np.mean(queue < least - 1)), rows


def _not_independent(run: RunData, phase: str) -> str:
    """Theorem 4 has independent windows, uniform within a third of the fair one."""
    estimates = run.link(phase)["estimates"]
    together, delta = estimates.get("d_mean"), estimates.get("delta_high")
    if not together or not delta:
        return ""
    return (
        "the theorem has n → ∞ and independent windows within a third of the fair one; here "
        f"{together['value']:.1f} flows lose together, the largest window is {delta:.1f} times fair"
    )


def _runs_empty(run: RunData, phase: str) -> str:
    if float(np.quantile(run.packets(phase).queue, 0.01)) > 0:
        return ""
    return f"with {run.setting(COUNT)} flows the queue runs empty: the buffer is its whole width"


def distributions(reno: Sequence[RunData]) -> Figure:
    """Fig. 4: queue of Reno flows over n at three buffers."""
    rows: list[tuple[object, ...]] = []
    checks: list[Check] = []
    phases = reno[0].phases

    def fill(axes: Any) -> None:
        for axis, phase in zip(axes, phases, strict=True):
            widths = []
            for run, colour in zip(reno, COLOURS, strict=False):
                n = int(run.setting(COUNT))
                below, data = _distribution(axis, run, phase, 1.0, colour, f"n = {n}")
                rows.extend(data)
                queue = run.packets(phase).queue
                widths.append(float(np.quantile(queue, 0.99) - np.quantile(queue, 0.01)))
                if float(run.row(phase)["limit_bytes"]) >= float(
                    run.row(phase)["bdp_bytes"]
                ) / math.sqrt(n):
                    checks.append(
                        Check(
                            f"n = {n}, {phase}: packets below B - BDP/√n",
                            "at most 0.02 (Theorem 4)",
                            below,
                            0.0,
                            MOST_BELOW,
                            why=_not_independent(run, phase),
                        )
                    )
            checks.append(
                Check(
                    f"{phase}: width of the distribution, most flows over fewest",
                    "narrower",
                    widths[-1] / widths[0],
                    0.0,
                    0.9,
                    why=_runs_empty(reno[0], phase),
                )
            )
            axis.set_title(f"B = {reno[0].row(phase)['limit_bytes'] / 250e3:g} BDP", loc="left")
        axes[0].set_ylabel("share of packets")
        axes[0].legend()

    drawn = svg("utb-4", len(phases), 2.2, fill)
    return Figure(
        "Fig. 4",
        "Queue distributions of Reno flows with decreasing buffers",
        drawn,
        ("flows", "phase", "queue_packets", "share"),
        list(rows),
        checks,
        SCALED + " Dotted: the limit; dashed: B - BDP/√n of each n.",
    )


def other_distributions(others: Sequence[RunData]) -> Figure:
    """Fig. 6: CUBIC and BBR at 0.8 BDP."""
    rows: list[tuple[object, ...]] = []
    checks: list[Check] = []
    names = list(dict.fromkeys(str(r.setting(ALGORITHM)) for r in others))

    def fill(axes: Any) -> None:
        for axis, name in zip(axes, names, strict=True):
            own = [r for r in others if r.setting(ALGORITHM) == name]
            for run, colour in zip(own, (WATER, DROP), strict=False):
                n = int(run.setting(COUNT))
                # The figure's unshaded area: 2·BDP/√n.
                below, data = _distribution(axis, run, "b80", 2.0, colour, f"n = {n}")
                rows.extend((name, *d) for d in data)
                checks.append(
                    Check(
                        f"{name}, n = {n}: packets below B - 2·BDP/√n",
                        "about none",
                        below,
                        0.0,
                        MOST_BELOW,
                        why=runs.disturbance(run.packets("b80"), name),
                    )
                )
            axis.set_title(name, loc="left")
            axis.legend()
        axes[0].set_ylabel("share of packets")

    drawn = svg("utb-6", len(names), 2.2, fill)
    return Figure(
        "Fig. 6",
        "Queue distributions of other algorithms, B = 0.8 BDP",
        drawn,
        ("algorithm", "flows", "phase", "queue_packets", "share"),
        list(rows),
        checks,
        SCALED + " BBR is version 1. Dashed: B - 2·BDP/√n of each n.",
    )
