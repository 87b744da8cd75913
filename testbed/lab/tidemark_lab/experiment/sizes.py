# SPDX-License-Identifier: Apache-2.0
"""Distributions of transfer sizes. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from .quantities import Size, Strict

# Payload of a full segment with time stamps.
SEGMENT_BYTES = 1448
# OI §4.2: means of the small, medium and large transfers in packets. The paper does not print
# their shares, only that the largest 30 % of the transfers carry 70 % of the bytes: these do.
OI_MEANS_PACKETS = (15.0, 50.0, 200.0)
OI_SHARES = (0.12, 0.85, 0.03)


class Fixed(Strict):
    """Equal sizes."""

    distribution: Literal["fixed"]
    size: Size = Field(description="size of each transfer")


class Exponential(Strict):
    """Exponential, cut off."""

    distribution: Literal["exponential"]
    mean: Size = Field(description="mean before the cut-off")
    largest: Size = Field(default=400_000, description="cut-off")


class Pareto(Strict):
    """Heavy-tailed, cut off."""

    distribution: Literal["pareto"]
    smallest: Size = Field(description="smallest size")
    shape: float = Field(default=1.5, gt=0, description="tail index; no variance below 2")
    largest: Size = Field(default=10_000_000, description="cut-off")


class OpenIssues(Strict):
    """Sum of the three exponentials of OI §4.2 (means of 15, 50 and 200 packets): the largest
    30 % of the transfers carry 70 % of the bytes."""

    distribution: Literal["oi"]
    largest: Size = Field(default=4_000_000, description="cut-off")


class Uniform(Strict):
    """Uniform (OI §4.2: mice of 3 to 25 packets)."""

    distribution: Literal["uniform"]
    smallest: Size = Field(description="smallest size")
    largest: Size = Field(description="largest size")

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.largest < self.smallest:
            raise ValueError("largest is below smallest")
        return self


SizeDistribution = Annotated[
    Fixed | Exponential | Pareto | OpenIssues | Uniform, Field(discriminator="distribution")
]


def mean_bytes(size: SizeDistribution) -> float:
    """Mean size before the cut-off; after it for a Pareto without a mean (shape up to 1)."""
    if isinstance(size, Fixed):
        return size.size
    if isinstance(size, Exponential):
        return size.mean
    if isinstance(size, Uniform):
        return (size.smallest + size.largest) / 2
    if isinstance(size, Pareto):
        a, least, most = size.shape, size.smallest, size.largest
        if a == 1:
            return least * (1 + np.log(most / least))
        return least * (a - (least / most) ** (a - 1)) / (a - 1)
    parts = zip(OI_SHARES, OI_MEANS_PACKETS, strict=True)
    return sum(share * mean for share, mean in parts) * SEGMENT_BYTES


def draw(size: SizeDistribution, rng: np.random.Generator) -> int:
    """Draws the bytes of one transfer, at least 1."""
    if isinstance(size, Fixed):
        return size.size
    if isinstance(size, Uniform):
        return int(rng.integers(size.smallest, size.largest + 1))
    if isinstance(size, Exponential):
        value = rng.exponential(size.mean)
    elif isinstance(size, Pareto):
        value = size.smallest * (1 + rng.pareto(size.shape))
    else:
        mean = rng.choice(OI_MEANS_PACKETS, p=OI_SHARES)
        value = rng.exponential(mean * SEGMENT_BYTES)
    return int(min(max(round(value), 1), size.largest))


# Keys of distributions that have another name in tidemark-traffic.
TRAFFIC_KEYS = {
    "size": "bytes",
    "mean": "mean_bytes",
    "smallest": "min_bytes",
    "largest": "max_bytes",
}


def as_traffic(size: SizeDistribution) -> dict[str, object]:
    """Returns the distribution in tidemark-traffic's format."""
    out = {TRAFFIC_KEYS.get(key, key): value for key, value in size.model_dump().items()}
    if isinstance(size, OpenIssues):
        parts = zip(OI_SHARES, OI_MEANS_PACKETS, strict=True)
        out["distribution"] = "mix"
        out["parts"] = [{"weight": s, "mean_bytes": m * SEGMENT_BYTES} for s, m in parts]
    return out
