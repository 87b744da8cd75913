# SPDX-License-Identifier: Apache-2.0
"""The results as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ..json_types import JsonObject

OURS = "auto"


def total_outside_s(entry: JsonObject) -> int:
    """Over all steps."""
    return sum(int(s["outside_s"]) for s in entry["steps"])


def total_changes(entry: JsonObject) -> int:
    """Over all steps."""
    return sum(int(s["changes"]) for s in entry["steps"])


def ranked(entries: Sequence[JsonObject]) -> list[JsonObject]:
    """By seconds outside the bounds, then by changes."""
    return sorted(entries, key=lambda e: (total_outside_s(e), total_changes(e)))


def markdown(contest: JsonObject) -> str:
    """A row for each controller, the best first; where Tidemark is not, it is said."""
    flows = contest["flows"]
    targets = contest["targets"]
    head = ["controller", *(f"N_b {n}: s outside, changes" for n in flows), "outside", "changes"]
    entries = ranked(contest["controllers"])
    lines = [
        f"Bounds: utilisation {targets['utilisation']:.0%}, loss {targets['loss_rate']:.1%}, delay "
        f"{targets['delay_ms']:g} ms. Steps of {contest['seconds']:g} s.",
        "",
        _row(head),
        _row(["---"] * len(head)),
    ]
    for e in entries:
        cells = [f"{s['outside_s']} of {s['seconds']}, {s['changes']}" for s in e["steps"]]
        stolen = " (CPU stolen)" if e["cpu_was_stolen"] else ""
        total = sum(s["seconds"] for s in e["steps"])
        sums = [f"{total_outside_s(e)} of {total} s", str(total_changes(e))]
        lines.append(_row([f"{e['name']}: {e['about']}{stolen}", *cells, *sums]))
    names = [e["name"] for e in entries]
    if OURS in names and names.index(OURS) > 0:
        place = names.index(OURS)
        lines += [
            "",
            f"Tidemark's auto mode came {place + 1} of {len(names)}; "
            f"{', '.join(names[:place])} did better.",
        ]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
