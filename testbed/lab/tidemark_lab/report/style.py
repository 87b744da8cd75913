# SPDX-License-Identifier: Apache-2.0
"""Look of the figures: that of the papers (two-column width, 8 pt, dashed grid)."""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

# \textwidth of the papers' template.
WIDTH_IN = 7.141

WATER = "#12758a"
LIMIT = "#ad4a0c"
DROP = "#bd1a3a"
SECOND = "#5a43b8"
GREY = "#6b7f88"

RC = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "font.family": "sans-serif",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linestyle": "--",
    "grid.linewidth": 0.5,
    "grid.color": "#c6cfce",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.0,
    "legend.frameon": False,
    "svg.fonttype": "none",
    # Equal runs give equal files.
    "svg.hashsalt": "tidemark",
    "path.simplify": True,
}

_IDS = re.compile(r'(\bid="|url\(#|xlink:href="#)')
_SIZE = re.compile(r'<svg[^>]*?(viewBox="[^"]*")[^>]*>', re.DOTALL)


def styled() -> Any:
    """A context in which what is drawn has this look: titles, legends."""
    return plt.rc_context(RC)


def subplots(rows: int = 1, columns: int = 1, height_in: float = 2.2, **more: Any) -> Any:
    with plt.rc_context(RC):
        return plt.subplots(
            rows, columns, figsize=(WIDTH_IN, height_in), layout="constrained", **more
        )


def to_document(figure: Figure) -> str:
    text = io.StringIO()
    with plt.rc_context(RC):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return text.getvalue()


def to_svg(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element that can stand in a page with others:
    its ids carry `name`, its size follows the page."""
    svg = to_document(figure)
    svg = svg[svg.index("<svg") :]
    svg = _IDS.sub(lambda m: f"{m.group(1)}{name}-", svg)
    return _SIZE.sub(
        lambda m: (
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'{m.group(1)} role="img" aria-labelledby="{name}-caption">'
        ),
        svg,
        count=1,
    )
