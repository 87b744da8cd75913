# SPDX-License-Identifier: Apache-2.0
"""Tables that the authors of Updating the Theory of Buffer Sizing published, measured at their
switch, in packets of 9000 bytes. `FOLDER` has an excerpt with all rows."""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent / "ifip21"
# 10 Gb/s, 1.2 ms, 9000 bytes.
BDP_PACKETS = 10e9 / 8 * 1.2e-3 / 9000
# The paper counts a run as full if 99 % of its packets met more than this.
FULL_DEPTH_PACKETS = 2
QUANTILES = (0.01, 0.02, 0.05, 0.10, 0.50, 0.95, 0.99)

Key = tuple[str, int]
# Algorithm, number of flows, buffer in packets.
FairKey = tuple[str, int, float]


def rows(path: Path, columns: list[str]) -> list[dict[str, str]]:
    """Returns the rows of a table that has at least these columns. Raises ValueError."""
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        missing = [c for c in columns if c not in (reader.fieldnames or [])]
        if missing:
            raise ValueError(f"{path}: no column {', '.join(missing)}")
        return list(reader)


def _by_buffer(path: Path, columns: list[str]) -> dict[Key, list[tuple[float, list[float]]]]:
    """For each algorithm and number of flows: (buffer, columns), sorted by buffer."""
    found: dict[Key, list[tuple[float, list[float]]]] = defaultdict(list)
    for row in rows(path, ["algorithm", "num_flows", "max_queue_depth_packets", *columns]):
        key = (row["algorithm"], int(float(row["num_flows"])))
        values = [float(row[c]) for c in columns]
        found[key].append((float(row["max_queue_depth_packets"]), values))
    return {key: sorted(points) for key, points in found.items()}


def smallest_full_buffer(path: Path) -> dict[Key, float]:
    """Smallest limit, in packets, from which on every run was full (Fig. 5a)."""
    found = {}
    for key, points in _by_buffer(path, ["depth_p01"]).items():
        largest_not_full = max((b for b, (d,) in points if d <= FULL_DEPTH_PACKETS), default=0.0)
        if full := [b for b, _ in points if b > largest_not_full]:
            found[key] = min(full)
    return found


@cache
def _queues() -> dict[Key, list[tuple[float, list[float]]]]:
    columns = [f"depth_p{round(100 * q):02d}" for q in QUANTILES]
    return _by_buffer(FOLDER / "generalized_test.csv", columns)


def queue(algorithm: str, flows: int, buffer_bdp: float) -> np.ndarray | None:
    """`QUANTILES` of the queue that packets met, divided by the BDP, interpolated between the runs
    with the next buffers. None outside their range."""
    points = _queues().get((algorithm, flows), [])
    if not points or not points[0][0] <= buffer_bdp * BDP_PACKETS <= points[-1][0]:
        return None
    buffers, values = zip(*points, strict=True)
    at = buffer_bdp * BDP_PACKETS
    return np.array([np.interp(at, buffers, column) for column in zip(*values, strict=True)]) / (
        BDP_PACKETS
    )


def largest(algorithm: str, flows: int, buffer_bdp: float) -> float | None:
    """Worst flow's 95th percentile over BDP/n, interpolated between the next buffers; None outside
    their range."""
    table = _deltas()
    points = sorted((b, v[2]) for (a, n, b), v in table.items() if (a, n) == (algorithm, flows))
    if not points or not points[0][0] <= buffer_bdp * BDP_PACKETS <= points[-1][0]:
        return None
    buffers, values = zip(*points, strict=True)
    return float(np.interp(buffer_bdp * BDP_PACKETS, buffers, values))


@cache
def _deltas() -> dict[FairKey, tuple[float, ...]]:
    return fairness()


def fairness(path: Path = FOLDER / "calculated_deltas.csv") -> dict[FairKey, tuple[float, ...]]:
    """Worst flow's largest window over BDP/n, BDP/n over its 5th percentile, and its 95th
    percentile over BDP/n (Fig. 11)."""
    columns = ["abs_delta_r", "abs_delta_l_tail", "abs_delta_r_tail"]
    return {
        (row["algorithm"].lower(), int(float(row["num_flows"])), float(row["buff_size"])): tuple(
            float(row[c]) for c in columns
        )
        for row in rows(path, ["algorithm", "num_flows", "buff_size", *columns])
    }
