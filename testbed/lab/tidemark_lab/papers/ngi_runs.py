# SPDX-License-Identifier: Apache-2.0
"""What the figures of NGI share: windows over time, and shares of the residual bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..report.style import DROP, GREY, LIMIT, WATER
from .runs import RunData

# Of the background, 25 of 50 Mb/s.
BACKGROUND = 0.5
SCALED = (
    "50 Mb/s of IP and 150 ms have the paper's BDP of 625 packets, of 1500 bytes; 25 UDP flows of "
    "1 Mb/s with Poisson packets; 20 to 60 s."
)


def residual_share(run: RunData, phase: str) -> float:
    """Of what the background leaves, the part that the bottlenecked flows get."""
    return (float(run.row(phase)["utilisation"]) - BACKGROUND) / (1 - BACKGROUND)


def traces(axes: Any, cases: Sequence[tuple[str, RunData, str]]) -> list[tuple[object, ...]]:
    """Windows over time of each case in a column; the data."""
    rows: list[tuple[object, ...]] = []
    for axis, (title, run, phase) in zip(axes, cases, strict=True):
        p = run.packets(phase)
        known = np.isfinite(p.window)
        for number, flow in enumerate(np.unique(p.flow[known])):
            own = p.where(known & (p.flow == flow))
            step = max(1, len(own.time_s) // 400)
            axis.plot(
                own.time_s[::step],
                own.window[::step],
                linewidth=0.7,
                color=(WATER, DROP, LIMIT, GREY)[number % 4],
            )
            rows += [
                (title, number, round(float(t), 4), float(w))
                for t, w in zip(own.time_s[::step], own.window[::step], strict=True)
            ]
        axis.set_title(title, loc="left")
        axis.set_xlabel("s")
    axes[0].set_ylabel("window (packets)")
    return rows


TRACE_COLUMNS = ("case", "flow", "s", "window_packets")
