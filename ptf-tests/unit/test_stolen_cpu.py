# SPDX-License-Identifier: Apache-2.0
"""A failure counts when the CPU was the test's own, and only then."""

import unittest

import pytest

from tidemark_ptf.stolen_cpu import MOST_ATTEMPTS, cpu_ticks, run_again_while_stolen


class Case(unittest.TestCase):
    """Fails as often as it is told to."""

    # Not one for pytest to collect.
    __test__ = False

    def __init__(self, failures, stolen_ticks):
        super().__init__()
        self.failures = failures
        self.stolen_ticks = stolen_ticks
        self.runs = 0
        self.asked = 0

    def ticks(self):
        self.asked += 1
        return 100 * self.asked, self.stolen_ticks * self.asked

    def run(self, result=None):
        run_again_while_stolen(self, result, super().run, self.ticks)

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


def test_the_kernel_counts_stolen_time():
    total, stolen = cpu_ticks()
    assert total > stolen >= 0
