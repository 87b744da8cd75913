# SPDX-License-Identifier: Apache-2.0
"""Offsets of the hosts' clocks from this machine's, and merging the hosts' truth files.

A host is asked for its time. It read its clock somewhere between question and answer: the midpoint
is assumed, so the error is at most half of the time between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import LabError
from ...json_types import JsonObject


@dataclass(frozen=True)
class Asked:
    """Times when a host was asked and when it answered, here, and its answer; Unix time, ns."""

    sent_ns: int
    said_ns: int
    came_ns: int


@dataclass(frozen=True)
class Offset:
    """A host's clock minus this machine's, ns."""

    offset_ns: int
    error_ns: int

    @classmethod
    def of(cls, asked: Sequence[Asked]) -> Offset:
        """Takes the offset of the fastest answer."""
        best = min(asked, key=lambda a: a.came_ns - a.sent_ns)
        middle = (best.sent_ns + best.came_ns) // 2
        return cls(best.said_ns - middle, (best.came_ns - best.sent_ns + 1) // 2)

    @property
    def most_ns(self) -> int:
        return abs(self.offset_ns) + self.error_ns

    def document(self) -> JsonObject:
        return {"offset_ms": self.offset_ns / 1e6, "error_ms": self.error_ns / 1e6}


def check(host: str, when: str, offset: Offset, most_s: float) -> None:
    """Raises LabError if a clock is too far off."""
    if offset.most_ns > most_s * 1e9:
        raise LabError(
            f"{host}: its clock is {offset.offset_ns / 1e6:+.1f} ms from this machine's "
            f"(± {offset.error_ns / 1e6:.1f} ms, {when}), more than remote.most_clock_offset = "
            f"{1e3 * most_s:g} ms: synchronise both (chrony), or allow more"
        )


def one_truth(seed: int, parts: Sequence[tuple[JsonObject, Offset]]) -> JsonObject:
    """Merges the hosts' truth files, in this machine's time. The last file is the receiver's."""
    flows = []
    for document, offset in parts:
        for flow in document["flows"]:
            moved = {
                key: {"unix_ns": flow[key]["unix_ns"] - offset.offset_ns}
                for key in ("start", "stop")
            }
            flows.append({**flow, **moved})
    flows.sort(key=lambda f: f["start"]["unix_ns"])
    return {
        "version": 1,
        "seed": seed,
        "flows": flows,
        "omitted_flows": sum(d.get("omitted_flows", 0) for d, _ in parts),
        "listeners": parts[-1][0].get("listeners", {}) if parts else {},
    }
