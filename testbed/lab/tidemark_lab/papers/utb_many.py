# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Figs. 4, 6: distributions of many flows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..report.style import LIMIT
from . import runs, utb_fairness, utb_time
from .draw import Drawing, Rows, column
from .paper import Figure
from .runs import RunData
from .study import Study
from .utb import ALGORITHM, SCALED
from .utb_fairness import COLOURS, COUNT

# Theorem 4: the queue falls below B - BDP/√n with a probability of at most 2 %.
MOST_BELOW = 0.02


def figures(study: Study) -> list[Figure]:
    """Figures whose runs are there."""
    reno = study.by_number("utb-many", COUNT)
    others = sorted(
        study.find("utb-others"), key=lambda r: (r.setting(ALGORITHM), int(r.setting(COUNT)))
    )
    made = [distributions(reno)] if reno else []
    made += [other_distributions(others)] if others else []
    made += [utb_time.marks_against_drops(run) for run in study.find("utb-ecn")[:1]]
    made += [utb_time.unfair(r) for r in reno if int(r.setting(COUNT)) == 4][:1]
    made += [utb_time.window_distributions(r) for r in reno if int(r.setting(COUNT)) == 16][:1]
    return made + (
        [utb_fairness.flows_with_loss(reno), utb_fairness.fairness(reno)] if reno else []
    )


@dataclass(frozen=True)
class Distribution:
    """The queue that packets of a phase met; sizes in packets."""

    limit: float
    # B - spare·BDP/√n.
    least: float
    # Share of the packets that met less than that.
    below: float
    width: float
    # Whole numbers from 0 to the limit, and the share of the packets that met each.
    at: np.ndarray
    share: np.ndarray

    def draw(self, axis: Any, rows: Rows, colour: str, label: str) -> None:
        """`rows`: of the data, the share last but for what repetitions add."""
        axis.plot(column(rows, 2), column(rows, 3), color=colour, linewidth=0.8, label=label)
        axis.axvline(self.limit, color=LIMIT, linestyle=":", linewidth=0.8)
        axis.axvline(max(self.least, 0), color=colour, linestyle="--", linewidth=0.6)

    def rows(self, *key: object) -> Rows:
        pairs = zip(self.at, self.share, strict=True)
        return [(*key, int(a), round(float(s), 6)) for a, s in pairs]


def _distribution(run: RunData, phase: str, spare: float) -> Distribution:
    limit = run.limit(phase)
    least = limit - spare * run.bdp(phase) / math.sqrt(int(run.row(phase)["true_n_b"]))
    queue = run.packets(phase).queue
    width = float(np.quantile(queue, 0.99) - np.quantile(queue, 0.01))
    below = float(np.mean(queue < least - 1))
    return Distribution(limit, least, below, width, *runs.histogram(queue, limit))


def _not_independent(run: RunData, phase: str) -> str:
    """Theorem 4 has independent windows, uniform within a third of the fair one."""
    estimates = run.estimates(phase)
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
    phases, counts = reno[0].phases, [int(r.setting(COUNT)) for r in reno]
    found: dict[tuple[int, str], Distribution] = {}

    def fill(axes: Any, rows: Rows) -> None:
        for axis, phase in zip(axes, phases, strict=True):
            for n, colour in zip(counts, COLOURS, strict=False):
                own = [r for r in rows if (r[0], r[1]) == (n, phase)]
                found[n, phase].draw(axis, own, colour, f"n = {n}")
            axis.set_title(f"B = {reno[0].limit_bdp(phase):.2g} BDP", loc="left")

    figure = Figure(
        "Fig. 4",
        "Queue distributions of Reno flows with decreasing buffers",
        Drawing("utb-4", len(phases), 2.2, fill, "queue (packets)", "share of packets"),
        ("flows", "phase", "queue_packets", "share"),
        note=SCALED + " Dotted: the limit; dashed: B - BDP/√n of each n.",
        keys=3,
    )
    for phase in phases:
        for n, run in zip(counts, reno, strict=True):
            seen = found[n, phase] = _distribution(run, phase, 1.0)
            figure.rows += seen.rows(n, phase)
            row = run.row(phase)
            if float(row["limit_bytes"]) >= float(row["bdp_bytes"]) / math.sqrt(n):
                figure.check(
                    f"n = {n}, {phase}: packets below B - BDP/√n",
                    "at most 0.02 (Theorem 4)",
                    seen.below,
                    0.0,
                    MOST_BELOW,
                    why=_not_independent(run, phase),
                )
        narrower = found[counts[-1], phase].width / found[counts[0], phase].width
        what = f"{phase}: width of the distribution, most flows over fewest"
        figure.check(what, "narrower", narrower, 0.0, 0.9, why=_runs_empty(reno[0], phase))
    return figure


def other_distributions(others: Sequence[RunData]) -> Figure:
    """Fig. 6: CUBIC and BBR at 0.8 BDP."""
    names = list(dict.fromkeys(str(r.setting(ALGORITHM)) for r in others))
    found: dict[tuple[str, int], Distribution] = {}

    def fill(axes: Any, rows: Rows) -> None:
        for axis, name in zip(axes, names, strict=True):
            own = [k for k in found if k[0] == name]
            for key, colour in zip(own, COLOURS[1:], strict=False):
                data = [r for r in rows if (r[0], r[1]) == key]
                found[key].draw(axis, data, colour, f"n = {key[1]}")
            axis.set_title(name, loc="left")
            axis.legend()

    figure = Figure(
        "Fig. 6",
        "Queue distributions of other algorithms, B = 0.8 BDP",
        Drawing("utb-6", len(names), 2.2, fill, "queue (packets)", "share of packets"),
        ("algorithm", "flows", "queue_packets", "share"),
        note=SCALED + " BBR is version 1. Dashed: B - 2·BDP/√n of each n.",
        keys=3,
    )
    for run in others:
        name, n = str(run.setting(ALGORITHM)), int(run.setting(COUNT))
        # The figure's unshaded area: 2·BDP/√n.
        seen = found[name, n] = _distribution(run, "b80", 2.0)
        figure.rows += seen.rows(name, n)
        figure.check(
            f"{name}, n = {n}: packets below B - 2·BDP/√n",
            "about none",
            seen.below,
            0.0,
            MOST_BELOW,
            why=runs.disturbance(run.packets("b80"), name, run.simulated),
        )
    return figure
