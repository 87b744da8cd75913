# SPDX-License-Identifier: Apache-2.0
"""Common parts of all runs: exit codes, a directory, and results as JSON."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from .errors import LabError

EXIT_OK, EXIT_FAILED, EXIT_PREFLIGHT, EXIT_INTERRUPTED = 0, 1, 2, 130


def new_run_dir(out: Path) -> Path:
    """Makes runs/<local time>; appends a number if it exists already."""
    name = datetime.now().strftime("%Y-%m-%dT%H-%M-%S")
    for attempt in range(100):
        path = (out / (name if attempt == 0 else f"{name}-{attempt}")).resolve()
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise LabError(f"cannot find a free name like {name} in {out}")


def write_json(path: Path, document: dict[str, Any]) -> None:
    write_text(path, json.dumps(document, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replaces a file atomically, so that a reader always sees a whole one."""
    partial = path.with_suffix(".part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
