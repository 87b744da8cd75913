# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Figs. 8, 9: many flows over time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..report.style import DROP, GREY, LIMIT, WATER
from .draw import MOST_BINS, Bins, Drawing, Rows, band, bins, column
from .paper import Check, Figure, within_factor
from .runs import FRAME_BYTES, Packets, RunData
from .utb import SCALED
from .utb_fairness import COLOURS

# §5.4: with marks the depth "fluctuates much more": ours by at least this factor.
MORE_FLUCTUATION = 1.2
SHOWN_S = 1.0
# §5.3 on Fig. 7: windows occur in these ranges, packets, outside those of uniform windows.
SMALL_WINDOWS, LARGE_WINDOWS = (0.0, 10.0), (40.0, 60.0)
UNIFORM = (0.75, 1.25)
# "Some average window sizes two to three times larger than the fair share, and some half the size";
# held to this factor.
LARGEST_MEAN, SMALLEST_MEAN, MEAN_FACTOR = (2.0, 3.0), 0.5, 1.5
# Reason for means that are more alike than the paper's.
ALIKE = "not known; the same flows on real TCP agree (utb-embedded)"


def marks_against_drops(run: RunData) -> Figure:
    """Fig. 8: 16 Reno flows whose packets are dropped or marked at the same depth."""
    packets = {phase: run.packets(phase) for phase in ("drop", "mark")}
    at = run.limit("drop")
    spread = {phase: float(np.std(p.queue)) for phase, p in packets.items()}

    def fill(axes: Any, rows: Rows) -> None:
        for phase, colour in (("drop", LIMIT), ("mark", WATER)):
            own = [r for r in rows if r[0] == phase]
            band(axes[0], Bins.of(own, 1), colour, phase)
        axes[0].axhline(at, color=GREY, linestyle="--", linewidth=0.8)

    return Figure(
        "Fig. 8",
        "Queue over time of 16 Reno flows, marks against drops",
        Drawing("utb-8", 1, 2.2, fill, "s", "queue (packets)"),
        ("phase", "s", "low_packets", "high_packets"),
        [
            row
            for phase, p in packets.items()
            for row in bins(p.time_s, p.queue, SHOWN_S).rows(phase)
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
        SCALED + " Band: least to largest of each 1/300 of the time. Dashed: drops, marks, 1 BDP.",
    )


def of_each_flow(p: Packets) -> dict[int, np.ndarray]:
    """Windows of each flow's packets when they were sent, for flows that have some."""
    known = np.isfinite(p.window)
    return {int(f): p.window[known & (p.flow == f)] for f in np.unique(p.flow[known])}


def window_distributions(run: RunData) -> Figure:
    """Fig. 7: window distribution of each of 16 flows at 1 BDP."""
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
            why=ALIKE if run.simulated else "",
        ),
        within_factor(
            "smallest mean window of a flow over (BDP + B)/n",
            SMALLEST_MEAN,
            min(means),
            MEAN_FACTOR,
            why=ALIKE if run.simulated else "",
        ),
    ]

    def fill(axes: Any, rows: Rows) -> None:
        for flow in dict.fromkeys(column(rows, 0)):
            own = [r for r in rows if r[0] == flow]
            axes[0].plot(column(own, 1), column(own, 2), color=WATER, linewidth=0.5, alpha=0.7)
        axes[0].axvline(fair, color=LIMIT, linestyle="--", linewidth=0.8)
        for part in UNIFORM:
            axes[0].axvline(part * fair, color=GREY, linestyle=":", linewidth=0.8)

    return Figure(
        "Fig. 7",
        "Distribution of the windows of 16 Reno flows, B = BDP",
        Drawing("utb-7", 1, 2.2, fill, "window (packets)", "share of a flow's packets"),
        ("flow", "window_packets", "share"),
        [
            (flow, window, float(v))
            for flow, share in shares.items()
            for window, v in enumerate(share)
            if v > 0
        ],
        checks,
        SCALED + " A line for each flow: the windows that its packets left under (the paper: at "
        "each acknowledgement). Dashed: (BDP + B)/n; dotted: ¾ and 5/4 of it, uniform windows.",
    )


def unfair(run: RunData) -> Figure:
    """Fig. 9: windows and queue of four flows."""
    p, row = run.packets("half"), run.row("half")
    end_s = 4 * SHOWN_S
    fair, limit = run.bdp("half") / int(row["true_n_b"]), run.limit("half")
    drops = np.unique((p.time_s[p.dropped & (p.time_s < end_s)] * 100).astype(int)) / 100
    series = {"queue": bins(p.time_s, p.queue, end_s, MOST_BINS // 2)}
    for number, flow in enumerate(np.unique(p.flow)):
        own = p.where(p.flow == flow)
        series[f"window of flow {number + 1}"] = bins(own.time_s, own.window, end_s, MOST_BINS // 2)

    def fill(axes: Any, rows: Rows) -> None:
        colours = dict(zip(series, (WATER, *COLOURS[1:]), strict=False))
        for what, colour in colours.items():
            own = [r for r in rows if r[0] == what]
            axis = axes[1] if what == "queue" else axes[0]
            band(axis, Bins.of(own, 1), colour)
        axes[0].axhline(fair, color=GREY, linestyle="--", linewidth=0.8)
        axes[1].axhline(limit, color=GREY, linestyle=":", linewidth=0.8)
        axes[0].set_ylabel("windows (packets)")
        axes[1].set_ylabel("queue (packets)")
        for axis in axes:
            over = axis.get_xaxis_transform()
            high = np.full(drops.shape, 0.97)
            axis.plot(drops, high, "|", color=DROP, markersize=4, transform=over)
            axis.set_ylim(bottom=0)

    return Figure(
        "Fig. 9",
        "Windows and queue of four Reno flows that share a link",
        Drawing("utb-9", 2, 2.2, fill, "s"),
        ("what", "s", "low_packets", "high_packets"),
        [row for what, seen in series.items() for row in seen.rows(what)],
        note=SCALED + " Band: least to largest of each 1/150 of the time. Red: drops; dashed: "
        "BDP/n, a fair window; dotted: the limit. The paper prints no value.",
    )
