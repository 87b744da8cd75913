# SPDX-License-Identifier: Apache-2.0
"""Real TCP through a switch, and the controller live in confirm mode.

The advice that it holds when a round ends is applied through its API, as an operator would.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import LabError
from ..experiment.backend import MeasuredPhase
from ..experiment.conduct import Live
from ..experiment.plan import Limits
from ..json_types import JsonObject
from ..trial.hold import hold
from .rounds import measured

# Advice nearer to the limit in force (relative) changes nothing.
SAME_LIMIT = 0.03


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
        estimate = phase.told[0]["links"][0]["estimate"]
        if estimate is None:
            raise LabError(f"{name}: the controller saw no traffic")
        return {
            **measured(estimate, seconds),
            "n_b_true": live.plan.n_b(0),
            "advice": self._advice(limit_bytes),
            "caveats": estimate.get("caveats") or [],
            "stolen_cpu_fraction": phase.stolen_cpu_fraction,
        }

    def _advice(self, limit_bytes: int) -> JsonObject:
        state = self.live.links.advice(0)
        advice: JsonObject | None = state["advice"]
        if advice is None:
            raise LabError(f"{self.live.name}: the controller has no advice")
        advised = advice["limit_bytes"]
        far = advised is not None and abs(advised / limit_bytes - 1) > SAME_LIMIT
        why = state["why_not"] or ("it moves the limit" if far else "it is the limit in force")
        advice["change"] = {"worth": far and bool(state["can_apply"]), "why": why}
        return advice

    def apply(self, advice: JsonObject) -> int:
        """By the API; what the switch then holds."""
        self.limits, _ = self.live.links.apply(0, self.limits)
        return self.limits.acts_at_bytes
