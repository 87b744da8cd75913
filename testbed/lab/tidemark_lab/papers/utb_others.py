# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Figs. 5, 6, 11 of other controls than Reno, and its Reno
of §4.5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..report.style import DROP, GREY, LIMIT, WATER
from . import authors, runs
from .bscl import crossing
from .draw import Drawing, Rows, curves
from .paper import Figure, within_factor
from .runs import RunData
from .study import Study
from .utb import ALGORITHM, SCALED
from .utb_fairness import AUTHORS_FLOWS, COLOURS, COUNT, DELTA_FACTOR
from .utb_many import AUTHORS, MOST_BELOW, Distribution, distribution, draw_authors

# Of the paper's Fig. 6 there is no BBR version 2 here; §4.5's Reno has a figure of its own.
SHOWN = ("cubic", "bbr")
HELD = ("cubic", "bbr", "scalable")
RANDOM = "random_reno"
# Of the authors' smallest full buffer: theirs is one of limits that grow by up to 2, ours lies
# between two of five.
SMALLEST_FACTOR = 2.0


# §5.1: 99 % of the packets find a queue.
NOT_EMPTY = 0.99


def figures(study: Study) -> list[Figure]:
    """Figures whose runs are there."""
    found = study.by_number("utb-others", COUNT)
    named = {a: [r for r in found if r.setting(ALGORITHM) == a] for a in (*HELD, RANDOM)}
    held = {a: named[a] for a in HELD if named[a]}
    reno = {int(r.setting(COUNT)): r for r in study.find("utb-many")}
    pairs = [(reno[n], r) for r in named[RANDOM] if (n := int(r.setting(COUNT))) in reno]
    made = [smallest_buffers(held), fairness(held)] if held else []
    if shown := {a: held[a] for a in SHOWN if a in held}:
        made.append(distributions(shown))
    return made + ([halved_by_chance(pairs)] if pairs else [])


def smallest_buffer(phases: Sequence[tuple[RunData, str]]) -> tuple[float | None, str]:
    """Packets, where a share of NOT_EMPTY finds a queue; None with the reason where no two of the
    phases' buffers enclose it."""
    points = [(run.limit(p), float(np.mean(run.packets(p).queue > 0))) for run, p in phases]
    return crossing(sorted(points), lambda share: share >= NOT_EMPTY, NOT_EMPTY)


def smallest_buffers(held: dict[str, list[RunData]]) -> Figure:
    """Fig. 5a: smallest full buffer over n."""
    names = list(held)

    def fill(axes: Any, rows: Rows) -> None:
        for axis, name in zip(axes, names, strict=True):
            own = [r for r in rows if r[0] == name]
            ours, theirs = (2, "o", WATER, "ours"), (4, "s", LIMIT, "authors' table")
            curves(axis, own, ours, theirs, (5, "--", GREY, "BDP/√n"), x=1)
            axis.set(yscale="log", title=name)
            axis.set_xscale("log", base=2)

    figure = Figure(
        "Fig. 5 others",
        "Smallest buffer over flows of other controls",
        Drawing("utb-5-others", len(names), 2.2, fill, "flows", "smallest buffer (packets)"),
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


def fairness(held: dict[str, list[RunData]]) -> Figure:
    """Fig. 11: Δ-almost fairness over n at 1 BDP, and over the buffer."""

    def fill(axes: Any, rows: Rows) -> None:
        for name, colour in zip(held, COLOURS, strict=False):
            full = [r for r in rows if (r[0], r[2]) == (name, 1.0)]
            of_16 = [r for r in rows if (r[0], r[1]) == (name, AUTHORS_FLOWS)]
            of_16.sort(key=lambda r: float(str(r[2])))
            for axis, own, x in ((axes[0], full, 1), (axes[1], of_16, 2)):
                ours, theirs = (3, "o-", colour, name), (5, "s:", colour, None)
                curves(axis, own, ours, theirs, x=x)
        axes[0].set_xscale("log", base=2)
        axes[0].set_xlabel("flows")
        axes[1].set_xlabel("B / BDP")

    figure = Figure(
        "Fig. 11 others",
        "Worst-case Δ-almost fairness of other controls",
        Drawing("utb-11-others", 2, 2.2, fill, y="window over BDP/n"),
        (
            *("algorithm", "flows", "buffer_bdp", "largest_over_fair", "smallest_over_fair"),
            "authors_largest",
        ),
        note=SCALED + f" Right: n = {AUTHORS_FLOWS}. Dotted: authors' calculated_deltas.csv, "
        "95th percentile, between the buffers next to ours. Windows in flight.",
        keys=3,
    )
    for name, found in held.items():
        for run in found:
            n = int(run.setting(COUNT))
            for phase in run.phases:
                part, estimates = run.limit_bdp(phase), run.estimates(phase)
                low, high = estimates.get("delta_low"), estimates.get("delta_high")
                theirs = authors.largest(name, n, part)
                figure.row(name, n, part, high, None if not low else 1 / low, theirs)
                if theirs is not None and (part == 1.0 or n == AUTHORS_FLOWS):
                    what = f"{name}, n = {n}, B = {part:.2g} BDP: largest window over BDP/n"
                    check = within_factor(
                        what,
                        theirs,
                        high,
                        DELTA_FACTOR,
                        f"{theirs:.3g} (authors' table)",
                        "not known",
                    )
                    figure.checks.append(check)
    return figure


def distributions(shown: dict[str, list[RunData]]) -> Figure:
    """Fig. 6: CUBIC and BBR at 0.8 BDP."""
    found: dict[tuple[str, int], Distribution] = {}

    def fill(axes: Any, rows: Rows) -> None:
        for axis, name in zip(axes, shown, strict=True):
            own = [k for k in found if k[0] == name]
            for key, colour in zip(own, COLOURS[1:], strict=False):
                data = [r for r in rows if (r[0], r[1]) == key]
                found[key].draw(axis, data, colour, f"n = {key[1]}")
            draw_authors(axis, [found[k] for k in own], COLOURS[1:])
            axis.set_title(name, loc="left")
            axis.legend()

    figure = Figure(
        "Fig. 6",
        "Queue distributions of other algorithms, B = 0.8 BDP",
        Drawing("utb-6", len(shown), 2.2, fill, "queue (packets)", "share of packets"),
        ("algorithm", "flows", "queue_packets", "share"),
        note=SCALED + f" BBR is version 1. Dashed: B - 2·BDP/√n of each n.{AUTHORS}",
        keys=3,
    )
    for name, runs_of in shown.items():
        for run in runs_of:
            n = int(run.setting(COUNT))
            # The figure's unshaded area: 2·BDP/√n.
            seen = found[name, n] = distribution(run, "b80", name, 2.0)
            figure.rows += seen.rows(name, n)
            figure.check(
                f"{name}, n = {n}: packets below B - 2·BDP/√n",
                "about none",
                seen.below,
                0.0,
                MOST_BELOW,
                why=runs.disturbance(run.packets("b80"), name, run.simulated),
            )
            seen.hold(figure, f"{name}, n = {n}")
    return figure


def halved_by_chance(pairs: Sequence[tuple[RunData, RunData]]) -> Figure:
    """§4.5: Reno whose losses halve a window w with a probability of 1/w, against Reno. `pairs`:
    Reno, and that, of the same number of flows."""

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
