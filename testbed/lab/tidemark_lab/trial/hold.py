# SPDX-License-Identifier: Apache-2.0
"""Lets a limit in force settle, and holds it until its loss rate is known."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ..experiment.backend import MeasuredPhase
from ..experiment.conduct import Live
from ..experiment.plan import Limits
from ..json_types import JsonObject
from ..machine import MOST_STOLEN_FRACTION
from .outcome import LossRate, loss_rate

SETTLED_HALF_WIDTH = 0.15
# Least time to hold a limit, even if its loss is known earlier.
LEAST_S = 10.0
# Interval for looking at the loss.
POLL_S = 2.0


@dataclass(frozen=True)
class Seconds:
    """Packets and utilisation per second."""

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
        """Whether the rate of drops and marks, which flows react to, is known within ±15 %."""
        signals = [d + m for d, m in zip(self.drops, self.marks, strict=True)]
        return loss_rate(signals, self.arrivals).relative_half_width <= SETTLED_HALF_WIDTH


def hold(live: Live, name: str, limits: list[Limits], label: str) -> tuple[MeasuredPhase, Seconds]:
    """Measures the limits in force as a phase of this name: after the settling time of the file's
    first phase, until the range of the loss rate (if packets are marked, of drops and marks) is
    within ±15 % of it, or for that phase's duration."""
    phase = live.plan.experiment.phases[0]
    live.let_pass(f"{label}: settling", phase.settle)
    seconds = Seconds([], [], [], [])

    def until_known() -> None:
        nonlocal seconds
        from_ns, begin = live.links.link(0)["now_ns"], time.monotonic()
        while True:
            live.let_pass(label, min(POLL_S, phase.duration))
            seconds = seconds_since(live, from_ns)
            elapsed = time.monotonic() - begin
            if elapsed >= phase.duration or (elapsed >= LEAST_S and seconds.known):
                return

    return live.measure(name, limits, until_known, marked=True), seconds


def tried(
    live: Live, name: str, limits: list[Limits], label: str
) -> tuple[JsonObject, MeasuredPhase]:
    """Holds the limits; returns the parts of the outcome that the experiment's row lacks."""
    phase, seconds = hold(live, name, limits, label)
    stolen = phase.stolen_cpu_fraction or 0.0
    loss, marked = seconds.loss, seconds.marked
    return {
        "refused": None,
        "loss_rate": loss.value,
        "loss_range": [loss.low, loss.high],
        "marked_rate": marked.value,
        "marked_range": [marked.low, marked.high],
        "loss_settled": seconds.known,
        "stolen_cpu_fraction": stolen,
        "cpu_was_stolen": stolen > MOST_STOLEN_FRACTION,
        "start_unix_ns": phase.windows[0].start_unix_ns,
        "end_unix_ns": phase.windows[0].end_unix_ns,
    }, phase


def seconds_since(live: Live, from_ns: int) -> Seconds:
    """Returns the seconds since a time of the first switch's clock; the last may be partial."""
    series = live.links.series(from_ns)
    second = (np.array(series["time_ns"], dtype=np.int64) - from_ns) // 1_000_000_000
    _, at, parts = np.unique(second, return_inverse=True, return_counts=True)

    def sums(column: str) -> np.ndarray:
        return np.bincount(at, np.nan_to_num(np.array(series[column], dtype=float)))

    arrivals, drops, marks = (sums(c).tolist() for c in ("arrivals", "drops", "ce_marked"))
    return Seconds(arrivals, drops, marks, (sums("utilisation") / parts).tolist())
