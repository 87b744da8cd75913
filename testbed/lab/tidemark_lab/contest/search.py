# SPDX-License-Identifier: Apache-2.0
"""A search without a model: Bayesian optimisation of the limit over measured windows.

Each window with its limit is a noisy value of one function, the distance from the targets;
the next limit is where the expected improvement is largest. Old windows are forgotten, as
the traffic may have changed since: nothing tells the search that it has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..json_types import JsonObject
from ..trial.ranking import shortfall
from .gaussian_process import expected_improvement, fit

# Limits to choose from, spread geometrically.
CHOICES = 48
# The first limits, as parts of the range of ln(limit): nothing is known yet.
FIRST = (0.75, 0.25, 0.5)
# Windows remembered.
MEMORY = 10
# A smaller buffer that is as good is better, by this for a factor of e.
BUFFER_COST = 0.02


def distance(measured: JsonObject, targets: JsonObject) -> float:
    """From the targets: 0 where all hold, compressed where far away."""
    return math.log1p(shortfall(measured, targets))


@dataclass
class Search:
    """Between a least and a largest limit, bytes."""

    least_bytes: int
    most_bytes: int
    targets: JsonObject
    _seen: list[tuple[float, float]] = field(default_factory=list)
    _asked: int = 0

    def next_limit_bytes(self) -> int:
        """The limit to try now."""
        low, high = math.log(self.least_bytes), math.log(self.most_bytes)
        if self._asked < len(FIRST):
            at = low + FIRST[self._asked] * (high - low)
        else:
            at = self._best(np.linspace(low, high, CHOICES))
        self._asked += 1
        return round(math.exp(at))

    def observe(self, limit_bytes: int, measured: JsonObject) -> None:
        """What a window gave: `utilisation`, `loss_rate`, `delay_max_ms`."""
        at = math.log(limit_bytes)
        cost = BUFFER_COST * (at - math.log(self.least_bytes))
        self._seen.append((at, distance(measured, self.targets) + cost))
        del self._seen[:-MEMORY]

    def _best(self, choices: Sequence[float] | np.ndarray) -> float:
        x = np.array([s[0] for s in self._seen])
        process = fit(x, np.array([s[1] for s in self._seen]))
        at = np.asarray(choices, dtype=float)
        mean, deviation = process.at(at)
        # With noise the least value seen may be luck: the least that the process believes in.
        least = float(np.min(process.at(x)[0]))
        return float(at[int(np.argmax(expected_improvement(mean, deviation, least)))])
