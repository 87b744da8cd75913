# SPDX-License-Identifier: Apache-2.0
"""The controller's verdict on a buffer: the parts kept, and its sentence. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from .formats import MISSING, kilobytes, percent, show
from .json_types import JsonObject

FINE, CANNOT_SAY = "fine", "cannot_say"
SIZES = ("in_force_bytes", "low_bytes", "set_bytes", "high_bytes")


def kept(verdict: JsonObject) -> JsonObject:
    """Returns the verdict without its curve and derivation."""
    return {key: verdict[key] for key in ("answer", *SIZES, "chance", "because")}


def untrusted(doubts: Sequence[str]) -> JsonObject:
    """Returns the substitute for a verdict if the measurement itself is in doubt."""
    because = "this run cannot be trusted: " + "; ".join(doubts)
    return {
        **dict.fromkeys((*SIZES, "chance")),
        "answer": CANNOT_SAY,
        "because": because,
    }


def words(verdict: JsonObject) -> str:
    """Returns the answer in words."""
    return str(verdict["answer"]).replace("_", " ")


def sentence(verdict: JsonObject | None) -> str:
    """Returns a sentence like `buffer too big: 312.5 kB in force, 156.0 kB to 269.0 kB serve; set
    224.0 kB (95 %); because`."""
    if verdict is None:
        return f"buffer: {MISSING}"
    if verdict["answer"] == CANNOT_SAY:
        return f"cannot say: {verdict['because']}"
    in_force, low, advised, high = (show(verdict[key], kilobytes) for key in SIZES)
    chance = show(verdict["chance"], percent(0))
    return (
        f"buffer {words(verdict)}: {in_force} in force, {low} to {high} serve; "
        f"set {advised} ({chance}); {verdict['because']}"
    )
