# SPDX-License-Identifier: Apache-2.0
"""The figure of controllers on trial: limits over time, and seconds outside the bounds."""

from __future__ import annotations

import io

import matplotlib.pyplot as plt

from ..contest.table import OURS, ranked
from ..json_types import JsonObject
from .style import DROP, GREY, LIMIT, RC, SECOND, WATER, subplots

STEP_COLOURS = (WATER, SECOND, DROP)


def draw(contest: JsonObject) -> str:
    """A row for each controller, the best first: its limit over time, and for each step of
    N_b the seconds outside the bounds; an SVG document."""
    entries = ranked(contest["controllers"])
    with plt.rc_context(RC):
        figure, axes = subplots(len(entries), 2, height_in=1.5 * len(entries), squeeze=False)
        for (limit, outside), entry in zip(axes, entries, strict=True):
            colour = LIMIT if entry["name"] == OURS else GREY
            sizes = [b / 1e3 for b in entry["limit"]["bytes"]]
            limit.step(entry["limit"]["time_s"], sizes, where="post", color=colour)
            for k in range(1, len(contest["flows"])):
                limit.axvline(k * contest["seconds"], color=GREY, linestyle=":", linewidth=0.8)
            limit.set_yscale("log")
            limit.set_ylabel("limit (kB)")
            limit.set_title(entry["name"], loc="left")
            names = [f"{s['n_b']}" for s in entry["steps"]]
            places = range(len(names))
            heights = [s["outside_s"] for s in entry["steps"]]
            outside.bar(places, heights, color=[STEP_COLOURS[k % 3] for k in places])
            outside.set_xticks(list(places), names)
            outside.set_ylim(0, contest["seconds"])
            outside.set_ylabel("s outside")
        axes[-1][0].set_xlabel("s")
        axes[-1][1].set_xlabel(r"$N_b$")
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return text.getvalue()
