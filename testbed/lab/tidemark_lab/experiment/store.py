# SPDX-License-Identifier: Apache-2.0
"""Directories of runs. A run counts when its directory has its name: until then it is
`.part-NAME`, and what is left of a killed one is removed when the sweep goes on."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ..errors import LabError
from ..json_types import JsonObject

PARTIAL, FAILED = ".part-", ".failed-"
# Written last: a directory of this name without it is no run.
RECORD = "run.json"
# In the directory of a capture.
CAPTURE = "capture.json"
PATIENCE_S = 3.0
# Of the record.
FORMAT = 1


@dataclass(frozen=True)
class Store:
    root: Path

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Alone: two sweeps in one directory would remove each other's parts."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("w") as lock:
            _take(lock, self.root)
            for partial in self.root.glob(f"{PARTIAL}*"):
                shutil.rmtree(partial)
            yield

    def is_complete(self, run_id: str) -> bool:
        return (self.root / run_id / RECORD).is_file()

    def partial(self, run_id: str) -> Path:
        """Directory of a run while it goes on."""
        return (self.root / f"{PARTIAL}{run_id}").resolve()

    def begin(self, run_id: str) -> Path:
        path = self.partial(run_id)
        path.mkdir()
        return path

    def complete(self, run_id: str, record: JsonObject) -> Path:
        """From now on the run counts."""
        partial = self.root / f"{PARTIAL}{run_id}"
        write(partial, record)
        final = self.root / run_id
        if final.exists():
            shutil.rmtree(final)
        partial.rename(final)
        self._forget_failure(run_id)
        return final

    def fail(self, run_id: str, why: str) -> Path:
        """Its logs stay, under another name; the next sweep tries it again."""
        self._forget_failure(run_id)
        partial = self.root / f"{PARTIAL}{run_id}"
        (partial / "error.txt").write_text(why + "\n")
        failed = self.root / f"{FAILED}{run_id}"
        partial.rename(failed)
        return failed

    def discard(self, run_id: str) -> None:
        shutil.rmtree(self.root / f"{PARTIAL}{run_id}", ignore_errors=True)

    def remove(self, run_id: str) -> None:
        if self.is_complete(run_id):
            shutil.rmtree(self.root / run_id)

    def _forget_failure(self, run_id: str) -> None:
        shutil.rmtree(self.root / f"{FAILED}{run_id}", ignore_errors=True)


def _take(lock: TextIO, root: Path) -> None:
    """Waits a little: the processes of a sweep that was killed end just after it."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise LabError(
                    f"{root}: another process runs here; wait for it, or choose --out DIR"
                ) from error
        time.sleep(0.05)


def find(paths: list[Path]) -> list[Path]:
    """The complete runs in these directories and below, in the order of their names; a run's
    capture stands for the run."""
    found: set[Path] = set()
    for path in paths:
        if not path.is_dir():
            raise LabError(f"{path}: is no directory of runs")
        found |= _at(path)
    return sorted(found)


def _at(path: Path) -> set[Path]:
    # Resolved: the parent of `.` is itself.
    run = path.resolve().parent
    if (path / CAPTURE).is_file() and (run / RECORD).is_file():
        return {run}
    records = [path / RECORD] if (path / RECORD).is_file() else path.rglob(RECORD)
    # Of what is below, not of where it is.
    parts = {record.parent: record.parent.relative_to(path).parts for record in records}
    return {r for r, of in parts.items() if not any(p.startswith((PARTIAL, FAILED)) for p in of)}


def write(run_dir: Path, record: JsonObject) -> None:
    """The record, on the disk when this returns."""
    with (run_dir / RECORD).open("w") as file:
        json.dump(record, file, indent=1)
        file.flush()
        os.fsync(file.fileno())


def read(run_dir: Path) -> JsonObject:
    try:
        record: JsonObject = json.loads((run_dir / RECORD).read_text())
    except (OSError, ValueError) as error:
        raise LabError(f"{run_dir}: {RECORD} cannot be read: {error}") from error
    if (found := record.get("format", FORMAT)) != FORMAT:
        raise LabError(
            f"{run_dir}: {RECORD} has format {found}, this version reads {FORMAT}: use the version "
            "of Tidemark that made it, or run it again"
        )
    return record
