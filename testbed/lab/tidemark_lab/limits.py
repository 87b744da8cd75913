# SPDX-License-Identifier: Apache-2.0
"""Limits of a port in the form of the controller's interface. Pure.

A port drops at `limit_bytes` (`drop_tail`), or marks from `threshold_bytes` on and drops at
`limit_bytes` (`mark_ce`). The first to act is what flows react to: B of the formulas.
"""

from __future__ import annotations

from .json_types import JsonObject


def acts_at_bytes(limit: JsonObject | None) -> int | None:
    """Occupancy at which a limit first acts; None if unlimited or unknown."""
    limit = limit or {}
    return limit.get("threshold_bytes", limit.get("limit_bytes"))


def in_words(limit: JsonObject) -> str:
    """Formats like `312500 bytes`, or `312500 bytes, limit 937500 bytes` if the port marks."""
    acts_at = acts_at_bytes(limit)
    if acts_at is None:
        return "no limit"
    refuses_at = limit.get("limit_bytes")
    above = f", limit {refuses_at} bytes" if refuses_at not in (None, acts_at) else ""
    return f"{acts_at} bytes{above}"


def request(limit: JsonObject) -> JsonObject:
    """Body of the `POST /links/{node}/{port}/limit` that sets it."""
    body = {"action": limit["action"], "bytes": limit.get("limit_bytes")}
    if "threshold_bytes" in limit:
        body["threshold_bytes"] = limit["threshold_bytes"]
    return {key: value for key, value in body.items() if value is not None}
