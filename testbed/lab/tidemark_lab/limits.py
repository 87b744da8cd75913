# SPDX-License-Identifier: Apache-2.0
"""Limits of a port as the controller's interface has them. Pure.

A port drops at `limit_bytes` (`drop_tail`), or marks from `threshold_bytes` on and drops
at `limit_bytes` (`mark_ce`). What acts first is what flows react to: B of the formulas.
"""

from __future__ import annotations

from .json_types import JsonObject


def acts_at_bytes(limit: JsonObject | None) -> int | None:
    """Occupancy at which a limit acts first; None when unlimited or not known."""
    limit = limit or {}
    return limit.get("threshold_bytes", limit.get("limit_bytes"))


def in_words(limit: JsonObject) -> str:
    """Like `312500 bytes`, or `312500 bytes, limit 937500 bytes` of a port that marks."""
    acts_at = acts_at_bytes(limit)
    if acts_at is None:
        return "no limit"
    refuses_at = limit.get("limit_bytes")
    above = f", limit {refuses_at} bytes" if refuses_at not in (None, acts_at) else ""
    return f"{acts_at} bytes{above}"


def request(limit: JsonObject) -> JsonObject:
    """The body of `POST /links/{node}/{port}/limit` that sets it."""
    body = {"action": limit["action"], "bytes": limit.get("limit_bytes")}
    if "threshold_bytes" in limit:
        body["threshold_bytes"] = limit["threshold_bytes"]
    return {key: value for key, value in body.items() if value is not None}
