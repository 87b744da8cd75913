# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from tidemark_lab.machine import MOST_STOLEN_FRACTION, CpuTime
from tidemark_lab.preflight import Paths, clean_stale


@pytest.fixture(scope="session")
def _nothing_stale():
    """Removes leftovers of a killed run: otherwise the first run would remove them within its own
    test, which compares the namespaces before and after."""
    clean_stale()


@pytest.fixture(autouse=True)
def _root_or_failure(request):
    """Fails tests that need root if it is missing: a skip would look like a success."""
    if request.node.get_closest_marker("root"):
        if os.geteuid() != 0:
            pytest.fail("needs root: sudo --preserve-env=PATH make test-lab")
        request.getfixturevalue("_nothing_stale")


@pytest.fixture
def binary():
    """Returns the path of one of the project's programs, which must have been built."""

    def find(name: str):
        path = Paths.find().binary(name)
        assert path.exists(), f"{path} is missing: run make build"
        return path

    return find


MOST_RERUNS = 7


class _Started:
    cpu = CpuTime.now()


def pytest_runtest_logstart(nodeid, location):
    _Started.cpu = CpuTime.now()


def cpu_time_was_stolen() -> bool:
    """Whether CPU time was stolen since the start of the current test."""
    return _Started.cpu.stolen_fraction_until(CpuTime.now()) > MOST_STOLEN_FRACTION


def pytest_collection_modifyitems(items):
    """Reruns real-time tests of real TCP that failed while the hypervisor took CPU time away: such
    a failure says nothing. pytest counts the reruns."""
    again = pytest.mark.flaky(reruns=MOST_RERUNS, condition=cpu_time_was_stolen)
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(again)
