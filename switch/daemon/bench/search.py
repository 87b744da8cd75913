# SPDX-License-Identifier: Apache-2.0
"""Searches for the highest rate that a device carries, as in RFC 2544 (section 26.1), but
with a limit on loss instead of no loss."""

from collections.abc import Callable
from dataclasses import dataclass

# A trial says nothing about a rate of which the sender reached less than this part.
LEAST_OFFERED = 0.97


@dataclass(frozen=True)
class Trial:
    """One trial: frames per second, and what happened to them."""

    wanted_pps: float
    offered_pps: float
    forwarded_pps: float
    reported_pps: float
    # Share of the offered frames that did not leave, or left without their report.
    loss: float
    sender_cpu_ns: float
    device_cpu_ns: float


@dataclass(frozen=True)
class Highest:
    """The best trial within the limit on loss; `None` if no rate was within it."""

    best: Trial | None
    # The sender could not offer more; the device may carry a higher rate.
    sender_limited: bool
    trials: list[Trial]


def highest(
    trial: Callable[[float], Trial],
    most_pps: float,
    most_loss: float = 0.01,
    resolution: float = 0.02,
    least_part: float = 1e-4,
) -> Highest:
    """Halves the interval between a rate that passes and one that fails, down to `resolution`.
    `most_pps`: the most that the sender can offer, tried first. No rate below `least_part`
    of it is tried. A failing rate is tried again: on a shared machine, other work may make a
    trial fail."""
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
        # Halving from above, as a device may be far slower than its sender.
        rate = (low + high) / 2
        if passes(rate):
            best, low = trials[-1], rate
        else:
            high = rate
    limited = best is not None and best.offered_pps < LEAST_OFFERED * best.wanted_pps
    return Highest(best, limited, trials)
