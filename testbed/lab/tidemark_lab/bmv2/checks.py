# SPDX-License-Identifier: Apache-2.0
"""Additional checks of a run on BMv2."""

from __future__ import annotations

from ..checks import Check
from ..experiment.quantities import FRAME_BYTES
from ..json_types import JsonObject

# Like the controller's: largest delay as a multiple of what the limit explains, plus slack.
_FACTOR = 2.0
_SLACK_MS = 5.0


def judge(summary: JsonObject) -> list[Check]:
    """Checks that packets waited in the reported queue and not before it: a BMv2 that gets too
    little CPU time keeps packets in its input buffer, which no occupancy counts and no limit
    bounds."""
    capacity_bps = summary["config"]["scenario"]["capacity_bps"]
    return [_not_starved(phase, capacity_bps) for phase in summary["phases"]]


def _not_starved(phase: JsonObject, capacity_bps: int) -> Check:
    waited_ms, limit_bytes = phase["delay_ms"]["p99"], phase["limit_bytes"]
    if waited_ms is None or limit_bytes is None:
        return Check(f"{phase['name']}: no delay or no limit to judge BMv2 by", ok=False)
    if phase["limit_action"] == "mark_ce":
        # A marking threshold does not bound the occupancy.
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
    """Returns the largest delay that a queue with this limit can explain."""
    return _FACTOR * _drains_in_ms(limit_bytes, capacity_bps) + _SLACK_MS
