# SPDX-License-Identifier: Apache-2.0
"""Checks that a good run passes."""

from __future__ import annotations

from dataclasses import dataclass

from .experiment.quantities import FRAME_BYTES
from .formats import number, percent, show
from .json_types import JsonObject

PART, ONE, WHOLE = percent(2), number(1), number(0)


@dataclass(frozen=True)
class Check:
    """A statement about a run and whether it holds. If an `essential` check fails, the measurement
    itself cannot be trusted; the others say how close the estimates came, which one short run may
    miss."""

    text: str
    ok: bool
    essential: bool = True

    def __str__(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'}  {self.text}"


def judge(summary: JsonObject, read_back_bytes: int | None) -> list[Check]:
    """Judges a run from summary.json and the limit read back from the switch."""
    first, second = summary["phases"]
    name, truth, utilisation = first["name"], first["truth"], first["utilisation"]
    n_b, t_e = (first["estimates"][k]["value"] for k in ("n_b", "t_e_ms"))
    advised = (first["advice"] or {}).get("limit_bytes")
    return [
        *trust(first),
        _limit_kept(first),
        *trust(second),
        _limit_kept(second),
        Check(
            f"{name}: N_b {show(n_b, ONE)}, truth {truth['n_b']} (within 1)",
            n_b is not None and abs(n_b - truth["n_b"]) <= 1,
            essential=False,
        ),
        Check(
            f"{name}: T_e {show(t_e, ONE)} ms, truth {show(truth['t_e_ms'], ONE)} (within 15 %)",
            None not in (t_e, truth["t_e_ms"])
            and abs(t_e - truth["t_e_ms"]) <= 0.15 * truth["t_e_ms"],
            essential=False,
        ),
        Check(
            f"{name}: utilisation {show(utilisation, PART)} (at least 95 %)",
            utilisation is not None and utilisation >= 0.95,
            essential=False,
        ),
        Check(
            f"limit advised {show(advised, WHOLE)}, read back {show(read_back_bytes, WHOLE)}",
            advised is not None and advised == read_back_bytes,
        ),
    ]


def trust(phase: JsonObject) -> list[Check]:
    """Checks whether machine and reports were good enough to judge a phase by."""
    name, lost, why = phase["name"], phase["reports"]["lost"], phase["why_not_trusted"]
    joined = phase["join"]["matched_fraction"]
    kept_up = f"not to be trusted: {why}" if why else "the machine kept up"
    return [
        Check(f"{name}: {kept_up}", not why, essential=False),
        Check(f"{name}: reports lost {lost}", lost == 0),
        Check(
            f"{name}: {show(joined, PART)} of the data packets joined (at least 95 %)",
            joined is not None and joined >= 0.95,
        ),
    ]


def _limit_kept(phase: JsonObject) -> Check:
    name, limit = phase["name"], phase["limit_bytes"]
    if phase["limit_action"] == "mark_ce":
        # Marked packets are admitted, so a threshold does not bound the occupancy.
        marked = phase["ce_marked"]
        text = f"{name}: {marked} packets marked CE at a threshold of {show(limit, WHOLE)} bytes"
        return Check(text, marked > 0)
    most = phase["occupancy_bytes"]["max"]
    return Check(
        f"{name}: occupancy at most {show(most, WHOLE)} bytes at a limit of {show(limit, WHOLE)}",
        most is not None and limit is not None and most <= limit + FRAME_BYTES,
    )


def spoiled(checks: list[Check]) -> int:
    """Returns the number of essential checks that failed."""
    return sum(not check.ok and check.essential for check in checks)
