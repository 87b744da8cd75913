# SPDX-License-Identifier: Apache-2.0
"""Interface of the back ends, which carry out plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..json_types import JsonObject
from ..progress import Progress
from .plan import Limits, Plan


@dataclass(frozen=True)
class Window:
    """A phase of a link, on the switch's clock and in Unix time (the traffic's truth), ns."""

    start_ns: int
    end_ns: int
    start_unix_ns: int
    end_unix_ns: int


@dataclass
class MeasuredPhase:
    name: str
    # Of each switch, in their order.
    limits: list[Limits]
    windows: list[Window]
    # 0 to 1; None where nothing waits for the machine.
    stolen_cpu_fraction: float | None = None
    # Of one core.
    traffic_cpu: float | None = None
    switch_cpu: float | None = None
    load_average: float | None = None
    # The controller's view of each switch, with its live estimates (auto mode).
    live: list[JsonObject] = field(default_factory=list)
    # The controller's own record of it, where it was a phase of the controller's; of each switch.
    told: list[JsonObject] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """A switch's port in the capture."""

    node: int
    port: int


def without_aqm(plan: Plan) -> list[str]:
    """The refusal of a back end that has no queue management."""
    said = "only embedded has queue management: take it, or leave aqm out"
    switches = enumerate(plan.experiment.topology.switches)
    return [f"topology.switches[{k}].aqm: {said}" for k, s in switches if s.aqm is not None]


class BackEnd(Protocol):
    """In the run directory are `capture/` and `truth.json` (as tidemark-traffic writes it)
    afterwards."""

    name: str
    # Whether several runs at a time do not disturb each other.
    several: bool

    def refuse(self, plan: Plan) -> list[str]:
        """Parts of a plan that it cannot do, with the path of the key; empty if it can do all."""

    def ready(self, out: Path) -> list[str]:
        """Notes for the user. Raises PreflightError where this machine cannot run it."""

    def place(self, plan: Plan, switch: int) -> Place:
        """The switch's port in the capture."""

    def run(self, plan: Plan, run_dir: Path, progress: Progress) -> list[MeasuredPhase]:
        """From nothing to the capture; leaves nothing but files."""

    def offloads(self, plan: Plan) -> bool | None:
        """Whether hosts send super-frames; None where there is no such thing."""
        return None

    def doubts(self, row: JsonObject) -> list[str]:
        """Why a row is not to be trusted, beyond what holds for every back end."""
        return []

    def versions(self) -> JsonObject:
        return {}
