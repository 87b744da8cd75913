# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Fig. 4: distributions of many flows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..report.style import LIMIT
from . import authors, runs, utb_fairness, utb_time
from .draw import Drawing, Rows, column
from .paper import Figure
from .runs import RunData
from .study import Study
from .utb import SCALED
from .utb_fairness import COLOURS, COUNT

# Tolerance for a quantile, in BDP: nine in ten of the authors' own Reno rows are this close to the
# interpolation between their neighbouring buffers.
QUANTILE_OFF = 0.1
# Fig. 6: almost no packet is below the area that the paper leaves unshaded.
MOST_BELOW = 0.02
# Height of the authors' quantiles in an axis, and the step between two numbers of flows.
TOP, STEP = 0.97, 0.05
AUTHORS = (
    " Above: 5th percentile, median and 95th of the authors' generalized_test.csv, between the "
    "buffers next to ours."
)


def figures(study: Study) -> list[Figure]:
    """Returns the figures whose runs exist."""
    reno = study.by_number("utb-many", COUNT)
    made = [distributions(reno)] if reno else []
    made += [utb_time.marks_against_drops(run) for run in study.find("utb-ecn")[:1]]
    made += [utb_time.unfair(r) for r in reno if int(r.setting(COUNT)) == 4][:1]
    made += [utb_time.window_distributions(r) for r in reno if int(r.setting(COUNT)) == 16][:1]
    return made + ([utb_fairness.flows_with_loss(reno)] if reno else [])


@dataclass(frozen=True)
class Distribution:
    """Distribution of the queue that packets of a phase met; sizes in packets."""

    limit: float
    # B - spare·BDP/√n.
    least: float
    # Share of the packets that met less than `least`.
    below: float
    width: float
    # Our values and the authors' at authors.QUANTILES.
    quantiles: np.ndarray
    authors: np.ndarray | None
    bdp: float
    # Queue lengths from 0 to the limit, and the share of packets that met each.
    at: np.ndarray
    share: np.ndarray

    def draw(self, axis: Any, rows: Rows, colour: str, label: str) -> None:
        """Plots `rows`; the share is the last column before those that repetitions add."""
        axis.plot(column(rows, 2), column(rows, 3), color=colour, linewidth=0.8, label=label)
        axis.axvline(self.limit, color=LIMIT, linestyle=":", linewidth=0.8)
        axis.axvline(max(self.least, 0), color=colour, linestyle="--", linewidth=0.6)

    def hold(self, figure: Figure, what: str) -> None:
        """Adds a check against the authors' quantiles, if they have this number of flows."""
        if self.authors is None:
            return
        off = self.quantiles - self.authors
        most = int(np.argmax(np.abs(off)))
        figure.check(
            f"{what}: quantile that is farthest from the authors', in BDP",
            "their 1st to 99th percentile",
            float(np.abs(off[most]) / self.bdp),
            0.0,
            QUANTILE_OFF,
            why=f"the quantile of {authors.QUANTILES[most]:g} is "
            f"{self.quantiles[most]:.0f} packets, theirs {self.authors[most]:.0f}",
        )

    def rows(self, *key: object) -> Rows:
        pairs = zip(self.at, self.share, strict=True)
        return [(*key, int(a), round(float(s), 6)) for a, s in pairs]


def distribution(run: RunData, phase: str, algorithm: str, spare: float) -> Distribution:
    limit, bdp, n = run.limit(phase), run.bdp(phase), int(run.row(phase)["true_n_b"])
    least = limit - spare * bdp / math.sqrt(n)
    queue = run.packets(phase).queue
    seen = np.quantile(queue, authors.QUANTILES)
    theirs = authors.queue(algorithm, n, run.limit_bdp(phase))
    return Distribution(
        limit,
        least,
        float(np.mean(queue < least - 1)),
        float(seen[-1] - seen[0]),
        seen,
        None if theirs is None else theirs * bdp,
        bdp,
        *runs.histogram(queue, limit),
    )


def draw_authors(axis: Any, found: Sequence[Distribution], colours: Sequence[str]) -> None:
    """Draws their 5th, 50th and 95th percentiles, one line per number of flows."""
    for number, (one, colour) in enumerate(zip(found, colours, strict=False)):
        if one.authors is not None:
            low, middle, high = one.authors[[2, 4, 5]]
            at = TOP - STEP * (number + np.array([0, 0, -0.3, 0, 0]))
            points = [low, middle, middle, middle, high]
            axis.plot(points, at, color=colour, linewidth=0.8, transform=axis.get_xaxis_transform())


def _runs_empty(run: RunData, phase: str) -> str:
    if float(np.quantile(run.packets(phase).queue, 0.01)) > 0:
        return ""
    return f"with {run.setting(COUNT)} flows the queue runs empty: the buffer is its whole width"


# Run, phase, congestion control, and the multiple of BDP/√n from the limit down to the dashed line.
Case = tuple[RunData, str, str, float]


def drawn(
    said: tuple[str, str, str], columns: dict[str, list[Case]], more: str
) -> tuple[Figure, dict[tuple[str, int], Distribution]]:
    """One column of axes per title, one line in it per number of flows, and each one's distance
    from the authors' quantiles. `said`: name, title, and the titles' column in the data."""
    found = {
        (title, int(case[0].setting(COUNT))): distribution(*case)
        for title, cases in columns.items()
        for case in cases
    }
    counts = sorted({n for _, n in found})

    def fill(axes: Any, rows: Rows) -> None:
        for axis, title in zip(axes, columns, strict=True):
            own = [(n, c) for n, c in zip(counts, COLOURS, strict=False) if (title, n) in found]
            for n, colour in own:
                data = [r for r in rows if (r[0], r[1]) == (title, n)]
                found[title, n].draw(axis, data, colour, f"n = {n}")
            draw_authors(axis, [found[title, n] for n, _ in own], [c for _, c in own])
            axis.set_title(title, loc="left")

    name, title, key = said
    drawing = Drawing(
        f"utb-{name.split()[1]}", len(columns), 2.2, fill, "queue (packets)", "share of packets"
    )
    figure = Figure(name, title, drawing, (key, "flows", "queue_packets", "share"), keys=3)
    figure.note = SCALED + more
    for (column_title, n), seen in found.items():
        figure.rows += seen.rows(column_title, n)
        seen.hold(figure, f"{column_title}, n = {n}")
    return figure, found


def distributions(reno: Sequence[RunData]) -> Figure:
    """Fig. 4: queue of Reno flows over n for three buffers."""
    titles = {f"B = {reno[0].limit_bdp(p):.2g} BDP": p for p in reno[0].phases}
    figure, found = drawn(
        ("Fig. 4", "Queue distributions of Reno flows with decreasing buffers", "buffer"),
        {title: [(r, phase, "reno", 1.0) for r in reno] for title, phase in titles.items()},
        " Dotted: the limit; dashed: B - BDP/√n of each n, below which Theorem 4 has 2 % of the "
        f"packets where n → ∞.{AUTHORS}",
    )
    for title, phase in titles.items():
        few, many = (found[title, int(r.setting(COUNT))].width for r in (reno[0], reno[-1]))
        what = f"{title}: width of the distribution, most flows over fewest"
        figure.check(what, "narrower", many / few, 0.0, 0.9, why=_runs_empty(reno[0], phase))
    return figure
