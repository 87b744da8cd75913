# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Figs. 5, 6, 11 for congestion controls other than Reno, and
the Reno variant of §4.5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..report.style import DROP, GREY, LIMIT, WATER
from . import authors, runs, utb_fairness
from .bscl import crossing
from .draw import Drawing, Rows, curves
from .paper import Figure, within_factor
from .runs import RunData
from .study import Study
from .utb import ALGORITHM, SCALED
from .utb_fairness import COUNT
from .utb_many import AUTHORS, MOST_BELOW, distribution, drawn

# The paper's Fig. 6 also has BBR version 2, which is missing here; §4.5's Reno has its own figure.
SHOWN = ("cubic", "bbr")
HELD = ("cubic", "bbr", "scalable")
RANDOM = "random_reno"
# Factor around the authors' smallest full buffer: their limits grow by up to 2, ours is
# interpolated between two of five.
SMALLEST_FACTOR = 2.0


# §5.1: 99 % of the packets find a queue.
NOT_EMPTY = 0.99


def figures(study: Study) -> list[Figure]:
    """Returns the figures whose runs exist."""
    found = study.by_number("utb-others", COUNT)
    named = {a: [r for r in found if r.setting(ALGORITHM) == a] for a in (*HELD, RANDOM)}
    held = {a: named[a] for a in HELD if named[a]}
    reno = {int(r.setting(COUNT)): r for r in study.find("utb-many")}
    pairs = [(reno[n], r) for r in named[RANDOM] if (n := int(r.setting(COUNT))) in reno]
    made = [smallest_buffers(held)] if held else []
    if reno or held:
        of_reno = [reno[n] for n in sorted(reno)]
        made.append(utb_fairness.fairness({"reno": of_reno, **held} if reno else held))
    if shown := {a: held[a] for a in SHOWN if a in held}:
        made.append(distributions(shown))
    return made + ([halved_by_chance(pairs)] if pairs else [])


def smallest_buffer(phases: Sequence[tuple[RunData, str]]) -> tuple[float | None, str]:
    """Buffer, in packets, at which a share of NOT_EMPTY finds a queue; None with the reason if no
    two of the phases' buffers enclose it."""
    points = [(run.limit(p), float(np.mean(run.packets(p).queue > 0))) for run, p in phases]
    return crossing(sorted(points), lambda share: share >= NOT_EMPTY, NOT_EMPTY)


def smallest_buffers(held: dict[str, list[RunData]]) -> Figure:
    """Fig. 5a: smallest full buffer over n."""

    def fill(axes: Any, rows: Rows) -> None:
        for axis, name in zip(axes, held, strict=True):
            own = [r for r in rows if r[0] == name]
            ours, theirs = (2, "o", WATER, "ours"), (4, "s", LIMIT, "authors' table")
            curves(axis, own, ours, theirs, (5, "--", GREY, "BDP/√n"), x=1)
            axis.set_yscale("log")
            axis.set_title(name, loc="left")
            axis.set_xscale("log", base=2)

    figure = Figure(
        "Fig. 5 others",
        "Smallest buffer over flows of other controls",
        Drawing("utb-5-others", len(held), 2.2, fill, "flows", "smallest buffer (packets)"),
        ("algorithm", "flows", "smallest_buffer_packets", "not_enclosed", "authors", "bdp_sqrt_n"),
        note=SCALED + " 99 % of the packets find a queue, between two of five buffers, if they "
        "enclose it; authors: their smallest limit, times our BDP over theirs.",
        keys=2,
    )
    table = authors.smallest_full_buffer(authors.FOLDER / "generalized_test.csv")
    for name, found in held.items():
        for run in found:
            n, bdp = int(run.setting(COUNT)), run.bdp("full")
            ours, why = smallest_buffer([(run, p) for p in run.phases])
            theirs = table.get((name, n))
            said = None if theirs is None else theirs * bdp / authors.BDP_PACKETS
            figure.row(name, n, ours, why, said, bdp / math.sqrt(n))
            if said is not None:
                what = f"{name}, n = {n}: smallest buffer, packets"
                paper = f"{said:.0f} (authors' table)"
                check = within_factor(what, said, ours, SMALLEST_FACTOR, paper, "not known")
                figure.checks.append(replace(check, about=why))
    return figure


def distributions(shown: dict[str, list[RunData]]) -> Figure:
    """Fig. 6: CUBIC and BBR at 0.8 BDP. Dashed: border of the paper's unshaded area."""
    figure, found = drawn(
        ("Fig. 6", "Queue distributions of other algorithms, B = 0.8 BDP", "algorithm"),
        {a: [(r, "b80", a, 2.0) for r in of_a] for a, of_a in shown.items()},
        f" BBR is version 1. Dashed: B - 2·BDP/√n of each n.{AUTHORS}",
    )
    for (name, n), seen in found.items():
        run = next(r for r in shown[name] if int(r.setting(COUNT)) == n)
        figure.check(
            f"{name}, n = {n}: packets below B - 2·BDP/√n",
            "about none",
            seen.below,
            0.0,
            MOST_BELOW,
            why=runs.disturbance(run.packets("b80"), name, run.simulated),
        )
    return figure


def halved_by_chance(pairs: Sequence[tuple[RunData, RunData]]) -> Figure:
    """§4.5: Reno whose losses halve a window w with probability 1/w, compared with Reno. `pairs`:
    runs of Reno and of the variant with the same number of flows."""

    def fill(axes: Any, rows: Rows) -> None:
        curves(axes[0], rows, (1, "o-", WATER, "Reno"), (2, "o-", DROP, "§4.5"))
        axes[0].set_xscale("log", base=2)

    figure = Figure(
        "Section 4-5",
        "Queue of Reno and of the Reno of §4.5, B = BDP",
        Drawing("utb-s45", 1, 2.0, fill, "flows", "1st percentile (packets)"),
        ("flows", "reno_packets", "random_packets", "reno_loss", "random_loss"),
        note=SCALED + " A lost packet halves a window w with a probability of 1/w; the paper has "
        "no run of it. The queue that packets met.",
        keys=1,
    )
    for reno, other in pairs:
        n = int(other.setting(COUNT))
        least = [distribution(r, "full", "", 1.0).quantiles[0] for r in (reno, other)]
        losses = [float(r.row("full")["loss_rate"]) for r in (reno, other)]
        figure.row(n, *map(float, least), *losses)
        figure.check(
            f"n = {n}: least queue over Reno's, in BDP",
            "reduces buffer requirements",
            float(least[1] - least[0]) / other.bdp("full"),
            0.0,
            1.0,
            why="not known",
        )
    return figure
