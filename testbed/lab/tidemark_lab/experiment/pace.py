# SPDX-License-Identifier: Apache-2.0
"""Estimates how long simulated runs take, by the number of simulated packets. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .grid import Point
from .model import Experiment
from .quantities import FRAME_BYTES, WIRE_BYTES

# Speed of one process, including the capture's import and the estimates, until a run has shown it.
PACKETS_PER_S = 15_000
# A run is stopped after this many times its expected duration.
PATIENCE = 30


def packets(experiment: Experiment) -> float:
    """Number of packets that the switches forward if they are busy all the time."""
    bits = sum(s.rate for s in experiment.topology.switches) * experiment.seconds
    return bits / 8 / (FRAME_BYTES + WIRE_BYTES)


def patience_s(experiment: Experiment) -> float:
    """Largest CPU time of a run, or of the import of its packets."""
    return PATIENCE * packets(experiment) / PACKETS_PER_S


@dataclass
class Pace:
    """Time and packets of the runs so far; reflects other load on the machine."""

    took_s: float = 0.0
    packets: float = 0.0

    def add(self, experiment: Experiment, took_s: float) -> None:
        self.took_s += took_s
        self.packets += packets(experiment)

    def left_s(self, points: Sequence[Point], jobs: int) -> float:
        """Returns how long these runs will take with `jobs` at a time."""
        per_packet = self.took_s / self.packets if self.packets else 1 / PACKETS_PER_S
        return per_packet * sum(packets(p.experiment) for p in points) / jobs
