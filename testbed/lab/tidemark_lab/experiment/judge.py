# SPDX-License-Identifier: Apache-2.0
"""A judge draws conclusions from an experiment's rows; naming it makes a file a command.

The runner (`execute`) handles preflight, directories, interruption, errors and `run.json`; a judge
does the rest.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast

from ..json_types import JsonObject
from ..preflight import Paths
from ..progress import Progress
from ..traffic import Truth
from . import store
from .backend import BackEnd, MeasuredPhase
from .conduct import Live
from .grid import Point
from .plan import Plan
from .rows import kept_link

# Runs an experiment in a running lab, from start to end.
Conduct = Callable[[Live], list[MeasuredPhase]]


@dataclass(frozen=True)
class Run:
    plan: Plan
    # Has `capture/`, `truth.json`, `logs/`, `links/`, `run.json`.
    run_dir: Path
    phases: list[MeasuredPhase]
    # The content of `run.json`, with the rows.
    record: JsonObject

    @property
    def rows(self) -> list[JsonObject]:
        """One row per phase and switch (docs/reference/experiments.md)."""
        rows: list[JsonObject] = self.record["rows"]
        return rows

    def truth(self) -> Truth:
        return Truth.read(self.run_dir / "truth.json")

    def link(self, phase: str, switch: int = 0) -> JsonObject:
        """The complete `analyze` record of a phase: more than its row."""
        name = self.plan.experiment.topology.switches[switch].name
        found: JsonObject = json.loads(kept_link(self.run_dir, phase, name).read_text())
        return found


@dataclass(frozen=True)
class Case:
    # Name of the experiment, without that of its set.
    name: str
    point: Point
    # Exists, and is empty.
    run_dir: Path
    back_end: BackEnd
    paths: Paths
    progress: Progress
    # Runs a point in a directory.
    make: Callable[[Point, Path, Conduct | None], Run]

    def run(
        self,
        conduct: Conduct | None = None,
        changed: JsonObject | None = None,
        seed: int | None = None,
        folder: str | None = None,
    ) -> Run:
        """Runs the file. `conduct` replaces the phases one after the other (embedded, bmv2);
        `changed`: other values for this run, by path; `folder`: subdirectory of the case's, if it
        runs more than once. Raises the runner's errors."""
        point = self.point.changed(changed or {}, seed)
        run_dir = self.run_dir / folder if folder else self.run_dir
        run_dir.mkdir(exist_ok=True)
        run = self.make(point, run_dir, conduct)
        store.write(run_dir, run.record)
        return run


class Judge(Protocol):
    # Back ends that this judge supports; all but `ns3` have a running controller.
    BACK_ENDS: ClassVar[tuple[str, ...]] = ("embedded", "bmv2")

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        """Adds this judge's own options, given after the name of the experiment."""

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Judge:
        """Makes a judge from its options. Raises ExperimentError if they make no sense."""

    def altered(self, document: JsonObject) -> JsonObject:
        """Returns the file as changed by the options, before the overrides of `--set`."""

    def carry_out(self, case: Case) -> JsonObject:
        """Runs a case, as often as needed; returns its record. The runner handles errors."""

    def keep(self, out: Path, documents: Sequence[JsonObject]) -> None:
        """Writes the records of all cases so far; called after each case."""

    def conclude(self, out: Path, documents: Sequence[JsonObject], progress: Progress) -> bool:
        """Reports the judgement after the last case; returns whether everything held."""


def find(name: str) -> type[Judge]:
    module: Any = importlib.import_module(f"..{name}.judge", __package__)
    return cast(type[Judge], module.JUDGE)
