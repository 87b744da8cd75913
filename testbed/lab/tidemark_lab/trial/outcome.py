# SPDX-License-Identifier: Apache-2.0
"""The outcome of a limit, from the controller's answers and the traffic's truth. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..json_types import JsonObject

# Two-sided 90 % quantiles of Student's t; above 30 degrees of freedom, the normal's.
# fmt: off
_STUDENT_90 = (
    6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
    1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725,
    1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697,
)
# fmt: on
_NORMAL_90 = 1.645
# Losses come in bursts about a sawtooth apart: seconds depend on each other, but batches of this
# many hardly.
BATCH_S = 4
# Column of an experiment's row → its name in a trial.
_OF_ROW = {
    **{k: k for k in ("utilisation", "delay_p99_ms", "delay_max_ms", "jain")},
    **{k: k for k in ("completion_p50_ms", "completion_p95_ms")},
    "short_flows": "transfers",
}


def of_row(row: JsonObject) -> JsonObject:
    return {key: row[name] for key, name in _OF_ROW.items()}


@dataclass(frozen=True)
class LossRate:
    """Drops (or CE marks) over arrivals, with its 90 % range by batch means."""

    value: float
    low: float
    high: float

    @property
    def relative_half_width(self) -> float:
        """Infinite if nothing was lost."""
        return (self.high - self.low) / 2 / self.value if self.value > 0 else math.inf


def loss_rate(lost: Sequence[float], arrivals: Sequence[float]) -> LossRate:
    """Loss rate from seconds, or other equal intervals, by a ratio estimator over batches.

    With fewer than two batches the range is 0 to 1.
    """
    all_lost, all_arrivals = float(np.sum(lost)), float(np.sum(arrivals))
    value = all_lost / all_arrivals if all_arrivals else 0.0
    batches = min(len(lost), len(arrivals)) // BATCH_S
    if batches < 2:
        return LossRate(value, 0.0, 1.0)
    used = batches * BATCH_S
    x = np.asarray(lost[:used], dtype=float).reshape(batches, BATCH_S).sum(axis=1)
    y = np.asarray(arrivals[:used], dtype=float).reshape(batches, BATCH_S).sum(axis=1)
    spread = float(np.sqrt(np.sum((x - value * y) ** 2) / (batches - 1) / batches))
    mean = float(np.mean(y))
    half = student_90(batches - 1) * spread / mean if mean else 1.0
    return LossRate(value, max(0.0, value - half), min(1.0, value + half))


def mean_range(values: Sequence[float]) -> tuple[float, float]:
    """90 % range of the mean of seconds, by batch means; with fewer than two batches, the mean
    twice."""
    batches = len(values) // BATCH_S
    mean = float(np.mean(values)) if len(values) else 0.0
    if batches < 2:
        return mean, mean
    means = np.asarray(values[: batches * BATCH_S], dtype=float).reshape(batches, BATCH_S)
    spread = float(np.std(means.mean(axis=1), ddof=1)) / math.sqrt(batches)
    half = student_90(batches - 1) * spread
    return mean - half, mean + half


def student_90(degrees: int) -> float:
    """Half width of the 90 % range of Student's t."""
    return _STUDENT_90[degrees - 1] if 1 <= degrees <= len(_STUDENT_90) else _NORMAL_90


def jain(rates: Sequence[float]) -> float | None:
    """Jain's fairness index, 1/n to 1; None without flows."""
    total, squares = sum(rates), sum(r * r for r in rates)
    return total * total / (len(rates) * squares) if squares > 0 else None


def whole_transfers(
    flows: Sequence[JsonObject], start_unix_ns: int, end_unix_ns: int
) -> list[JsonObject]:
    """Returns the short flows of a truth that began and ended between the two times."""
    return [
        f
        for f in flows
        if f["kind"] == "short"
        and f["complete"]
        and f["start"]["unix_ns"] >= start_unix_ns
        and f["stop"]["unix_ns"] <= end_unix_ns
    ]


def completion_ms(flow: JsonObject) -> float:
    return (flow["stop"]["unix_ns"] - flow["start"]["unix_ns"]) / 1e6


def completion_times_ms(
    flows: Sequence[JsonObject], start_unix_ns: int, end_unix_ns: int
) -> list[float]:
    return [completion_ms(f) for f in whole_transfers(flows, start_unix_ns, end_unix_ns)]


def quantile(values: Sequence[float], fraction: float) -> float | None:
    return float(np.quantile(values, fraction)) if values else None
