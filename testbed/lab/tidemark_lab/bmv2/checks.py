# SPDX-License-Identifier: Apache-2.0
"""Checks of a run on BMv2, in addition to those of every run."""

from __future__ import annotations

from ..checks import Check
from ..experiment.quantities import FRAME_BYTES
from ..json_types import JsonObject

# As the controller's: a delay of so many times what the limit explains, and so much more.
_FACTOR = 2.0
_SLACK_MS = 5.0


def judge(summary: JsonObject) -> list[Check]:
    """Whether packets waited in the queue that is reported, and not before it: a BMv2 that
    gets too little of the processor keeps them in its input buffer, which no occupancy
    counts and no limit bounds."""
    capacity_bps = summary["config"]["scenario"]["capacity_bps"]
    return [_not_starved(phase, capacity_bps) for phase in summary["phases"]]


def _not_starved(phase: JsonObject, capacity_bps: int) -> Check:
    waited_ms, limit_bytes = phase["delay_ms"]["p99"], phase["limit_bytes"]
    if waited_ms is None or limit_bytes is None:
        return Check(f"{phase['name']}: no delay or no limit to judge BMv2 by", ok=False)
    if phase["limit_action"] == "mark_ce":
        # A threshold bounds no occupancy.
        limit_bytes = max(limit_bytes, phase["occupancy_bytes"]["max"] or 0)
    drains_in_ms = _drains_in_ms(limit_bytes, capacity_bps)
    return Check(
        f"{phase['name']}: delay p99 {waited_ms:.1f} ms, a full queue drains in "
        f"{drains_in_ms:.1f} ms (much longer: BMv2 is slower than its rate)",
        waited_ms <= most_delay_ms(limit_bytes, capacity_bps),
    )


def _drains_in_ms(limit_bytes: float, capacity_bps: float) -> float:
    return (limit_bytes + FRAME_BYTES) * 8e3 / capacity_bps


def most_delay_ms(limit_bytes: float, capacity_bps: float) -> float:
    """Largest delay that a queue with this limit can explain."""
    return _FACTOR * _drains_in_ms(limit_bytes, capacity_bps) + _SLACK_MS
