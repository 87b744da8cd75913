# SPDX-License-Identifier: Apache-2.0
"""The highest rate that a device carries, searched for as RFC 2544 does (section 26.1),
with a bound of loss in place of none."""

from collections.abc import Callable
from dataclasses import dataclass

# A trial at a rate that the sender does not reach to this part says nothing of it.
LEAST_OFFERED = 0.97


@dataclass(frozen=True)
class Trial:
    """One trial: frames per second, and what became of them."""

    wanted_pps: float
    offered_pps: float
    forwarded_pps: float
    reported_pps: float
    # Of the offered frames, those that did not leave, or left without their report.
    loss: float
    sender_cpu_ns: float
    device_cpu_ns: float


@dataclass(frozen=True)
class Highest:
    """The best trial within the bound of loss; `None` when no rate was."""

    best: Trial | None
    # The sender could not offer more: the device may carry it.
    sender_limited: bool
    trials: list[Trial]


def highest(
    trial: Callable[[float], Trial],
    most_pps: float,
    most_loss: float = 0.01,
    resolution: float = 0.02,
    least_part: float = 1e-4,
) -> Highest:
    """Halves the span between a rate that passes and one that does not, until they are
    `resolution` apart. `most_pps`: what the sender can offer, tried first. Nothing below
    `least_part` of it is tried. A rate that fails is tried once more: on a shared machine a
    trial may fail for what others do."""
    trials: list[Trial] = []

    def passes(rate: float) -> bool:
        for _ in range(2):
            trials.append(trial(rate))
            if trials[-1].loss <= most_loss:
                return True
        return False

    if passes(most_pps):
        return Highest(trials[-1], True, trials)
    best: Trial | None = None
    low, high = 0.0, most_pps
    while high > most_pps * least_part and high - low > resolution * high:
        # From above by halves, as a device may be far slower than its sender.
        rate = (low + high) / 2
        if passes(rate):
            best, low = trials[-1], rate
        else:
            high = rate
    limited = best is not None and best.offered_pps < LEAST_OFFERED * best.wanted_pps
    return Highest(best, limited, trials)
