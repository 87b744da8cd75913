# SPDX-License-Identifier: Apache-2.0
"""Legends of the papers' figures: the paper in ink, with squares that are hollow if no line joins
them; ours in colour, with dots."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..report.style import COLUMN_IN, GREY, INK, WATER

PAPER, OURS = "paper", "ours"
# Name in the figures for values published by a paper's authors.
AUTHORS = "authors' table"
# Points per entry's line, and per letter; inches per row of entries, and to their left.
LINE_PT, LETTER_PT, ROW_IN, LEFT_IN = 30, 4.5, 0.16, 0.5
ABOVE = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}


def put(figure: Any, axes: Sequence[Any], pale: Collection[Any]) -> None:
    """Adds one legend for all axes, or one above each if they differ, and grows the figure to fit.
    `pale`: lines without an entry."""
    found = [_entries(axis, [a for a in axis.lines if a not in pale]) for axis in axes]
    whole = max(found, key=len)
    one = all(entries.keys() <= whole.keys() for entries in found)
    places: list[Any] = [figure] if one else list(axes)
    for axis in axes:
        if axis.get_legend():
            axis.get_legend().remove()
    for place, entries in zip(places, [whole] if one else found, strict=True):
        if entries:
            widest_pt = LINE_PT + LETTER_PT * max(map(len, entries))
            columns = max(1, int(72 * (COLUMN_IN - LEFT_IN) / widest_pt))
            more: dict[str, Any] = {"loc": "outside upper left"} if one else ABOVE
            place.legend(entries.values(), entries, ncols=columns, columnspacing=1.0, **more)
            figure.set_figheight(figure.get_figheight() + ROW_IN * -(-len(entries) // columns))


def _entries(axis: Any, lines: Sequence[Any]) -> dict[str, Any]:
    """Returns handles by label, ours before the paper's."""
    data = [line for line in lines if line.get_transform() == axis.transData]
    papers = [line for line in data if _of_paper(line)]
    handles, labels = axis.get_legend_handles_labels()
    if not papers and PAPER not in labels:
        return dict(zip(labels, handles, strict=True))
    found: dict[str, Any] = {}
    for label, handle in zip(labels, handles, strict=True):
        of = PAPER if handle in papers else OURS
        told = label.replace(AUTHORS, PAPER)
        found[told if told.startswith((PAPER, OURS)) else f"{of}, {told}"] = handle
    for line in papers:
        # Theory drawn in the colour of its values keeps its colour.
        if line in handles or line.get_color() == GREY:
            line.set_color(INK)
        line.set_marker({"o": "s"}.get(line.get_marker(), line.get_marker()))
        if line.get_linestyle() == "None":
            line.set_fillstyle("none")
    for name, colour in ((PAPER, INK), (OURS, WATER)):
        for patch in getattr(found.get(name), "patches", ()):
            patch.set_color(colour)
        own = [line for line in data if (line in papers) == (name == PAPER)]
        if own and not any(label.startswith(name) for label in found):
            found[name] = type(own[0])([], [])
            found[name].update_from(own[0])
            found[name].set_color(colour)
    return dict(sorted(found.items(), key=lambda entry: entry[0].startswith(PAPER)))


def _of_paper(line: Any) -> bool:
    """Squares are a paper's values; dashes without dots, and grey lines, are its theory."""
    dashed = line.get_linestyle() not in ("-", "None") and not line.get_label().startswith(OURS)
    bare = line.get_marker() in ("", "None") or line.get_color() == GREY
    return line.get_marker() == "s" or (dashed and bare)
