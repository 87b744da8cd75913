# SPDX-License-Identifier: Apache-2.0
"""The figure of trials: what each limit gave, traffic by traffic."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt

from ..json_types import JsonObject
from .style import DROP, GREY, LIMIT, RC, SECOND, WATER, subplots, to_document

QUANTITIES = (
    ("utilisation", "utilisation (%)", 100.0, WATER),
    ("loss_rate", "lost (%)", 100.0, DROP),
    ("marked_rate", "marked (%)", 100.0, GREY),
    ("delay_max_ms", "largest delay (ms)", 1.0, SECOND),
)


def draw(traffics: Sequence[JsonObject]) -> str:
    """A row for each traffic, a column for each quantity over the limit, targets dashed,
    Tidemark's advice ringed; an SVG document. What was refused has no outcome to draw."""
    with plt.rc_context(RC):
        rows, columns = len(traffics), len(QUANTITIES)
        figure, axes = subplots(rows, columns, height_in=1.9 * rows, squeeze=False)
        for row, traffic in enumerate(traffics):
            tried = [t for t in traffic["trials"] if not t.get("refused")]
            trials = sorted(tried, key=lambda t: t["limit_bytes"])
            sizes = [t["limit_bytes"] / 1e3 for t in trials]
            for column, (key, label, factor, colour) in enumerate(QUANTITIES):
                here = axes[row][column]
                values = [t[key] * factor for t in trials]
                here.plot(sizes, values, color=colour, marker=".", linewidth=0.8)
                for t, size, value in zip(trials, sizes, values, strict=True):
                    if "advice" in t["rules"]:
                        here.plot(size, value, color=LIMIT, marker="o", fillstyle="none")
                target = traffic["targets"].get(key.replace("_max", ""))
                if target is not None:
                    here.axhline(target * factor, color=GREY, linestyle="--", linewidth=0.8)
                here.set_xscale("log")
                here.set_ylabel(label)
                here.set_xlabel("limit (kB)")
                if column == 0:
                    here.set_title(traffic["name"], loc="left")
        return to_document(figure)
