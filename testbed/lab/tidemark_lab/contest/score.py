# SPDX-License-Identifier: Apache-2.0
"""How a controller kept the bounds, step by step. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..json_types import JsonObject
from ..trial.ranking import shortfall

# Loss comes in bursts: a second is judged by the seconds up to it, so many where the step
# is as old.
TRAILING_S = 5


@dataclass(frozen=True)
class Seconds:
    """Measurements second by second; of `delay_max_ms` the largest."""

    arrivals: npt.NDArray[np.float64]
    lost: npt.NDArray[np.float64]
    utilisation: npt.NDArray[np.float64]
    delay_max_ms: npt.NDArray[np.float64]

    def part(self, first: int, last: int) -> JsonObject:
        """Of the seconds from `first` up to `last`, which is not included."""
        arrivals = float(np.sum(self.arrivals[first:last]))
        lost = float(np.sum(self.lost[first:last]))
        return {
            "utilisation": float(np.mean(self.utilisation[first:last])),
            "loss_rate": lost / arrivals if arrivals else 0.0,
            "delay_max_ms": float(np.max(self.delay_max_ms[first:last])),
        }


@dataclass(frozen=True)
class StepScore:
    """One span of constant traffic."""

    n_b: int
    seconds: int
    outside_s: int
    changes: int
    utilisation: float
    loss_rate: float
    delay_max_ms: float


def steps(
    seconds: Seconds,
    flows: Sequence[int],
    step_s: int,
    change_times_s: Sequence[float],
    targets: JsonObject,
) -> list[StepScore]:
    """`seconds` begin with the first step; a change counts in the step that it falls in."""
    out = []
    for k, n_b in enumerate(flows):
        first = k * step_s
        last = min(first + step_s, len(seconds.arrivals))
        if last <= first:
            break
        outside = sum(
            shortfall(seconds.part(max(first, s + 1 - TRAILING_S), s + 1), targets) > 0
            for s in range(first, last)
        )
        changes = sum(first <= at < first + step_s for at in change_times_s)
        whole = seconds.part(first, last)
        out.append(StepScore(n_b, last - first, outside, changes, **whole))
    return out


def by_second(
    time_s: npt.NDArray[np.float64], columns: dict[str, npt.NDArray[np.float64]], total_s: int
) -> Seconds:
    """From a series with steps shorter than a second; seconds without one are empty."""
    second = np.floor(time_s).astype(int)
    inside = (second >= 0) & (second < total_s)

    def total(name: str) -> npt.NDArray[np.float64]:
        weights = np.nan_to_num(columns[name][inside])
        return np.bincount(second[inside], weights=weights, minlength=total_s).astype(float)

    number = np.maximum(np.bincount(second[inside], minlength=total_s), 1)
    largest = np.zeros(total_s)
    np.maximum.at(largest, second[inside], np.nan_to_num(columns["delay_max_ms"][inside]))
    return Seconds(
        total("arrivals"),
        total("drops") + total("ce_marked"),
        total("utilisation") / number,
        largest,
    )
