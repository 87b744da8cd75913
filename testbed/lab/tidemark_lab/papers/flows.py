# SPDX-License-Identifier: Apache-2.0
"""Rates and losses of single flows and transfers in a phase."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .. import summary
from .runs import RunData

# OI §4.3: larger transfers are large flows.
LARGE_BYTES = 100_000


@dataclass(frozen=True)
class Flow:
    """A flow at the link in a phase."""

    kind: str
    name: str
    large: bool
    # Number of packets that arrived, and of those dropped.
    packets: int
    drops: int
    # Rate at the receiver; None for a transfer that did not begin and end in the phase.
    bytes_per_s: float | None

    @property
    def loss(self) -> float:
        return self.drops / self.packets if self.packets else 0.0


@dataclass(frozen=True)
class Offered:
    """Load offered by transfers in one phase."""

    # Mean number in progress.
    under_way: float
    # Bits of the transfers that began in the phase over the port's capacity, without headers.
    load: float


def offered(run: RunData, phase: str) -> Offered:
    start, end = run.unix_ns(phase)
    truth = json.loads((run.path / "truth.json").read_text())["flows"]
    transfers = [f for f in truth if f["bytes_wanted"]]
    there = sum(
        max(min(f["stop"]["unix_ns"], end) - max(f["start"]["unix_ns"], start), 0)
        for f in transfers
    )
    size = sum(f["bytes_wanted"] for f in transfers if start <= f["start"]["unix_ns"] < end)
    seconds = (end - start) / 1e9
    return Offered(there / (end - start), 8 * size / (seconds * float(run.row(phase)["rate_bps"])))


def of_phase(run: RunData, phase: str) -> list[Flow]:
    """Returns every flow with a packet in the phase, both persistent flows and transfers."""
    start, end = run.unix_ns(phase)
    truth = json.loads((run.path / "truth.json").read_text())["flows"]
    # A sender may use a port again in another phase.
    there = [f for f in truth if f["start"]["unix_ns"] < end and f["stop"]["unix_ns"] > start]
    out = []
    for flow, seen in summary.matched(run.link(phase)["flows"], [f for f in there if f["source"]]):
        if seen is None:
            continue
        size, rate = flow["bytes_wanted"], None
        begin, stop = flow["start"]["unix_ns"], flow["stop"]["unix_ns"]
        if size is None:
            rate = seen["rate_bps"] / 8 * seen["active_fraction"]
        elif flow["complete"] and start <= begin and stop <= end:
            rate = size / (stop - begin) * 1e9
        large = size is None or size > LARGE_BYTES
        out.append(
            Flow(
                flow["kind"],
                flow["name"],
                large,
                seen["packets"] + seen["drops"],
                seen["drops"],
                rate,
            )
        )
    return out


def rates(flows: list[Flow], large: bool) -> list[float]:
    """Rates, sorted, bytes/s."""
    return sorted(f.bytes_per_s for f in flows if f.large is large and f.bytes_per_s)


def without_loss(flows: list[Flow], large: bool) -> float | None:
    """Share of flows that lose nothing in the phase."""
    own = [f for f in flows if f.large is large]
    return sum(f.drops == 0 for f in own) / len(own) if own else None
