# SPDX-License-Identifier: Apache-2.0
"""Links whose rate, delay and queue are implemented by the switch at their end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mininet.link import Link

_TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)?")
_US = {"us": 1, "ms": 1_000, "s": 1_000_000, None: 1}


@dataclass(frozen=True)
class Shape:
    """Rate, delay and queue of a switch port."""

    # Mb/s; None: unlimited.
    bw: float | None = None
    # One way, µs.
    delay_us: float = 0
    # Packets of 1514 bytes; None: only the switch's own limit.
    max_queue_size: int | None = None


def microseconds(delay: str | float | None) -> float:
    """Converts a delay in the format of Mininet's TCLink: "5ms", "10us", or a number of µs."""
    if delay is None:
        return 0
    found = _TIME.fullmatch(str(delay))
    if not found:
        raise ValueError(f"delay={delay!r}: write a number with us, ms or s")
    return float(found[1]) * _US[found[2]]


class TidemarkLink(Link):
    """Takes `bw` (Mb/s), `delay` ("5ms", one way) and `max_queue_size` (packets) like Mininet's
    TCLink, so that topologies written for it run unchanged; refuses TCLink's other parameters.

    A TidemarkSwitch at either end implements them, without a qdisc. Towards a host the port delays
    twice as long, because nothing delays on the way back: round-trip times equal TCLink's. `bw`
    applies to packets that a switch sends, not to those that a host sends.
    """

    def __init__(self, node1, node2, bw=None, delay=None, max_queue_size=None, **params):
        for unknown in ("jitter", "loss", "use_hfsc", "use_tbf", "gro", "speedup"):
            if params.pop(unknown, None):
                raise ValueError(f"{node1}-{node2}: TidemarkLink has no {unknown}")
        if bw is not None and not bw > 0:
            raise ValueError(f"{node1}-{node2}: bw={bw}: above 0 Mb/s")
        self.shape = Shape(bw, microseconds(delay), max_queue_size)
        super().__init__(node1, node2, **params)
        for end in (self.intf1, self.intf2):
            end.shape = self.shape
