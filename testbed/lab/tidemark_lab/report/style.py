# SPDX-License-Identifier: Apache-2.0
"""Style of the figures, like the verdict's picture: page-wide, or in a column of a page."""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .typeset import typeset

# \textwidth of the papers' template; width of a figure in a column, 85 mm.
WIDTH_IN, COLUMN_IN = 7.141, 85 / 25.4
# Pixels per point of a column's figure on an HTML page.
SCREEN = 2.0

WATER = "#12758a"
LIMIT = "#ad4a0c"
DROP = "#bd1a3a"
SECOND = "#5a43b8"
GREY = "#6b7f88"
# Colours of text and of a paper's values, softer text, and rules.
INK, SOFT, RULE = "#12262c", "#47606a", "#d2dcda"

RC = {
    "font.size": 8,
    "axes.titlesize": 8,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.5,
    "grid.color": RULE,
    "axes.linewidth": 0.6,
    "axes.edgecolor": SOFT,
    "axes.spines.left": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.major.width": 0.6,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
    "lines.markersize": 3.5,
    "lines.linewidth": 1.0,
    "legend.frameon": False,
    "svg.fonttype": "none",
    # Makes equal runs give equal files.
    "svg.hashsalt": "tidemark",
    "path.simplify": True,
}

_FAMILY = re.compile(r"'DejaVu Sans',[^;\"]*sans-serif")
_IDS = re.compile(r'(\bid="|url\(#|xlink:href="#)')


def styled() -> Any:
    """A context in which drawings have this style."""
    return plt.rc_context(RC)


def subplots(
    rows: int = 1, columns: int = 1, height_in: float = 2.2, width_in: float = WIDTH_IN, **more: Any
) -> Any:
    size = (width_in, height_in)
    with plt.rc_context(RC):
        return plt.subplots(rows, columns, figsize=size, layout="constrained", **more)


def to_document(figure: Figure) -> str:
    text = io.StringIO()
    with plt.rc_context(RC):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return typeset(_FAMILY.sub("'IBM Plex Sans', Helvetica, Arial, sans-serif", text.getvalue()))


def to_svg(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element that can share a page with others: its ids contain `name`,
    its size follows the page (a column's figure up to `SCREEN`)."""
    scale = SCREEN if figure.get_figwidth() < WIDTH_IN else 1.0
    width, height = (round(72 * scale * inches) for inches in figure.get_size_inches())
    most = f' width="{width}" height="{height}" style="max-width: {width}px"' if scale > 1 else ""
    content = to_document(figure).partition("<svg")[2].partition(">")[2].rpartition("</svg>")[0]
    content = _IDS.sub(lambda m: f"{m.group(1)}{name}-", content)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-caption"{most}>'
        f'<g transform="scale({scale:g})">{content}</g></svg>\n'
    )
