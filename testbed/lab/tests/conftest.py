# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from tidemark_lab.preflight import Paths


@pytest.fixture(autouse=True)
def _root_or_failure(request):
    """Tests that need root fail without it: a skip would look like a success."""
    if request.node.get_closest_marker("root") and os.geteuid() != 0:
        pytest.fail("needs root: sudo --preserve-env=PATH make test-lab")


@pytest.fixture
def binary():
    """Path of one of the project's programs, which must have been built."""

    def find(name: str):
        path = Paths.find().binary(name)
        assert path.exists(), f"{path} is missing: run make build"
        return path

    return find
