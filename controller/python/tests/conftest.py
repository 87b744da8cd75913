# SPDX-License-Identifier: Apache-2.0
"""The recorded run that the tests and the notebooks read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

PACKAGE = Path(__file__).parents[1]
RUN = PACKAGE / "notebooks" / "two-limits"


@pytest.fixture
def run_copy(tmp_path: Path) -> Path:
    """A copy of the run that a test may damage."""
    return Path(shutil.copytree(RUN, tmp_path / "run"))


@pytest.fixture
def many_files(run_copy: Path) -> Path:
    """The run with at most 500 rows per file: many files per table, as in a long capture."""
    capture = run_copy / "capture"
    for table in ("postcards", "tcp_probe", "events"):
        whole = capture / f"{table}-0000.parquet"
        rows = parquet.read_table(whole)
        whole.unlink()
        for number, start in enumerate(range(0, rows.num_rows, 500)):
            name = f"{table}-{number:04}.parquet"
            parquet.write_table(rows.slice(start, 500), capture / name, compression="zstd")
    return run_copy


def analyze(run: Path, *flags: str) -> list[dict[str, Any]]:
    """Returns the links in the output of `tidemark-controller analyze --json`."""
    program = Path(os.environ["TIDEMARK_BIN_DIR"]) / "tidemark-controller"
    command = [str(program), "analyze", str(run), "--json", *flags]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout)["links"])
