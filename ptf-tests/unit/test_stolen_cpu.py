# SPDX-License-Identifier: Apache-2.0
"""A failure counts when the CPU was the test's own, and only then."""

import unittest

import pytest

from tidemark_ptf.own_time import OwnTime
from tidemark_ptf.stolen_cpu import MOST_ATTEMPTS, cpu_ticks, run_again_while_stolen


class Case(unittest.TestCase):
    """Fails as often as it is told to."""

    # Not one for pytest to collect.
    __test__ = False

    def __init__(self, failures, stolen_ticks, slow=0):
        super().__init__()
        self.slow = slow
        self.failures = failures
        self.stolen_ticks = stolen_ticks
        self.runs = 0
        self.asked = 0

    def ticks(self):
        self.asked += 1
        return 100 * self.asked, self.stolen_ticks * self.asked

    def run(self, result=None):
        run_again_while_stolen(
            self, result, super().run, self.ticks, lambda: self.runs <= self.slow
        )

    def runTest(self):
        self.runs += 1
        self.assertGreater(self.runs, self.failures)


@pytest.mark.parametrize(
    ("failures", "stolen_ticks", "runs", "passes"),
    [
        (0, 40, 1, True),
        (1, 0, 1, False),
        (1, 2, 1, False),
        (2, 40, 3, True),
        (100, 40, MOST_ATTEMPTS, False),
    ],
)
def test_a_failure_counts_when_the_cpu_was_its_own(failures, stolen_ticks, runs, passes):
    case, result = Case(failures, stolen_ticks), unittest.TestResult()
    case.run(result)
    assert (case.runs, result.wasSuccessful(), result.testsRun) == (runs, passes, 1)
    assert len(result.failures) == (not passes)


@pytest.mark.parametrize(
    ("failures", "slow", "runs", "passes"),
    [(2, 2, 3, True), (2, 1, 2, False), (0, 5, 1, True), (100, 100, MOST_ATTEMPTS, False)],
)
def test_a_failure_does_not_count_while_packets_come_too_slowly(failures, slow, runs, passes):
    case, result = Case(failures, 0, slow), unittest.TestResult()
    case.run(result)
    assert (case.runs, result.wasSuccessful()) == (runs, passes)


def test_bursts_take_their_time_by_the_switch_clock():
    own = OwnTime()
    # Two bursts, the second to two ports.
    for count in (3, 4):
        for _ in range(count):
            own.sent()
        own.waited()
        own.waited()
    assert own.longest_burst_ns() is None, "no report has come"
    # In any order: what is dropped is reported at once.
    for time_ns, port in [(30, 2), (10, 2), (25, 2), (100, 2), (190, 3), (107, 2), (195, 3)]:
        own.received(time_ns, port)
    assert own.longest_burst_ns() == 20
    own.received(200, 3)
    assert own.longest_burst_ns() is None, "a report too many"


def test_the_kernel_counts_stolen_time():
    total, stolen = cpu_ticks()
    assert total > stolen >= 0
