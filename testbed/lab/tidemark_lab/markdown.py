# SPDX-License-Identifier: Apache-2.0
"""Tables in Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Its lines."""
    return [_line(r) for r in (head, ["---"] * len(head), *rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def bounds(targets: dict[str, float]) -> str:
    """Targets in words."""
    out = [f"utilisation from {targets['utilisation']:.0%}"]
    if targets.get("loss_rate") is not None:
        out.append(f"loss up to {targets['loss_rate']:.1%}")
    if targets.get("delay_ms") is not None:
        out.append(f"delay up to {targets['delay_ms']:g} ms")
    return ", ".join(out)
