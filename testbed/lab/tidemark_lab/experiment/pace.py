# SPDX-License-Identifier: Apache-2.0
"""How long simulated runs take: by the packets that are simulated. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .grid import Point
from .model import Experiment
from .quantities import FRAME_BYTES, WIRE_BYTES

# Of one process, with the import of the capture and the estimates: before any run has shown it.
PACKETS_PER_S = 15_000
# A run that takes so many times as long does not end.
PATIENCE = 30


def packets(experiment: Experiment) -> float:
    """Packets that its switches forward when they are busy all the time."""
    bits = sum(s.rate for s in experiment.topology.switches) * experiment.seconds
    return bits / 8 / (FRAME_BYTES + WIRE_BYTES)


def patience_s(experiment: Experiment) -> float:
    """CPU time that a run may take at most, or the import of its packets."""
    return PATIENCE * packets(experiment) / PACKETS_PER_S


@dataclass
class Pace:
    """Time and packets of the runs made so far, including other load at the time."""

    took_s: float = 0.0
    packets: float = 0.0

    def add(self, experiment: Experiment, took_s: float) -> None:
        self.took_s += took_s
        self.packets += packets(experiment)

    def left_s(self, points: Sequence[Point], jobs: int) -> float:
        """Time that these runs will take, so many at once."""
        per_packet = self.took_s / self.packets if self.packets else 1 / PACKETS_PER_S
        return per_packet * sum(packets(p.experiment) for p in points) / jobs
