# SPDX-License-Identifier: Apache-2.0
"""Real TCP through a switch, with a live controller in confirm mode.

At the end of a round, the current advice is applied through the API, as an operator would.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import LabError
from ..experiment.backend import MeasuredPhase
from ..experiment.conduct import Live
from ..experiment.plan import Limits
from ..json_types import JsonObject
from ..trial.hold import hold
from ..verdict import kept
from .rounds import measured


@dataclass
class Controlled:
    live: Live
    measured: list[MeasuredPhase] = field(default_factory=list)
    limits: Limits = field(init=False)

    def __post_init__(self) -> None:
        self.limits = self.live.plan.first_limits()[0]

    def measure(self, number: int, limit_bytes: int) -> JsonObject:
        live, name = self.live, f"round-{number}"
        phase, seconds = hold(live, name, [self.limits], f"{live.name}: round {number}")
        self.measured.append(phase)
        estimate, link = phase.told[0]["links"][0]["estimate"], live.links.link(0)
        if estimate is None:
            raise LabError(f"{name}: the controller saw no traffic")
        if link["advice"] is None:
            raise LabError(f"{live.name}: the controller has no advice")
        return {
            **measured(estimate, seconds),
            "n_b_true": live.plan.n_b(0),
            "advice": link["advice"],
            "verdict": kept(link["verdict"]),
            "caveats": estimate.get("caveats") or [],
            "stolen_cpu_fraction": phase.stolen_cpu_fraction,
        }

    def apply(self, advice: JsonObject) -> int:
        """Applies the advice through the API; returns the switch's limit."""
        self.limits = self.live.links.advised(0, self.limits)
        return self.limits.acts_at_bytes
