# SPDX-License-Identifier: Apache-2.0
"""Tests the installed wheel."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import tidemark_buffer
from conftest import PACKAGE


def test_the_installed_wheel_is_tested_and_is_typed() -> None:
    place = Path(tidemark_buffer.__file__).parent
    assert not place.is_relative_to(PACKAGE)
    assert (place / "py.typed").is_file()
    assert (place / "_native.pyi").is_file()
    assert metadata.metadata("tidemark-buffer")["Requires-Python"] == ">=3.10"
    assert metadata.requires("tidemark-buffer") is None, "no library is needed"


def test_the_types_are_right(tmp_path: Path) -> None:
    user = tmp_path / "user.py"
    user.write_text(
        "import tidemark_buffer as tb\n"
        'run = tb.Run("x")\n'
        "verdict: tb.Verdict = run.verdict(targets={'loss_rate': 0.01})\n"
        "names: list[str] = [phase.name for phase in run.phases()]\n"
        "columns: dict[str, str] = run.packets(['order']).columns\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", str(user)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
