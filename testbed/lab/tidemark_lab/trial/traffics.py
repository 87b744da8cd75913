# SPDX-License-Identifier: Apache-2.0
"""The traffics that rules are tried on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..scenario import Scenario


@dataclass(frozen=True)
class Traffic:
    """A scenario with a name and a sentence about it."""

    name: str
    about: str
    scenario: Scenario


def _flows(count: int, *controls: str, **more: Any) -> Scenario:
    """LBP flows, and short ones whose completion times are measured."""
    return Scenario(
        lbp_flows=count,
        congestion_controls=controls,
        rbp_senders=(),
        wl_senders=(),
        **{"short_share": 0.03, **more},
    )


TRAFFICS = (
    Traffic("reno1", "one Reno flow", _flows(1, "reno")),
    Traffic("reno4", "four Reno flows", _flows(4, "reno")),
    Traffic("reno12", "12 Reno flows", _flows(12, "reno")),
    Traffic("reno40", "40 Reno flows", _flows(40, "reno")),
    Traffic("cubic12", "12 CUBIC flows", _flows(12, "cubic")),
    Traffic("bbr4", "four BBR flows", _flows(4, "bbr")),
    Traffic("mix12", "BBR, Reno and CUBIC, four of each", _flows(12, "bbr", "reno", "cubic")),
    Traffic(
        "spread12",
        "12 flows, Reno and CUBIC, round trips of 5 to 100 ms",
        _flows(12, "reno", "cubic", base_rtts_ms=(5.0, 15.0, 40.0, 100.0)),
    ),
    Traffic("ecn12", "12 Reno flows with ECN; limits are thresholds", _flows(12, "reno", ecn=True)),
)
