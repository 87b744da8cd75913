# SPDX-License-Identifier: Apache-2.0
"""The figure of iterated advice: the result of each round, experiment by experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..json_types import JsonObject
from . import grid
from .style import GREY, LIMIT

QUANTITIES = (grid.UTILISATION, grid.LOSS, grid.LARGEST_DELAY)


def draw(traffics: Sequence[JsonObject]) -> str:
    """One row per experiment: limit, utilisation, loss, delay over the rounds; predictions as bars,
    targets dashed. Returns an SVG document."""
    return grid.draw(traffics, 1 + len(QUANTITIES), _row)


def _row(axes: Any, traffic: JsonObject) -> None:
    done = traffic["rounds"]
    x = [r["round"] for r in done]
    first, *others = axes
    sizes = [r["limit_bytes"] / 1e3 for r in done]
    first.plot(x, sizes, color=LIMIT, marker=".", linewidth=0.8)
    first.set_ylabel("limit (kB)")
    first.set_title(f"{traffic['name']}: {traffic['verdict']['verdict']}", loc="left")
    measured = [r["measured"] for r in done]
    for here, quantity in zip(others, QUANTITIES, strict=True):
        _, name, _, factor, _ = quantity
        grid.quantity(here, x, measured, quantity, traffic["targets"])
        for r in done:
            if expected := (r["predicted"] or {}).get(name):
                ends = [expected["low"] * factor, expected["high"] * factor]
                here.plot([r["round"]] * 2, ends, color=GREY, linewidth=3, alpha=0.5)
    for here in axes:
        here.set_xticks(x)
        here.set_xlabel("round")
