# SPDX-License-Identifier: Apache-2.0
"""The figure of iterated advice: what came of each round, traffic by traffic."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from ..json_types import JsonObject
from .style import DROP, GREY, LIMIT, RC, SECOND, WATER, subplots, to_document

# Key of the measurement, of the target, of what was predicted; label, factor, colour.
QUANTITIES = (
    ("utilisation", "utilisation", "utilisation", "utilisation (%)", 100.0, WATER),
    ("loss_rate", "loss_rate", "loss_rate", "lost (%)", 100.0, DROP),
    ("delay_max_ms", "delay_ms", "delay_ms", "largest delay (ms)", 1.0, SECOND),
)


def draw(traffics: Sequence[JsonObject]) -> str:
    """A row for each traffic: limit, utilisation, loss, delay over the rounds; what was
    predicted as bars, targets dashed; an SVG document."""
    with plt.rc_context(RC):
        rows = len(traffics)
        figure, axes = subplots(rows, 1 + len(QUANTITIES), height_in=1.9 * rows, squeeze=False)
        for row, traffic in enumerate(traffics):
            done = traffic["rounds"]
            x = [r["round"] for r in done]
            first = axes[row][0]
            sizes = [r["limit_bytes"] / 1e3 for r in done]
            first.plot(x, sizes, color=LIMIT, marker=".", linewidth=0.8)
            first.set_ylabel("limit (kB)")
            first.set_title(f"{traffic['name']}: {traffic['verdict']['verdict']}", loc="left")
            for column, quantity in enumerate(QUANTITIES, start=1):
                _quantity(axes[row][column], traffic, x, *quantity)
            for here in axes[row]:
                here.set_xticks(x)
                here.set_xlabel("round")
        return to_document(figure)


def _quantity(
    axes: Axes,
    traffic: JsonObject,
    x: list[int],
    key: str,
    target_key: str,
    predicted_key: str,
    label: str,
    factor: float,
    colour: str,
) -> None:
    done = traffic["rounds"]
    values = [r["measured"][key] * factor for r in done]
    axes.plot(x, values, color=colour, marker=".", linewidth=0.8)
    for r in done:
        expected = (r["predicted"] or {}).get(predicted_key)
        if expected:
            ends = [expected["low"] * factor, expected["high"] * factor]
            axes.plot([r["round"]] * 2, ends, color=GREY, linewidth=3, alpha=0.5)
    target = traffic["targets"].get(target_key)
    if target is not None:
        axes.axhline(target * factor, color=GREY, linestyle="--", linewidth=0.8)
    axes.set_ylabel(label)
