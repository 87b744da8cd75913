# SPDX-License-Identifier: Apache-2.0
"""A limit that is in force is let settle and held until its loss rate is known."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..control_session import ControlSession
from ..errors import LabError
from ..json_types import JsonObject
from ..machine import CpuTime
from ..progress import Progress
from .outcome import LossRate, loss_rate

SETTLED_HALF_WIDTH = 0.15
# Loss is looked at this often.
POLL_S = 2.0
SERIES_POINTS = 20_000


@dataclass(frozen=True)
class Hold:
    """How long a limit is held."""

    settle_s: float = 5.0
    least_s: float = 10.0
    most_s: float = 40.0


@dataclass(frozen=True)
class Seconds:
    """What came, second by second."""

    arrivals: list[float]
    drops: list[float]
    marks: list[float]
    utilisation: list[float]

    @property
    def loss(self) -> LossRate:
        """Drops over arrivals."""
        return loss_rate(self.drops, self.arrivals)

    @property
    def marked(self) -> LossRate:
        """CE marks over arrivals."""
        return loss_rate(self.marks, self.arrivals)

    @property
    def known(self) -> bool:
        """Whether what flows react to, drops and marks, is known within ±15 %."""
        signals = [d + m for d, m in zip(self.drops, self.marks, strict=True)]
        return loss_rate(signals, self.arrivals).relative_half_width <= SETTLED_HALF_WIDTH


@dataclass(frozen=True)
class Held:
    """What came of it."""

    # The link of the completed phase: estimate and advice.
    link: JsonObject
    seconds: Seconds
    start_unix_ns: int
    end_unix_ns: int
    stolen_cpu_fraction: float


def hold(session: ControlSession, name: str, hold: Hold, progress: Progress, label: str) -> Held:
    """Measures the limit in force as a phase of this name, until the range of the loss rate
    (where packets are marked, of drops and marks) is within ±15 % of it, or the time limit."""
    session.let_pass(progress, f"{label}: settling", hold.settle_s)
    start_unix_ns, cpu = time.time_ns(), CpuTime.now()
    session.controller.post("/phases", {"name": name, "action": "start"})
    from_ns = session.link()["now_ns"]
    seconds = _until_known(session, from_ns, hold, progress, label)
    end_unix_ns, stolen = time.time_ns(), cpu.stolen_fraction_until(CpuTime.now())
    session.controller.post("/phases", {"name": name, "action": "end"})
    links = session.complete_phase(name)["links"]
    if not links or links[0]["estimate"] is None:
        raise LabError(f"{label}: the controller saw no traffic; see {session.run_dir}/logs")
    return Held(links[0], seconds, start_unix_ns, end_unix_ns, stolen)


def _until_known(
    session: ControlSession, from_ns: int, hold: Hold, progress: Progress, label: str
) -> Seconds:
    start = time.monotonic()
    while True:
        session.let_pass(progress, label, POLL_S)
        seconds = seconds_since(session, from_ns)
        elapsed = time.monotonic() - start
        if elapsed >= hold.most_s or (elapsed >= hold.least_s and seconds.known):
            return seconds


def seconds_since(session: ControlSession, from_ns: int) -> Seconds:
    """Since a time of the switch's clock; the last second may be a part of one."""
    to_ns = session.link()["now_ns"]
    series = session.controller.get(
        f"{session.link_path}/series?from_ns={from_ns}&to_ns={to_ns}&max_points={SERIES_POINTS}"
    )
    columns = ("arrivals", "drops", "ce_marked", "utilisation")
    of_second: dict[int, list[list[float]]] = {}
    for time_ns, *values in zip(series["time_ns"], *(series[c] for c in columns), strict=True):
        second = (time_ns - from_ns) // 1_000_000_000
        of_second.setdefault(second, []).append([v or 0.0 for v in values])
    rows = [[sum(column) for column in zip(*of_second[s], strict=True)] for s in sorted(of_second)]
    parts = [len(of_second[s]) for s in sorted(of_second)]
    return Seconds(
        [r[0] for r in rows],
        [r[1] for r in rows],
        [r[2] for r in rows],
        [r[3] / n for r, n in zip(rows, parts, strict=True)],
    )
