# SPDX-License-Identifier: Apache-2.0
"""Directories of runs. An unfinished run's directory is called `.part-NAME` and is renamed when the
run is complete; a continued sweep removes those that a killed sweep left."""

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
# Written last: a directory without it is not a run.
RECORD = "run.json"
# File in the directory of a capture.
CAPTURE = "capture.json"
PATIENCE_S = 3.0
# Format version of the record.
FORMAT = 1


@dataclass(frozen=True)
class Store:
    root: Path

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Locks the store: two sweeps in one directory would remove each other's parts."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("w") as lock:
            _take(lock, self.root)
            for partial in self.root.glob(f"{PARTIAL}*"):
                shutil.rmtree(partial)
            yield

    def is_complete(self, run_id: str) -> bool:
        return (self.root / run_id / RECORD).is_file()

    def partial(self, run_id: str) -> Path:
        """Directory of an unfinished run."""
        return (self.root / f"{PARTIAL}{run_id}").resolve()

    def begin(self, run_id: str) -> Path:
        path = self.partial(run_id)
        path.mkdir()
        return path

    def complete(self, run_id: str, record: JsonObject) -> Path:
        """Makes a run complete."""
        partial = self.root / f"{PARTIAL}{run_id}"
        write(partial, record)
        final = self.root / run_id
        if final.exists():
            shutil.rmtree(final)
        partial.rename(final)
        self._forget_failure(run_id)
        return final

    def fail(self, run_id: str, why: str) -> Path:
        """Keeps a failed run's logs under another name; the next sweep tries the run again."""
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
    """Takes the lock; waits a little, because processes of a killed sweep end just after it."""
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
    """Returns the complete runs in and below these directories, sorted by name; a path to a run's
    capture stands for the run."""
    found: set[Path] = set()
    for path in paths:
        if not path.is_dir():
            raise LabError(f"{path}: is not a directory of runs")
        found |= _at(path)
    return sorted(found)


def _at(path: Path) -> set[Path]:
    # Resolved, because the parent of `.` is `.`.
    run = path.resolve().parent
    if (path / CAPTURE).is_file() and (run / RECORD).is_file():
        return {run}
    records = [path / RECORD] if (path / RECORD).is_file() else path.rglob(RECORD)
    # Only parts below `path`, not those of `path` itself.
    parts = {record.parent: record.parent.relative_to(path).parts for record in records}
    return {r for r, of in parts.items() if not any(p.startswith((PARTIAL, FAILED)) for p in of)}


def write(run_dir: Path, record: JsonObject) -> None:
    """Writes the record; it is on disk when this returns."""
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
