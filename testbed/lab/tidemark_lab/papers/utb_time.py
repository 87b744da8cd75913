# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Figs. 8, 9: many flows over time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..report.style import DROP, GREY, LIMIT, WATER
from .draw import svg
from .paper import Check, Figure, within_factor
from .runs import FRAME_BYTES, Packets, RunData
from .utb import SCALED
from .utb_fairness import COLOURS

# §5.4: with marks the depth "fluctuates much more"; ours must by this factor at least.
MORE_FLUCTUATION = 1.2
SHOWN_S = 1.0
# §5.3 on Fig. 7: windows are seen in these ranges, packets, outside those of uniform windows.
SMALL_WINDOWS, LARGE_WINDOWS = (0.0, 10.0), (40.0, 60.0)
UNIFORM = (0.75, 1.25)
# "Some average window sizes two to three times larger than the fair share, and some half the
# size"; held to a factor.
LARGEST_MEAN, SMALLEST_MEAN, MEAN_FACTOR = (2.0, 3.0), 0.5, 1.5
# Of the means that are more alike than the paper's.
ALIKE = (
    "in simulation all flows are alike: the same round trip to the microsecond, no processing; "
    "what sets the paper's real ones apart for so long it does not say"
)


def marks_against_drops(run: RunData) -> Figure:
    """Fig. 8: 16 Reno flows whose packets are dropped, or marked, at the same depth."""
    packets = {phase: run.packets(phase) for phase in ("drop", "mark")}
    at = float(run.row("drop")["limit_bytes"]) / FRAME_BYTES
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


def of_each_flow(p: Packets) -> dict[int, np.ndarray]:
    """The windows that each flow's packets left under, of flows that have some."""
    known = np.isfinite(p.window)
    return {int(f): p.window[known & (p.flow == f)] for f in np.unique(p.flow[known])}


def window_distributions(run: RunData) -> Figure:
    """Fig. 7: distribution of the windows of each of 16 flows at 1 BDP."""
    row = run.row("full")
    windows = of_each_flow(run.packets("full"))
    fair = (float(row["bdp_bytes"]) + float(row["limit_bytes"])) / FRAME_BYTES / len(windows)
    together = np.concatenate(list(windows.values()))
    means = [float(w.mean()) / fair for w in windows.values()]
    shares = {
        flow: np.bincount(w.astype(int), minlength=int(together.max()) + 1) / w.size
        for flow, w in windows.items()
    }
    low, high = LARGEST_MEAN
    checks = [
        Check(
            "1st percentile of all windows, packets",
            "windows of 0 to 10",
            float(np.quantile(together, 0.01)),
            *SMALL_WINDOWS,
        ),
        Check(
            "99th percentile of all windows, packets",
            "windows of 40 to 60",
            float(np.quantile(together, 0.99)),
            *LARGE_WINDOWS,
        ),
        Check(
            "largest mean window of a flow over (BDP + B)/n",
            f"{low:g} to {high:g}",
            max(means),
            low / MEAN_FACTOR,
            high * MEAN_FACTOR,
            why=ALIKE,
        ),
        within_factor(
            "smallest mean window of a flow over (BDP + B)/n",
            SMALLEST_MEAN,
            min(means),
            MEAN_FACTOR,
            why=ALIKE,
        ),
    ]

    def fill(axes: Any) -> None:
        for share in shares.values():
            axes[0].plot(range(share.size), share, color=WATER, linewidth=0.5, alpha=0.7)
        axes[0].axvline(fair, color=LIMIT, linestyle="--", linewidth=0.8)
        for part in UNIFORM:
            axes[0].axvline(part * fair, color=GREY, linestyle=":", linewidth=0.8)
        axes[0].set_xlabel("window (packets)")
        axes[0].set_ylabel("share of a flow's packets")

    return Figure(
        "Fig. 7",
        "Distribution of the windows of 16 Reno flows, B = BDP",
        svg("utb-7", 1, 2.2, fill),
        ("flow", "window_packets", "share"),
        [
            (flow, window, float(v))
            for flow, share in shares.items()
            for window, v in enumerate(share)
            if v > 0
        ],
        checks,
        SCALED + " A line for each flow: the windows that its packets left under, where the paper "
        "has those at each acknowledgement. Dashed: (BDP + B)/n; dotted: ¾ and 5/4 of it, between "
        "which uniform windows would lie.",
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
