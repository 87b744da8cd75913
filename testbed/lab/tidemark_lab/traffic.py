# SPDX-License-Identifier: Apache-2.0
"""The truth that tidemark-traffic reports about its flows."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from .application import Transfers
from .json_types import JsonObject
from .trial.outcome import completion_ms, whole_transfers


def harmonic_mean(values: list[float]) -> float | None:
    """Tₑ, the harmonic mean of base round-trip times; None without flows."""
    return statistics.harmonic_mean(values) if values else None


def counted(flows: list[JsonObject]) -> JsonObject:
    """N_b and Tₑ of flows, and the number of the other persistent kinds."""
    lbp = [f for f in flows if f["kind"] == "lbp"]
    return {
        "n_b": len(lbp),
        "t_e_ms": harmonic_mean([f["base_rtt_ms"] for f in lbp if f["base_rtt_ms"]]),
        "rbp": sum(f["kind"] == "rbp" for f in flows),
        "wl": sum(f["kind"] == "wl" for f in flows),
    }


# Fraction missing at either end: a phase that ends with its flows may end milliseconds later.
MOST_MISSING = 0.01


class Truth:
    """A truth file of tidemark-traffic."""

    def __init__(self, document: JsonObject):
        self.flows: list[JsonObject] = document["flows"]
        # Number of ended short flows left out of the file because there were too many.
        self.omitted: int = document.get("omitted_flows", 0)

    @classmethod
    def read(cls, path: Path) -> Truth:
        return cls(json.loads(path.read_text()))

    def during(self, kind: str, start_unix_ns: int, end_unix_ns: int) -> list[JsonObject]:
        """Flows of a kind that ran from start to end, except for MOST_MISSING."""
        missing_ns = MOST_MISSING * (end_unix_ns - start_unix_ns)
        return [
            f
            for f in self.flows
            if f["kind"] == kind
            and f["error"] is None
            and f["start"]["unix_ns"] <= start_unix_ns + missing_ns
            and f["stop"]["unix_ns"] >= end_unix_ns - missing_ns
        ]

    def persistent(self, start_unix_ns: int, end_unix_ns: int) -> list[JsonObject]:
        """Persistent flows of all kinds (not short ones) that ran for this long."""
        return [
            f
            for kind in ("lbp", "rbp", "wl")
            for f in self.during(kind, start_unix_ns, end_unix_ns)
        ]

    def phase(self, start_unix_ns: int, end_unix_ns: int) -> JsonObject:
        """N_b and Tₑ of a time span, and the number of flows of the other kinds."""
        short = sum(
            f["kind"] == "short"
            and f["start"]["unix_ns"] < end_unix_ns
            and f["stop"]["unix_ns"] > start_unix_ns
            for f in self.flows
        )
        return {**counted(self.persistent(start_unix_ns, end_unix_ns)), "short": short}

    def transfers(self, start_unix_ns: int, end_unix_ns: int) -> Transfers | None:
        """The short flows that began in a time span; None if the file left some out."""
        if self.omitted:
            return None
        began = sum(
            f["kind"] == "short" and start_unix_ns <= f["start"]["unix_ns"] < end_unix_ns
            for f in self.flows
        )
        whole = whole_transfers(self.flows, start_unix_ns, end_unix_ns)
        times_ms = [completion_ms(f) for f in whole]
        return Transfers([f["bytes_wanted"] for f in whole], times_ms, began - len(whole))


def planned_truth(spec: JsonObject) -> JsonObject:
    """The planned truth, from the spec, for a run whose traffic has not ended yet."""
    return counted(spec["flows"])
