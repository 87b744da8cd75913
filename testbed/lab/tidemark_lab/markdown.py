# SPDX-License-Identifier: Apache-2.0
"""Tables as text: as Markdown, or aligned for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(r) for r in (head, ["---"] * len(head), *rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def aligned(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns a table's lines, with columns as wide as their cells."""
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(c.ljust(width) for c, width in zip(cells, widths, strict=True)).rstrip()
        for cells in lines
    ]


def bounds(targets: dict[str, float]) -> str:
    out = [f"utilisation from {targets['utilisation']:.0%}"]
    if targets.get("loss_rate") is not None:
        out.append(f"loss up to {targets['loss_rate']:.1%}")
    if targets.get("delay_ms") is not None:
        out.append(f"delay up to {targets['delay_ms']:g} ms")
    return ", ".join(out)
