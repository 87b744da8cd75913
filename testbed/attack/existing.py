# SPDX-License-Identifier: Apache-2.0
"""Findings that a test of the programs holds: the test, by the finding's letter."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from programs import REPOSITORY, claim

CARGO_FLAGS = os.environ.get("CARGO_FLAGS", "--release --locked").split()


def cargo(*tests: str) -> Callable[[float], str]:
    """Runs tests, each as crate/target/name; the target `lib` is the library's own."""

    def run(scale: float) -> str:
        for test in tests:
            crate, target, name = test.split("/")
            of = ["--lib"] if target == "lib" else ["--test", target]
            command = ["cargo", "test", "-q", *CARGO_FLAGS, "-p", crate, *of, "--", "--exact", name]
            done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
            told = (done.stdout + done.stderr).strip()
            claim(done.returncode == 0, f"{test}: {told[-2000:]}")
            # A name that no test has runs nothing, and passes.
            claim("1 passed" in done.stdout, f"there is no test {test}")
        return "tests pass: " + ", ".join(test.rsplit("/", 1)[1] for test in tests)

    return run
