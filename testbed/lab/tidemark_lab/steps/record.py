# SPDX-License-Identifier: Apache-2.0
"""A run whose N_b changes in steps: the request, and how each step went. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..errors import LabError
from ..experiment.load import ExperimentError
from ..experiment.model import Experiment
from ..json_types import JsonObject
from ..limits import acts_at_bytes
from ..traffic import Truth

MOST_CHANGES = 3


@dataclass(frozen=True)
class Asked:
    """The requested run: N_b of each step, the steps' length, the bounds."""

    flows: tuple[int, ...]
    # Length of each step.
    seconds: float
    # Time of each step before it is judged.
    settling_s: float
    loss_rate: float
    delay_ms: float

    @classmethod
    def of(cls, experiment: Experiment) -> Asked:
        """Makes each phase a step of equal length. Raises ExperimentError if they differ."""
        where = f"experiment {experiment.name}"
        steps = experiment.traffic.persistent[0].steps or []
        lengths = {b.at - a.at for a, b in pairwise(steps)}
        settling = {p.settle for p in experiment.phases[1:]} or {
            experiment.run.warmup + experiment.phases[0].settle
        }
        whole = experiment.seconds - (steps[-1].at if steps else 0.0)
        if lengths - {whole} or len(settling) != 1 or len(steps) != len(experiment.phases):
            raise ExperimentError(
                f"{where}: a phase for each step, all steps as long, all but the first with the "
                "same settle"
            )
        targets = experiment.targets
        if targets.loss is None or targets.delay is None:
            raise ExperimentError(f"{where}: targets: give loss and delay, which are judged")
        return cls(
            flows=tuple(s.count for s in steps),
            seconds=whole,
            settling_s=settling.pop(),
            loss_rate=targets.loss,
            delay_ms=1e3 * targets.delay,
        )


@dataclass
class Step:
    n_b: int
    # Seconds since the start of the first step.
    start_s: float
    end_s: float
    limits_bytes: list[int]
    changes: int
    # Limit in force when the step ended.
    last_limit_bytes: float
    n_b_estimated: float | None
    utilisation: float
    loss_rate: float
    delay_max_ms: float
    # Loss rate in the time before it is judged.
    settling_loss_rate: float
    settling_delay_max_ms: float

    def problems(self, asked: Asked) -> list[str]:
        found = []
        if self.loss_rate > asked.loss_rate:
            found.append(f"loss {self.loss_rate:.3%} is above {asked.loss_rate:.3%}")
        if self.delay_max_ms > asked.delay_ms:
            found.append(f"delay {self.delay_max_ms:.1f} ms is above {asked.delay_ms:g} ms")
        if self.changes > MOST_CHANGES:
            found.append(f"{self.changes} changes are more than {MOST_CHANGES}")
        return found


class Record:
    """All data of a run on one time axis: seconds since the first step."""

    def __init__(
        self,
        asked: Asked,
        truth: Truth,
        samples: list[JsonObject],
        series: JsonObject,
        changes: list[JsonObject],
    ):
        self.asked = asked
        starts = [f["start"]["unix_ns"] for f in truth.flows if f["kind"] == "lbp"]
        self._zero_unix_ns = min(starts)
        # The watermark lags by as long as the collector holds reports; the smallest lag counts.
        self._unix_minus_switch_ns = min(s["unix_ns"] - s["now_ns"] for s in samples)
        at = np.array(series["time_ns"], dtype=float) + self._unix_minus_switch_ns
        self.time_s = (at - self._zero_unix_ns) / 1e9
        self.step_s = series["step_ns"] / 1e9
        columns = ("arrivals", "drops", "delay_max_ms", "utilisation")
        self.columns = {c: np.array(series[c], dtype=float) for c in columns}
        self.limit_bytes = np.array(series["limit_bytes"], dtype=float)
        self.sample_s = np.array([self._since(s["unix_ns"]) for s in samples])
        self.samples = samples
        self.changes = [c for c in changes if c["outcome"] == "set"]

    def _since(self, unix_ns: float) -> float:
        return (unix_ns - self._zero_unix_ns) / 1e9

    def steps(self) -> list[Step]:
        asked = self.asked
        return [
            self._step(n, k * asked.seconds, (k + 1) * asked.seconds)
            for k, n in enumerate(asked.flows)
        ]

    def _step(self, n_b: int, start_s: float, end_s: float) -> Step:
        judged = self._part(start_s + self.asked.settling_s, end_s)
        settling = self._part(start_s, start_s + self.asked.settling_s)
        changed = [
            acts_at_bytes(c["limit"]) or 0
            for c in self.changes
            if start_s <= self._since(c["unix_ms"] * 1e6) < end_s
        ]
        estimates = [
            s["n_b"]
            for s, at in zip(self.samples, self.sample_s, strict=True)
            if start_s + self.asked.settling_s <= at < end_s and s["n_b"] is not None
        ]
        return Step(
            n_b=n_b,
            start_s=start_s,
            end_s=end_s,
            limits_bytes=changed,
            changes=len(changed),
            last_limit_bytes=float(self.limit_bytes[judged][-1]),
            n_b_estimated=float(np.median(estimates)) if estimates else None,
            utilisation=float(self.columns["utilisation"][judged].mean()),
            loss_rate=self._loss(judged),
            delay_max_ms=float(self.columns["delay_max_ms"][judged].max()),
            settling_loss_rate=self._loss(settling),
            settling_delay_max_ms=float(self.columns["delay_max_ms"][settling].max()),
        )

    def _part(self, start_s: float, end_s: float) -> np.ndarray:
        part = (self.time_s >= start_s) & (self.time_s + self.step_s <= end_s)
        # Judges only times that were observed.
        part &= ~np.isnan(self.columns["arrivals"])
        if not part.any():
            raise LabError(f"no telemetry between {start_s:g} and {end_s:g} s")
        return part

    def _loss(self, part: np.ndarray) -> float:
        arrivals = self.columns["arrivals"][part].sum()
        return float(self.columns["drops"][part].sum() / arrivals) if arrivals else 0.0
