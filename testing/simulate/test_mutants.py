# SPDX-License-Identifier: Apache-2.0
"""The planted bugs fit the code."""

import subprocess
from pathlib import Path

import pytest

SIMULATE = Path(__file__).parent
PATCHES = sorted((SIMULATE / "mutants").glob("*.patch"))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda p: p.stem)
def test_a_planted_bug_applies(patch):
    done = subprocess.run(
        ["git", "apply", "--check", patch], cwd=SIMULATE.parents[1], capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stderr}: make the patch again from its changed file"
