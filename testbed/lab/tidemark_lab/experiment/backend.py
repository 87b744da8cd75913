# SPDX-License-Identifier: Apache-2.0
"""Interface of the back ends, which run plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..json_types import JsonObject
from ..progress import Progress
from .plan import Limits, Plan


@dataclass(frozen=True)
class Window:
    """Time span of a phase on a link, ns: switch's clock, and Unix time (for the truth)."""

    start_ns: int
    end_ns: int
    start_unix_ns: int
    end_unix_ns: int


@dataclass
class MeasuredPhase:
    name: str
    # Limits of each switch, in the order of the switches.
    limits: list[Limits]
    windows: list[Window]
    # 0 to 1; None in simulated time.
    stolen_cpu_fraction: float | None = None
    # Fraction of one core.
    traffic_cpu: float | None = None
    switch_cpu: float | None = None
    load_average: float | None = None
    # The controller's view of each switch, with its live estimates (auto mode).
    live: list[JsonObject] = field(default_factory=list)
    # The controller's own record of the phase, per switch, if the phase was marked there also.
    told: list[JsonObject] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Node and port of a switch in the capture."""

    node: int
    port: int


def without_aqm(plan: Plan) -> list[str]:
    """Refusal of a back end that has no queue management."""
    said = "only embedded has queue management: take it, or leave aqm out"
    switches = enumerate(plan.experiment.topology.switches)
    return [f"topology.switches[{k}].aqm: {said}" for k, s in switches if s.aqm is not None]


class BackEnd(Protocol):
    """Runs plans. Afterwards the run directory has `capture/` and `truth.json` (in
    tidemark-traffic's format)."""

    name: str
    # Whether several runs at a time do not disturb each other.
    several: bool

    def refuse(self, plan: Plan) -> list[str]:
        """Returns the parts of a plan that this back end cannot do, by key path; empty if none."""

    def ready(self, out: Path) -> list[str]:
        """Returns notes for the user. Raises PreflightError if this machine cannot run it."""

    def place(self, plan: Plan, switch: int) -> Place:
        """Returns node and port of a switch in the capture."""

    def run(self, plan: Plan, run_dir: Path, progress: Progress) -> list[MeasuredPhase]:
        """Runs a plan from scratch and returns its phases; leaves nothing but files."""

    def offloads(self, plan: Plan) -> bool | None:
        """Whether hosts send super-frames; None if the back end has no offloads."""
        return None

    def doubts(self, row: JsonObject) -> list[str]:
        """Returns this back end's own reasons not to trust a row, beyond the common ones."""
        return []

    def versions(self) -> JsonObject:
        return {}
