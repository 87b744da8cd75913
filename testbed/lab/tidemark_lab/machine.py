# SPDX-License-Identifier: Apache-2.0
"""Checks whether a run had the machine to itself: a user-space switch needs CPU time promptly."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

# Fraction of all CPU time; above it, the switch is late and the bottleneck slower than its rate.
MOST_STOLEN_FRACTION = 0.02


@dataclass(frozen=True)
class CpuTime:
    """CPU time of all CPUs since boot, in kernel ticks."""

    total: int
    # Time that the hypervisor gave to other guests.
    stolen: int

    @classmethod
    def now(cls) -> CpuTime:
        ticks = [int(t) for t in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return cls(sum(ticks), ticks[7])

    def stolen_fraction_until(self, later: CpuTime) -> float:
        """Stolen fraction of the CPU time between the two, 0 to 1."""
        return (later.stolen - self.stolen) / max(later.total - self.total, 1)


def process_cpu_s(pid: int) -> float:
    """CPU time so far of a process and its threads, s; 0 if it is gone."""
    return _cpu_s(Path(f"/proc/{pid}/stat")) or 0.0


def thread_cpu_s(pid: int) -> dict[int, float]:
    """CPU time so far of each thread of a process, s; empty if it is gone."""
    try:
        threads = [int(p.name) for p in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return {}
    used = {t: _cpu_s(Path(f"/proc/{pid}/task/{t}/stat")) for t in threads}
    return {t: seconds for t, seconds in used.items() if seconds is not None}


def busiest_thread_s(before: dict[int, float], after: dict[int, float]) -> float:
    """CPU time of the thread that used most between the two; 0 if there is none."""
    return max((s - before.get(t, 0.0) for t, s in after.items()), default=0.0)


def _cpu_s(stat: Path) -> float | None:
    fields = stat_fields(stat)
    if fields is None:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stat_fields(stat: Path) -> list[str] | None:
    """Fields of proc(5) after the name of a process or thread; None if it is gone."""
    try:
        text = stat.read_text()
    except OSError:
        return None
    # The name may contain spaces and brackets; the text after its last bracket does not.
    return text[text.rindex(")") + 2 :].split()
