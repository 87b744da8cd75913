# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Fig. 5: the smallest buffer, and utilisation with 20
packets, over n."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..report.style import GREY, LIMIT, WATER
from . import runs, utb_others
from .draw import Drawing, Rows, curves
from .paper import Figure, within
from .runs import RunData
from .study import Study
from .utb import SCALED
from .utb_fairness import COUNT

SMALLEST = "b20"
# "Follows a square-root of n rule", "increases at a rate of 1/√n": the exponent.
EXPONENT, EXPONENT_OFF = -0.5, 0.25


def figures(study: Study) -> list[Figure]:
    """Returns the figures whose runs exist, including other congestion controls."""
    many = {int(r.setting(COUNT)): r for r in study.find("utb-many")}
    least = {int(r.setting(COUNT)): r for r in study.find("utb-least")}
    both = sorted(set(many) & set(least))
    made = [smallest_buffers([(n, many[n], least[n]) for n in both])] if len(both) > 1 else []
    return made + utb_others.figures(study)


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Exponent of y over x, by least squares of the logarithms; None below two points."""
    known = [(math.log(x), math.log(y)) for x, y in points if y > 0]
    if len(known) < 2:
        return None
    x, y = zip(*known, strict=True)
    return float(np.polyfit(x, y, 1)[0])


def smallest_buffers(found: Sequence[tuple[int, RunData, RunData]]) -> Figure:
    """`found`: n, its run with three buffers, its run with 20 packets."""

    def fill(axes: Any, rows: Rows) -> None:
        curves(
            axes[0],
            rows,
            (1, "o", WATER, None),
            (3, "--", GREY, "BDP/√n"),
            (4, ":", LIMIT, "Δ·BDP/√n"),
        )
        axes[0].set(yscale="log", ylabel="smallest buffer (packets)")
        curves(axes[1], rows, (5, "o-", WATER, "ours"), (6, ":", LIMIT, "1 - Δ/√n"))
        axes[1].set(ylabel="utilisation, 1st percentile", ylim=(0, 1.03))
        for axis in axes:
            axis.set_xscale("log", base=2)
            axis.legend()

    figure = Figure(
        "Fig. 5",
        "Smallest buffer, and utilisation with 20 packets, over Reno flows",
        Drawing("utb-5", 2, 2.2, fill, "flows"),
        (
            *("flows", "smallest_buffer_packets", "not_enclosed", "bdp_sqrt_n_packets"),
            *("delta_bdp_sqrt_n_packets", "utilisation_p01", "theorem_7"),
        ),
        note=SCALED + " Left: 99 % of the packets find a queue, between two of four buffers, if "
        "they enclose it. Right: of ten round trips. Δ: largest window in flight over the fair one "
        "with a full buffer.",
        keys=1,
    )
    idle, smallest, losing, outside = [], [], [], ""
    for n, many, least in found:
        buffer, why = utb_others.smallest_buffer(
            [*((many, p) for p in many.phases), (least, SMALLEST)]
        )
        delta, bdp = many.estimates("full").get("delta_high"), many.bdp("full")
        bound = delta * bdp / math.sqrt(n) if delta else None
        lowest = float(least.link(SMALLEST)["utilisation_parts"]["p01"])
        theory = max(1 - delta / math.sqrt(n), 0.0) if delta else None
        figure.row(n, buffer, why, bdp / math.sqrt(n), bound, lowest, theory)
        idle.append((n, 1 - lowest))
        if (together := least.row(SMALLEST)["d_mean"]) is not None:
            losing.append(f"{together:.1f} of {n}")
        if buffer is None:
            outside += f"; n = {n}: {why} packets"
        else:
            smallest.append((n, buffer))
            if bound is not None:
                what = f"n = {n}: smallest buffer over Δ·BDP/√n"
                figure.check(what, "an overestimate (Theorem 6)", buffer / bound, 0.0, 1.0)
        # The theorem says nothing at 0.
        if theory:
            figure.check(
                f"n = {n}: utilisation with 20 packets, 1st percentile",
                "at least 1 - Δ/√n (Theorem 7)",
                lowest,
                theory,
                1.01,
                why=runs.disturbance(least.packets(SMALLEST), "reno", least.simulated),
            )
    figure.checks += [
        within(
            "smallest buffer as n to the power of",
            EXPONENT,
            exponent(smallest),
            EXPONENT_OFF,
            "-0.5 (√n rule)",
            why=f"not known{outside}",
        ),
        within(
            "idle share with 20 packets as n to the power of",
            EXPONENT,
            exponent(idle),
            EXPONENT_OFF,
            "-0.5 (1/√n)",
            why=f"not known; {', '.join(losing)} flows lose together",
        ),
    ]
    return figure
