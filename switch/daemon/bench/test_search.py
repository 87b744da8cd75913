# SPDX-License-Identifier: Apache-2.0
"""The search finds what a device carries."""

from collections.abc import Callable

import pytest
from search import Trial, highest


def device(carries_pps: float, sender_pps: float = 1e9) -> Callable[[float], Trial]:
    """A device that drops frames above its rate."""

    def trial(rate: float) -> Trial:
        offered = min(rate, sender_pps)
        forwarded = min(offered, carries_pps)
        return Trial(rate, offered, forwarded, forwarded, 1 - forwarded / offered, 0, 0)

    return trial


@pytest.mark.parametrize("carries_pps", [900.0, 6_324.0, 114_500.0, 999_000.0])
def test_finds_the_rate_of_a_device(carries_pps: float) -> None:
    found = highest(device(carries_pps), 2e6)
    assert found.best is not None and not found.sender_limited
    # One percent may be lost; the resolution is two percent.
    assert 0.98 * carries_pps <= found.best.wanted_pps <= 1.0102 * carries_pps
    assert found.best.loss <= 0.01
    assert len(found.trials) < 45


def test_one_bad_trial_does_not_hide_a_rate() -> None:
    carries, calls = device(30_000.0), []

    def trial(rate: float) -> Trial:
        calls.append(rate)
        # The first trial of each rate is disturbed.
        bad = calls.count(rate) == 1
        return device(10_000.0)(rate) if bad else carries(rate)

    found = highest(trial, 1e6)
    assert found.best is not None
    assert 0.98 * 30_000 <= found.best.wanted_pps <= 1.0102 * 30_000


def test_a_device_faster_than_the_sender_is_said() -> None:
    found = highest(device(3e6), 2e6)
    assert found.sender_limited and len(found.trials) == 1
    # A sender that is slower with pacing than without.
    found = highest(device(1e6, sender_pps=5e5), 2e6, most_loss=0.6)
    assert found.best is not None


def test_a_device_that_passes_nothing_ends_the_search() -> None:
    def dead(rate: float) -> Trial:
        return Trial(rate, rate, 0, 0, 1.0, 0, 0)

    found = highest(dead, 1e6)
    assert found.best is None and not found.sender_limited
    assert len(found.trials) < 40


def test_a_noisy_trial_narrows_and_ends() -> None:
    honest = device(100_000.0)
    count = 0

    def noisy(rate: float) -> Trial:
        nonlocal count
        count += 1
        t = honest(rate)
        return t if count % 5 else Trial(rate, rate, 0, 0, 1.0, 0, 0)

    found = highest(noisy, 2e6)
    assert found.best is not None and found.best.wanted_pps <= 101_100
    assert len(found.trials) < 30
