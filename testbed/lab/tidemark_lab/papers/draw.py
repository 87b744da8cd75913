# SPDX-License-Identifier: Apache-2.0
"""Axes and SVG of the papers' figures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..report.style import COLUMN_IN, GREY, styled, subplots, to_svg
from . import legend

Rows = list[Sequence[object]]
# A column's number, line style, colour, and label.
Line = tuple[int, str, str, str | None]
# Transparency and line width of a single repetition behind the mean.
PALE, PALE_WIDTH = 0.25, 0.5
# Height of a row relative to a one-row figure; inches below an axis; letters per inch, and per line
# of a name at an axis.
ROW, BELOW_IN, LETTERS, NAME = 0.75, 0.5, 17, 26
# A figure is too narrow to show more.
MOST_BINS = 300


@dataclass(frozen=True)
class Drawing:
    """Axes in the width of half a page: two below each other, more in rows of two; `fill` draws
    rows into them. The legend says which is the paper's and which is ours. SVG ids begin with the
    name, so that several can share a page."""

    name: str
    columns: int
    height_in: float
    fill: Callable[[Any, Rows], None]
    # Labels of every column of axes, and of every row.
    x: str = ""
    y: str = ""

    @classmethod
    def of_curves(
        cls, name: str, x: str, y: str, *lines: Line, level: float | None = None, **more: Any
    ) -> Drawing:
        """Plots columns over the first one. `level`: of a dashed line; `more`: for the axis."""

        def fill(axes: Any, rows: Rows) -> None:
            curves(axes[0], rows, *lines)
            if level is not None:
                axes[0].axhline(level, color=GREY, linestyle="--", linewidth=0.8)
            axes[0].set(**more)

        return cls(name, 1, 2.2, fill, x, y)

    def svg(self, rows: Rows, repeated: Sequence[Rows] = ()) -> str:
        """Draws the rows; `repeated`: their repetitions, drawn pale behind the mean."""
        across = 1 if self.columns < 3 else 2
        down = -(-self.columns // across)
        row_in = self.height_in * (ROW if down > 1 else 1)
        with styled():
            figure, grid = subplots(down, across, down * row_in, COLUMN_IN, squeeze=False)
            for unused in grid.flat[self.columns :]:
                unused.set_axis_off()
            axes = grid.flat[: self.columns]
            for one in repeated:
                self.fill(axes, one)
            pale = [a for axis in axes for a in (*axis.lines, *axis.collections, *axis.patches)]
            for artist in pale:
                artist.set_alpha(PALE)
                artist.set_linewidth(PALE_WIDTH)
                artist.set_label("_" + str(artist.get_label()))
                if hasattr(artist, "set_marker"):
                    artist.set_marker("")
            self.fill(axes, rows)
            for number, axis in enumerate(axes):
                if self.x and number + across >= self.columns:
                    axis.set_xlabel("time (s)" if self.x == "s" else self.x)
                label = axis.get_ylabel() or ("" if number % across else self.y)
                axis.set_ylabel(textwrap.fill(label, int(LETTERS * (row_in - BELOW_IN))))
                _set_ticks(axis)
            legend.put(figure, axes, pale)
            return to_svg(figure, self.name)


def _set_ticks(axis: Any) -> None:
    """Shows powers of two as numbers, and wraps long names."""
    if axis.get_xscale() == "log" and axis.xaxis.get_transform().base == 2:
        axis.xaxis.set_major_formatter("{x:g}")
    names = [t.get_text() for t in axis.get_yticklabels()]
    if max(map(len, names), default=0) > NAME:
        axis.set_yticks(axis.get_yticks(), [textwrap.fill(name, NAME) for name in names])


@dataclass(frozen=True)
class Bins:
    """Smallest and largest value in equal intervals of time that have values."""

    time_s: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, rows: Rows, first: int) -> Bins:
        """Reads them from three columns made by `rows`, starting at `first`."""
        return cls(*(np.array(column(rows, first + k)) for k in range(3)))

    def rows(self, *key: object, digits: int = 5) -> Rows:
        """Returns rows of key, time, smallest and largest value."""
        return [
            (*key, round(float(t), digits), round(float(low), 2), round(float(high), 2))
            for t, low, high in zip(self.time_s, self.low, self.high, strict=True)
        ]


def bins(time_s: np.ndarray, values: np.ndarray, end_s: float, most: int = MOST_BINS) -> Bins:
    """Bins values sorted by time, from 0 to `end_s`; ignores NaN."""
    known = np.isfinite(values) & (time_s >= 0) & (time_s < end_s)
    part = (time_s[known] / end_s * most).astype(int)
    seen, first = np.unique(part, return_index=True)
    if not seen.size:
        return Bins(*(np.array([]) for _ in range(3)))
    return Bins(
        (seen + 0.5) * end_s / most,
        np.minimum.reduceat(values[known], first),
        np.maximum.reduceat(values[known], first),
    )


def band(axis: Any, found: Bins, colour: str, label: str = "") -> None:
    """Fills from the smallest to the largest value, never thinner than a line."""
    axis.fill_between(
        found.time_s, found.low, found.high, color=colour, linewidth=0.6, label=label or None
    )


def column(rows: Sequence[Sequence[object]], number: int) -> list[Any]:
    return [r[number] for r in rows]


def curves(axis: Any, rows: Rows, *lines: Line, x: int = 0) -> None:
    """Plots columns over column `x`."""
    for number, style, colour, label in lines:
        axis.plot(*pairs(rows, x, number), style, color=colour, label=label)


def pairs(rows: Sequence[Sequence[object]], x: int, y: int) -> tuple[list[Any], list[Any]]:
    """Two columns, from the rows that have a value in the second."""
    there = [r for r in rows if r[y] is not None]
    return column(there, x), column(there, y)
