# SPDX-License-Identifier: Apache-2.0
"""Common parts of NGI's figures: windows over time, and shares of the residual bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..report.style import DROP, GREY, LIMIT, SECOND, WATER
from .draw import MOST_BINS, Bins, Drawing, Rows, band, bins, column
from .paper import Check, Figure
from .runs import RunData

# Share of the background traffic: 25 of 50 Mb/s.
BACKGROUND = 0.5
# Title, run and phase.
Case = tuple[str, RunData, str]


def scaled(cases: Sequence[Case]) -> str:
    """Describes differences from the paper's setup, and common parts."""
    times = sorted({round(float(run.row(phase)["seconds"])) for _, run, phase in cases})
    length = f"{times[0]} s" if len(times) == 1 else f"{times[0]} to {times[-1]} s"
    return (
        "50 Mb/s of IP and 150 ms have the paper's BDP of 625 packets, of 1500 bytes; 25 UDP flows "
        f"of 1 Mb/s with Poisson packets; {length}."
    )


def residual_share(run: RunData, phase: str) -> float:
    """The bottlenecked flows' part of the bandwidth that the background leaves."""
    return (float(run.row(phase)["utilisation"]) - BACKGROUND) / (1 - BACKGROUND)


def traced(
    name: str,
    title: str,
    cases: Sequence[Case],
    checks: list[Check],
    more: str = "",
    **theory: bool,
) -> Figure:
    """Plots windows over time for each case: smallest and largest in equal intervals of the phase,
    which are longer if many flows share a column."""
    figure = Figure(
        name,
        title,
        drawn(f"ngi-{name.removeprefix('Fig. ')}", cases, **theory),
        ("case", "flow", "s", "low_packets", "high_packets"),
        checks=checks,
        note=scaled(cases) + more,
    )
    for label, run, phase in cases:
        p, end_s = run.packets(phase), float(run.row(phase)["seconds"])
        p = p.where(np.isfinite(p.window))
        flows = np.unique(p.flow)
        for number, flow in enumerate(flows):
            own = p.where(p.flow == flow)
            seen = bins(own.time_s, own.window, end_s, MOST_BINS // max(2, len(flows)))
            figure.rows += seen.rows(label, number, digits=3)
    return figure


def drawn(name: str, cases: Sequence[Case], theory: bool = False) -> Drawing:
    """Draws the traces, one case per column. `theory`: adds the window that fills the residual
    bandwidth (its rate times the round trip), and the same plus the buffer."""
    titles = [title for title, _, _ in cases]
    limits = [run.limit(p) for _, run, p in cases]
    residual = [run.bdp(p) * (1 - BACKGROUND) for _, run, p in cases]

    def fill(axes: Any, rows: Rows) -> None:
        for axis, title, limit, least in zip(axes, titles, limits, residual, strict=True):
            own = [r for r in rows if r[0] == title]
            for number in dict.fromkeys(column(own, 1)):
                of_flow = [r for r in own if r[1] == number]
                band(axis, Bins.of(of_flow, 2), (WATER, DROP, LIMIT, SECOND)[number % 4])
            if theory:
                axis.axhline(least, color=GREY, linestyle="--", linewidth=0.8)
                axis.axhline(least + limit, color=GREY, linestyle=":", linewidth=0.8)
            axis.set_title(title, loc="left")

    return Drawing(name, len(cases), 2.0, fill, "s", "window (packets)")
