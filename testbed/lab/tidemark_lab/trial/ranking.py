# SPDX-License-Identifier: Apache-2.0
"""Which limit, or queue management, did best. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..json_types import JsonObject


def shortfall(trial: JsonObject, targets: JsonObject) -> float:
    """How far a trial is from the targets, 0 where it meets all.

    The largest of: idle time beyond the one allowed, loss and largest delay beyond
    theirs, each as a fraction of what is allowed.
    """
    idle = 1 - trial["utilisation"]
    allowed_idle = 1 - targets["utilisation"]
    parts = [(idle - allowed_idle) / max(allowed_idle, 1e-3)]
    for key, value in (("loss_rate", trial["loss_rate"]), ("delay_ms", trial["delay_max_ms"])):
        if targets.get(key) is not None:
            parts.append((value - targets[key]) / targets[key])
    return max(0.0, *parts)


def buffer_bytes(trial: JsonObject) -> float:
    """The buffer that it takes: its limit, or the largest queue that an algorithm let form."""
    limit_bytes = trial["limit_bytes"]
    return float(trial["occupancy_max_bytes"] if limit_bytes is None else limit_bytes)


def ranked(trials: Sequence[JsonObject], targets: JsonObject) -> list[JsonObject]:
    """Trials that meet the targets by the size of the buffer; then the others by how far
    they are from them. Each gets `rank` and `shortfall`; those that were refused come last
    and have neither."""
    tried = [t for t in trials if not t.get("refused")]
    judged = [{**t, "shortfall": shortfall(t, targets)} for t in tried]
    judged.sort(key=lambda t: (t["shortfall"], buffer_bytes(t)))
    refused = [{**t, "rank": None, "shortfall": None} for t in trials if t.get("refused")]
    return [{**t, "rank": i + 1} for i, t in enumerate(judged)] + refused
