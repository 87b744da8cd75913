# SPDX-License-Identifier: Apache-2.0
"""What single flows and transfers of a phase got."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .runs import RunData

# OI §4.3: what is larger is a large flow.
LARGE_BYTES = 100_000


@dataclass(frozen=True)
class Flow:
    """A flow at the link in one phase."""

    kind: str
    port: int
    large: bool
    # Of packets that came, and of those dropped.
    packets: int
    drops: int
    # As the receiver has it; None for a transfer that did not begin and end in the phase.
    bytes_per_s: float | None

    @property
    def loss(self) -> float:
        return self.drops / self.packets if self.packets else 0.0


def of_phase(run: RunData, phase: str) -> list[Flow]:
    """Every flow with a packet in the phase, persistent ones and transfers."""
    window = next(p for p in run.record["phases"] if p["name"] == phase)["windows"][0]
    start, end = window["start_ns"], window["end_ns"]
    truth = json.loads((run.path / "truth.json").read_text())["flows"]
    told = {_port(f["destination"]): f for f in truth if f["destination"]}
    out = []
    for seen in run.link(phase)["flows"]:
        flow = told.get(seen["key"]["dst_port"])
        if flow is None:
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
                seen["key"]["dst_port"],
                large,
                seen["packets"] + seen["drops"],
                seen["drops"],
                rate,
            )
        )
    return out


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def rates(flows: list[Flow], large: bool) -> list[float]:
    """Sorted, bytes/s."""
    return sorted(f.bytes_per_s for f in flows if f.large is large and f.bytes_per_s)


def without_loss(flows: list[Flow], large: bool) -> float | None:
    """Share of flows that lose nothing in the phase."""
    own = [f for f in flows if f.large is large]
    return sum(f.drops == 0 for f in own) / len(own) if own else None
