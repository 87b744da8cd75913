# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process over one number (Rasmussen and Williams, Gaussian Processes for Machine
Learning, algorithm 2.1), and the expected improvement of a minimum (Jones, Schonlau and
Welch 1998, eq. 15)."""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, exp, pi, sqrt

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
# Tried for the largest marginal likelihood: length scales in units of x, and the part of the
# variance that is noise.
LENGTH_SCALES = (0.3, 0.6, 1.2, 2.4)
NOISE_SHARES = (0.01, 0.05, 0.2, 0.5)
LEAST_VARIANCE = 1e-6


def matern52(a: Vector, b: Vector, length_scale: float) -> Vector:
    """Matérn's covariance of smoothness 5/2 for all pairs; variance 1."""
    r = sqrt(5) * np.abs(a[:, None] - b[None, :]) / length_scale
    return np.asarray((1 + r + r * r / 3) * np.exp(-r))


@dataclass(frozen=True)
class Fit:
    """A process that has seen values."""

    x: Vector
    mean: float
    scale: float
    length_scale: float
    noise: float
    _lower: Vector
    _weights: Vector

    def at(self, x: Vector) -> tuple[Vector, Vector]:
        """Mean and standard deviation of the value without its noise."""
        across = matern52(x, self.x, self.length_scale)
        half = np.linalg.solve(self._lower, across.T)
        variance = np.maximum(1 - np.sum(half**2, axis=0), LEAST_VARIANCE)
        return self.mean + self.scale * (across @ self._weights), self.scale * np.sqrt(variance)


def fit(x: Vector, y: Vector) -> Fit:
    """With the length scale and noise under which the values are likeliest; one value or more."""
    mean, scale = float(np.mean(y)), float(np.std(y)) or 1.0
    z = (y - mean) / scale
    best: tuple[float, Fit] | None = None
    for length_scale in LENGTH_SCALES:
        for noise in NOISE_SHARES:
            covariance = matern52(x, x, length_scale) + noise * np.eye(len(x))
            lower: Vector = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
            weights: Vector = np.asarray(np.linalg.solve(lower.T, np.linalg.solve(lower, z)))
            likelihood = float(-0.5 * z @ weights - np.sum(np.log(np.diag(lower))))
            if best is None or likelihood > best[0]:
                best = (likelihood, Fit(x, mean, scale, length_scale, noise, lower, weights))
    assert best is not None
    return best[1]


def expected_improvement(mean: Vector, deviation: Vector, least: float) -> Vector:
    """Below the least value so far."""
    out = np.empty_like(mean)
    for i, (m, s) in enumerate(zip(mean, deviation, strict=True)):
        u = (least - m) / s
        density = exp(-u * u / 2) / sqrt(2 * pi)
        out[i] = s * (u * (1 + erf(u / sqrt(2))) / 2 + density)
    return out
