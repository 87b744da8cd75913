# SPDX-License-Identifier: Apache-2.0
"""Ranks limits and queue management. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..json_types import JsonObject


def shortfall(trial: JsonObject, targets: JsonObject) -> float:
    """Distance of a trial from the targets; 0 if it meets all.

    The largest of: idle time beyond the allowed, loss and largest delay beyond theirs, each as a
    fraction of the allowed value.
    """
    idle = 1 - trial["utilisation"]
    allowed_idle = 1 - targets["utilisation"]
    parts = [(idle - allowed_idle) / max(allowed_idle, 1e-3)]
    for key, value in (("loss_rate", trial["loss_rate"]), ("delay_ms", trial["delay_max_ms"])):
        if targets.get(key) is not None:
            parts.append((value - targets[key]) / targets[key])
    return max(0.0, *parts)


def buffer_bytes(trial: JsonObject) -> float:
    """Buffer size: the limit, or the largest queue that an algorithm allowed."""
    limit_bytes = trial["limit_bytes"]
    return float(trial["occupancy_max_bytes"] if limit_bytes is None else limit_bytes)


def ranked(trials: Sequence[JsonObject], targets: JsonObject) -> list[JsonObject]:
    """Ranks trials that meet the targets by buffer size, and then the others by `shortfall`. Each
    gets `rank` and `shortfall`; refused ones come last and have neither."""
    tried = [t for t in trials if not t.get("refused")]
    judged = [{**t, "shortfall": shortfall(t, targets)} for t in tried]
    judged.sort(key=lambda t: (t["shortfall"], buffer_bytes(t)))
    refused = [{**t, "rank": None, "shortfall": None} for t in trials if t.get("refused")]
    return [{**t, "rank": i + 1} for i, t in enumerate(judged)] + refused
