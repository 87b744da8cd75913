# SPDX-License-Identifier: Apache-2.0
"""Figures of several experiments: one row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from ..json_types import JsonObject
from .style import DROP, GREY, RC, SECOND, WATER, subplots, to_document

# Key of the measurement and of the target, label, factor, colour.
UTILISATION = ("utilisation", "utilisation", "utilisation (%)", 100.0, WATER)
LOSS = ("loss_rate", "loss_rate", "lost (%)", 100.0, DROP)
MARKED = ("marked_rate", "marked_rate", "marked (%)", 100.0, GREY)
LARGEST_DELAY = ("delay_max_ms", "delay_ms", "largest delay (ms)", 1.0, SECOND)

Quantity = tuple[str, str, str, float, str]


def draw(
    traffics: Sequence[JsonObject], columns: int, row: Callable[[Any, JsonObject], None]
) -> str:
    """Returns an SVG document; `row` draws one experiment on its axes."""
    with plt.rc_context(RC):
        rows = len(traffics)
        figure, axes = subplots(rows, columns, height_in=1.9 * rows, squeeze=False)
        for here, traffic in zip(axes, traffics, strict=True):
            row(here, traffic)
        return to_document(figure)


def quantity(
    axes: Axes, x: Sequence[float], found: Sequence[JsonObject], of: Quantity, targets: JsonObject
) -> None:
    """Plots a quantity over x, with its target dashed."""
    key, target, label, factor, colour = of
    axes.plot(x, [f[key] * factor for f in found], color=colour, marker=".", linewidth=0.8)
    if targets.get(target) is not None:
        axes.axhline(targets[target] * factor, color=GREY, linestyle="--", linewidth=0.8)
    axes.set_ylabel(label)
