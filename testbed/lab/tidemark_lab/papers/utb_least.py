# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing, Fig. 5: the smallest buffer, and utilisation with 20
packets, over n."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..report.style import GREY, LIMIT, WATER
from . import runs
from .bscl import crossing
from .draw import Drawing, Rows, pairs
from .paper import Check, Figure, within
from .runs import RunData
from .study import Study
from .utb import SCALED
from .utb_fairness import COUNT

# §5.1: 99 % of the packets find a queue.
NOT_EMPTY = 0.99
SMALLEST = "b20"
# "Follows a square-root of n rule", "increases at a rate of 1/√n": the exponent.
EXPONENT, EXPONENT_OFF = -0.5, 0.25


def figures(study: Study) -> list[Figure]:
    """Those whose runs are there."""
    many = {int(r.setting(COUNT)): r for r in study.find("utb-many")}
    least = {int(r.setting(COUNT)): r for r in study.find("utb-least")}
    both = sorted(set(many) & set(least))
    return [smallest_buffers([(n, many[n], least[n]) for n in both])] if len(both) > 1 else []


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Of y over x, by least squares of the logarithms; None with fewer than two points."""
    known = [(math.log(x), math.log(y)) for x, y in points if y > 0]
    if len(known) < 2:
        return None
    x, y = zip(*known, strict=True)
    return float(np.polyfit(x, y, 1)[0])


def _with_queue(run: RunData, phase: str) -> tuple[float, float]:
    """The buffer in packets, and the share of packets that found a queue."""
    limit = float(run.row(phase)["limit_bytes"]) / runs.FRAME_BYTES
    return limit, float(np.mean(run.packets(phase).queue > 0))


def smallest_buffers(found: Sequence[tuple[int, RunData, RunData]]) -> Figure:
    """`found`: n, its run of three buffers, its run of 20 packets."""
    rows: list[tuple[object, ...]] = []
    checks = []
    idle, smallest, losing = [], [], []
    for n, many, least in found:
        points = sorted(
            [*(_with_queue(many, p) for p in many.phases), _with_queue(least, SMALLEST)]
        )
        buffer, why = crossing(points, lambda share: share >= NOT_EMPTY, NOT_EMPTY)
        delta = many.link("full")["estimates"].get("delta_high")
        bdp = float(many.row("full")["bdp_bytes"]) / runs.FRAME_BYTES
        bound = delta * bdp / math.sqrt(n) if delta else None
        lowest = float(least.link(SMALLEST)["utilisation_parts"]["p01"])
        theory = max(1 - delta / math.sqrt(n), 0.0) if delta else None
        rows.append((n, buffer, why, bdp / math.sqrt(n), bound, lowest, theory))
        idle.append((n, 1 - lowest))
        if (together := least.row(SMALLEST)["d_mean"]) is not None:
            losing.append(f"{together:.1f} of {n}")
        if buffer is not None:
            smallest.append((n, buffer))
            if bound is not None:
                checks.append(
                    Check(
                        f"n = {n}: smallest buffer over Δ·BDP/√n",
                        "an overestimate (Theorem 6)",
                        buffer / bound,
                        0.0,
                        1.0,
                    )
                )
        # At 0 the theorem says nothing.
        if theory:
            checks.append(
                Check(
                    f"n = {n}: utilisation with 20 packets, 1st percentile",
                    "at least 1 - Δ/√n (Theorem 7)",
                    lowest,
                    theory,
                    1.01,
                    why=runs.disturbance(least.packets(SMALLEST), "reno", least.simulated),
                )
            )
    outside = "; ".join(f"n = {r[0]}: {r[2]} packets" for r in rows if r[2])
    checks += [
        within(
            "smallest buffer as n to the power of",
            EXPONENT,
            exponent(smallest),
            EXPONENT_OFF,
            "-0.5 (√n rule)",
            why=f"flows lose together, as in Fig. 4{'; ' + outside if outside else ''}",
        ),
        within(
            "idle share with 20 packets as n to the power of",
            EXPONENT,
            exponent(idle),
            EXPONENT_OFF,
            "-0.5 (1/√n)",
            why="the theorem leaves the buffer out: the 20 packets, 12 % of a BDP, cover as much "
            f"of a dip that becomes smaller with n ({', '.join(losing)} flows lose together)",
        ),
    ]

    def fill(axes: Any, rows: Rows) -> None:
        axes[0].plot(*pairs(rows, 0, 1), "o", color=WATER)
        axes[0].plot(*pairs(rows, 0, 3), "--", color=GREY, label="BDP/√n")
        axes[0].plot(*pairs(rows, 0, 4), ":", color=LIMIT, label="Δ·BDP/√n")
        axes[0].set_yscale("log")
        axes[0].set_ylabel("smallest buffer (packets)")
        axes[1].plot(*pairs(rows, 0, 5), "o-", color=WATER, label="ours")
        axes[1].plot(*pairs(rows, 0, 6), ":", color=LIMIT, label="1 - Δ/√n")
        axes[1].set_ylabel("utilisation, 1st percentile")
        axes[1].set_ylim(0, 1.03)
        for axis in axes:
            axis.set_xscale("log", base=2)
            axis.legend()

    return Figure(
        "Fig. 5",
        "Smallest buffer, and utilisation with 20 packets, over Reno flows",
        Drawing("utb-5", 2, 2.2, fill, "flows"),
        (
            *("flows", "smallest_buffer_packets", "not_enclosed", "bdp_sqrt_n_packets"),
            *("delta_bdp_sqrt_n_packets", "utilisation_p01", "theorem_7"),
        ),
        list(rows),
        checks,
        SCALED + " Left: where 99 % of the packets find a queue, between two of four buffers; "
        "where none enclose it, nothing is held against the theory. Right: of ten round trips "
        "each. Δ is the largest window in flight over the fair one with a full buffer.",
        keys=1,
    )
