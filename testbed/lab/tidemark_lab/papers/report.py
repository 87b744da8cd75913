# SPDX-License-Identifier: Apache-2.0
"""`report.html`: figures, their data, and any checks against a paper."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from textwrap import fill

from ..errors import LabError
from ..markdown import table
from ..report import page
from .paper import Check, Figure
from .values import differences

HEAD = ("what", "paper", "ours", "tolerance", "verdict", "why")
VALUES = "values.csv"


def write(out: Path, title: str, about: str, figures: Sequence[Figure]) -> Path:
    """Writes the page, and for each figure its SVG and its data as CSV."""
    out.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        (out / f"{figure.file}.svg").write_text(figure.svg)
        _write_csv(out / f"{figure.file}.csv", figure.columns, figure.rows)
    path = out / "report.html"
    path.write_text(render(title, about, figures))
    if any(f.checks for f in figures):
        (out / "checks.md").write_text(markdown(figures))
    return path


def _write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


# Limit for figures in the repository: a drawing of single packets is larger.
MOST_SVG_BYTES = 80_000
WIDTH = 120


def write_docs(
    folder: Path,
    name: str,
    title: str,
    about: str,
    figures: Sequence[Figure],
    lists: bool = True,
) -> Path:
    """Writes the committed page: every figure, and a separate file with all values; `lists`: the
    page itself also has the values that disagree, with reasons. Draws a figure that is too large
    without its repetitions. Raises LabError, before writing anything, if it is still too large."""
    figures = [_committed(figure) for figure in figures]
    images = folder / name
    images.mkdir(parents=True, exist_ok=True)
    # Figures that are no longer made must not leave a picture.
    for old in images.glob("*.svg"):
        old.unlink()
    _write_csv(images / VALUES, ("figure", *HEAD), values(figures))
    reasons = "" if lists else ", with reasons where they disagree"
    about += f" [All values{reasons}]({name}/{VALUES})."
    lines = [f"# {title}", "", filled(about), ""]
    before = ""
    for figure in figures:
        note = _unstated(figure.note, before)
        before = figure.note
        lines += [f"## {figure.name}: {figure.title}", ""]
        lines += [filled(note), ""] if note else []
        (images / f"{figure.file}.svg").write_text(figure.svg)
        lines += [f"![{figure.name}]({name}/{figure.file}.svg)", ""]
        if figure.checks:
            lines += [summary(figure.checks, "agree"), ""]
            if lists and (items := [filled(i, "  ") for i in differences(figure.checks)]):
                lines += [*items, ""]
    path = folder / f"{name}.md"
    path.write_text("\n".join(lines[:-1]) + "\n")
    return path


def _unstated(note: str, before: str) -> str:
    """Returns a note without its setting, the first sentence, and its repetitions, the last, if
    the note before states the same."""
    kept, stated = note.split(". "), before.split(". ")
    if kept[-1] == stated[-1] and "repetitions: " in kept[-1]:
        del kept[-1]
    if kept and kept[0] == stated[0]:
        del kept[0]
    text = ". ".join(kept)
    return f"{text}." if text and not text.endswith(".") else text


def filled(text: str, indent: str = "") -> str:
    """Wraps text to the page's width; `indent`: of all lines but the first."""
    return fill(text, WIDTH, break_on_hyphens=False, subsequent_indent=indent)


def _committed(figure: Figure) -> Figure:
    """Returns a figure that is small enough to be committed."""
    if len(figure.svg.encode()) <= MOST_SVG_BYTES:
        return figure
    note = f"{figure.note} The mean alone is drawn here."
    alone = replace(figure, repeated=[], note=note) if figure.repeated else figure
    if (size := len(alone.svg.encode())) > MOST_SVG_BYTES:
        raise LabError(
            f"{figure.name}: its SVG has {size} bytes, at most {MOST_SVG_BYTES} are committed: "
            "draw fewer points"
        )
    return alone


def render(title: str, about: str, figures: Sequence[Figure]) -> str:
    checks = [c for f in figures for c in f.checks]
    parts = [f"<p>{escape(summary(checks))}</p>"] if checks else []
    return page.page(title, about, [*parts, *(p for f in figures for p in section(f))])


def section(figure: Figure, data: bool = True) -> list[str]:
    """Returns a figure and its comparison with a paper, as HTML. `data`: its CSV is next to it."""
    caption = escape(figure.note)
    caption += f' <a href="{figure.file}.csv">Data</a>.' if data else ""
    return [
        f"<h2>{escape(figure.name)}: {escape(figure.title)}</h2>",
        page.figure(figure.svg, figure.file, caption),
        page.table(HEAD, [c.row() for c in figure.checks]) if figure.checks else "",
    ]


WITHIN = "measured values agree within tolerances fixed beforehand"


def summary(checks: Sequence[Check], agree: str = WITHIN) -> str:
    measured = [c for c in checks if not c.computed]
    blank = sum(c.agrees is None for c in measured)
    text = f"{sum(c.agrees is True for c in measured)} of {len(measured)} {agree}"
    if blank:
        text += f"; {blank} could not be measured"
    if computed := len(checks) - len(measured):
        text += f"; {computed} follow from the settings and count for nothing"
    return f"{text}."


def values(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    return [(figure.name, *c.row()) for figure in figures for c in figure.checks]


def markdown(figures: Sequence[Figure]) -> str:
    lines = table(("figure", *HEAD), values(figures))
    return "\n".join([*lines, "", summary([c for f in figures for c in f.checks])]) + "\n"
