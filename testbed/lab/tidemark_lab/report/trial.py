# SPDX-License-Identifier: Apache-2.0
"""The figure of trials: the outcome of each limit, experiment by experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..json_types import JsonObject
from . import grid
from .style import LIMIT

QUANTITIES = (grid.UTILISATION, grid.LOSS, grid.MARKED, grid.LARGEST_DELAY)


def draw(traffics: Sequence[JsonObject]) -> str:
    """One row per experiment, one column per quantity over the limit, targets dashed, Tidemark's
    advice ringed, queue management as a cross at the largest queue that it allowed. Returns an SVG
    document. Refused limits have no outcome to draw."""
    return grid.draw(traffics, len(QUANTITIES), _row)


def _row(axes: Any, traffic: JsonObject) -> None:
    tried = [t for t in traffic["trials"] if not t.get("refused")]
    managed = [t for t in tried if t["limit_bytes"] is None]
    limited = [t for t in tried if t["limit_bytes"] is not None]
    trials = sorted(limited, key=lambda t: t["limit_bytes"])
    sizes = [t["limit_bytes"] / 1e3 for t in trials]
    axes[0].set_title(traffic["name"], loc="left")
    for here, quantity in zip(axes, QUANTITIES, strict=True):
        key, _, _, factor, _ = quantity
        grid.quantity(here, sizes, trials, quantity, traffic["targets"])
        for t, size in zip(trials, sizes, strict=True):
            if "advice" in t["rules"]:
                here.plot(size, t[key] * factor, color=LIMIT, marker="o", fillstyle="none")
        for t in managed:
            at = t["occupancy_max_bytes"] / 1e3, t[key] * factor
            here.plot(*at, color=LIMIT, marker="x")
            name, offset = t["aqm"].partition(":")[0], {"textcoords": "offset points"}
            here.annotate(name, at, (3, 3), fontsize="x-small", **offset)
        here.set_xscale("log")
        here.set_xlabel("limit (kB)")
