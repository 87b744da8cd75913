# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Figs. 4, 6, 8, 9: many flows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..report.style import DROP, GREY, LIMIT, WATER
from . import runs, utb_fairness
from .draw import svg
from .paper import Check, Figure
from .runs import RunData
from .utb import ALGORITHM, SCALED
from .utb_fairness import COLOURS, COUNT

# Theorem 4: the queue falls below B - BDP/√n with a probability of at most 2 %.
MOST_BELOW = 0.02
# §5.4: with marks the depth "fluctuates much more"; ours must by this factor at least.
MORE_FLUCTUATION = 1.2
SHOWN_S = 1.0


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
        made.append(marks_against_drops(run))
    made += [unfair(r) for r in reno if int(r.setting(COUNT)) == 4][:1]
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


def marks_against_drops(run: RunData) -> Figure:
    """Fig. 8: 16 Reno flows whose packets are dropped, or marked, at the same depth."""
    packets = {phase: run.packets(phase) for phase in ("drop", "mark")}
    at = float(run.row("drop")["limit_bytes"]) / runs.FRAME_BYTES
    spread = {phase: float(np.std(p.queue)) for phase, p in packets.items()}

    def fill(axes: Any) -> None:
        for (phase, p), colour in zip(packets.items(), (LIMIT, WATER), strict=True):
            here = p.time_s < SHOWN_S
            axes[0].plot(p.time_s[here], p.queue[here], color=colour, linewidth=0.6, label=phase)
        axes[0].axhline(at, color=GREY, linestyle="--", linewidth=0.8)
        axes[0].set_xlabel("s")
        axes[0].set_ylabel("queue (packets)")
        axes[0].legend()

    return Figure(
        "Fig. 8",
        "Queue over time of 16 Reno flows, marks against drops",
        svg("utb-8", 1, 2.2, fill),
        ("phase", "s", "queue_packets"),
        [
            (phase, round(float(t), 5), float(q))
            for phase, p in packets.items()
            for t, q in zip(p.time_s[:8000], p.queue[:8000], strict=True)
        ],
        [
            Check(
                "standard deviation of the queue, marks over drops",
                "fluctuates much more",
                spread["mark"] / spread["drop"],
                MORE_FLUCTUATION,
                math.inf,
            ),
            Check(
                "largest queue with marks over the threshold",
                "regularly overshoots",
                float(np.quantile(packets["mark"].queue, 0.99)) / at,
                1.05,
                math.inf,
            ),
        ],
        SCALED + " Dashed: where packets are dropped or marked, 0.5 BDP.",
    )


def unfair(run: RunData) -> Figure:
    """Fig. 9: windows and queue of four flows."""
    p = run.packets("half")
    here = p.time_s < 4 * SHOWN_S
    flows = [int(f) for f in np.unique(p.flow[here])]

    def fill(axes: Any) -> None:
        for flow, colour in zip(flows, COLOURS[1:], strict=False):
            own = here & (p.flow == flow)
            axes[0].plot(p.time_s[own], p.window[own], color=colour, linewidth=0.7)
        axes[1].plot(p.time_s[here], p.queue[here], color=WATER, linewidth=0.5)
        axes[0].set_ylabel("windows (packets)")
        axes[1].set_ylabel("queue (packets)")
        for axis in axes:
            for drop in p.time_s[here & p.dropped]:
                axis.axvline(drop, color=DROP, linewidth=0.3)
            axis.set_xlabel("s")

    step = max(1, int(here.sum()) // 8000)
    return Figure(
        "Fig. 9",
        "Windows and queue of four Reno flows that share a link",
        svg("utb-9", 2, 2.2, fill),
        ("s", "flow", "window_packets", "queue_packets"),
        [
            (round(float(t), 5), int(f), float(w), float(q))
            for t, f, w, q in zip(
                p.time_s[here][::step],
                p.flow[here][::step],
                p.window[here][::step],
                p.queue[here][::step],
                strict=True,
            )
        ],
        [],
        SCALED + " Red: drops. The paper prints no value of this figure.",
    )
