# SPDX-License-Identifier: Apache-2.0
"""A judge says what the rows of an experiment come to: with a file that names it, it is a command.

The runner (`execute`) owns preflight, directories, interruption, errors and `run.json`; a judge has
what is left.
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

# Carries out a run in a running lab, from its start to its end.
Conduct = Callable[[Live], list[MeasuredPhase]]


@dataclass(frozen=True)
class Run:
    plan: Plan
    # `capture/`, `truth.json`, `logs/`, `links/`, `run.json`.
    run_dir: Path
    phases: list[MeasuredPhase]
    # The content of `run.json`, with the rows.
    record: JsonObject

    @property
    def rows(self) -> list[JsonObject]:
        """One a phase and switch (docs/reference/experiments.md)."""
        rows: list[JsonObject] = self.record["rows"]
        return rows

    def truth(self) -> Truth:
        return Truth.read(self.run_dir / "truth.json")

    def link(self, phase: str, switch: int = 0) -> JsonObject:
        """Everything that `analyze` says of a phase: more than its row."""
        name = self.plan.experiment.topology.switches[switch].name
        found: JsonObject = json.loads(kept_link(self.run_dir, phase, name).read_text())
        return found


@dataclass(frozen=True)
class Case:
    # Of the experiment, without the name of its set.
    name: str
    point: Point
    # Made, and empty.
    run_dir: Path
    back_end: BackEnd
    paths: Paths
    progress: Progress
    # Makes a run of a point in a directory.
    make: Callable[[Point, Path, Conduct | None], Run]

    def run(
        self,
        conduct: Conduct | None = None,
        changed: JsonObject | None = None,
        seed: int | None = None,
        folder: str | None = None,
    ) -> Run:
        """Runs the file. `conduct`: in place of one phase after the other (embedded, bmv2).
        `changed`: other values, by their paths, for this run; `folder`: below the case's
        directory, where it runs more than once. Raises what the runner reports."""
        point = self.point.changed(changed or {}, seed)
        run_dir = self.run_dir / folder if folder else self.run_dir
        run_dir.mkdir(exist_ok=True)
        run = self.make(point, run_dir, conduct)
        store.write(run_dir, run.record)
        return run


class Judge(Protocol):
    # It needs a running controller, unless `ns3` is among them.
    BACK_ENDS: ClassVar[tuple[str, ...]] = ("embedded", "bmv2")

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        """The options that this judge alone knows, after the name of the experiment."""

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Judge:
        """From these options. Raises ExperimentError where they make no sense."""

    def altered(self, document: JsonObject) -> JsonObject:
        """A file as its options change it; before the overrides of `--set`."""

    def carry_out(self, case: Case) -> JsonObject:
        """Runs a case, as often as it takes; what is kept of it. Errors are the runner's."""

    def keep(self, out: Path, documents: Sequence[JsonObject]) -> None:
        """Writes the records, after each case, of all cases so far."""

    def conclude(self, out: Path, documents: Sequence[JsonObject], progress: Progress) -> bool:
        """Says the judgement, after the last case; whether everything held."""


def find(name: str) -> type[Judge]:
    module: Any = importlib.import_module(f"..{name}.judge", __package__)
    return cast(type[Judge], module.JUDGE)
