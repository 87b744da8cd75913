# SPDX-License-Identifier: Apache-2.0
"""Whether the machine was the run's own: a switch in user space needs its CPU in time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# Of all CPU time. Above it the switch is late, and the bottleneck slower than its rate.
MOST_STOLEN_FRACTION = 0.02


@dataclass(frozen=True)
class CpuTime:
    """Of all CPUs since boot, in ticks of the kernel."""

    total: int
    # What the hypervisor gave to others.
    stolen: int

    @classmethod
    def now(cls) -> CpuTime:
        ticks = [int(t) for t in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return cls(sum(ticks), ticks[7])

    def stolen_fraction_until(self, later: CpuTime) -> float:
        """Of the CPU time between the two, 0 to 1."""
        return (later.stolen - self.stolen) / max(later.total - self.total, 1)
