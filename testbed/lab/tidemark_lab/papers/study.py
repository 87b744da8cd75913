# SPDX-License-Identifier: Apache-2.0
"""The runs of a paper: those that its experiment files need, and those that exist."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from ..experiment import grid, load
from ..experiment.backend import BackEnd
from ..experiment.grid import Point
from ..experiment.plan import Plan
from ..experiment.simulated import Ns3, unknown_controls
from ..experiment.store import Store
from ..json_types import JsonObject
from .runs import RunData

FILES = load.FILES / "papers"
# Repetitions of each setting on real TCP in the short form.
REPETITIONS = 3


@dataclass(frozen=True)
class Study:
    """`root` has a folder for each experiment; `full`: use the long form of its file."""

    root: Path
    full: bool = False
    # None: all repetitions.
    repetition: int | None = None
    files: Path = FILES
    back_end: BackEnd = field(default_factory=Ns3)

    def points(self, experiment: str) -> list[Point]:
        """The runs needed by the current file."""
        return [p for p in self._all(experiment) if not self._refused(p)]

    @property
    def as_filed(self) -> bool:
        """Whether the runs use the back end that the files name."""
        return self.back_end.name == "ns3"

    @property
    def suffix(self) -> str:
        """Suffix of folders and pages for runs that are not simulated."""
        return "" if self.as_filed else f"-{self.back_end.name}"

    def left_out(self, experiment: str) -> list[str]:
        """Runs that the back end cannot do, with each reason once."""
        found = [why for p in self._all(experiment) for why in self._refused(p)]
        return [f"{experiment}: {why}" for why in dict.fromkeys(found)]

    def _all(self, experiment: str) -> list[Point]:
        path = self.files / f"{experiment}.toml"
        document = load.read(path)
        other = None if self.as_filed else self._elsewhere(document)
        found = grid.points(document, str(path), other, self.full)
        return [p for p in found if self.repetition in (None, p.repetition)]

    def _elsewhere(self, document: JsonObject) -> JsonObject:
        """Values of a file that differ on real TCP: the short form has several seeds, and the
        kernel's Reno replaces ns-2's, which is a BPF program (see `trust.MOST_WINDOW`)."""
        other: JsonObject = {"run.back_end": self.back_end.name}
        if not self.full:
            other["run.repetitions"] = REPETITIONS
        for kind in ("persistent", "open_loop", "closed_loop"):
            for group in document["traffic"].get(kind, []):
                if group.get("congestion_control") == "newreno":
                    other[f"traffic.{kind}.{group['name']}.congestion_control"] = "reno"
        return other

    def _refused(self, point: Point) -> list[str]:
        if self.as_filed:
            return unknown_controls(point.experiment.traffic)
        return self.back_end.refuse(Plan.of(point.experiment, point.seed))

    def captures(self, experiment: str) -> bool:
        """Whether the figures need packets of the experiment's runs."""
        said = load.read(self.files / f"{experiment}.toml").get("full", {}).get("captures", True)
        return bool(said) or not self.full

    def store(self, experiment: str) -> Store:
        return Store(self.root / experiment)

    def find(self, experiment: str) -> list[RunData]:
        """Complete runs, without those of an older file."""
        store = self.store(experiment)
        there = sorted(p.run_id for p in self.points(experiment) if store.is_complete(p.run_id))
        return [RunData(store.root / run_id) for run_id in there]

    def by_number(self, experiment: str, setting: str) -> list[RunData]:
        """Complete runs, sorted by a numeric setting."""
        return sorted(self.find(experiment), key=lambda r: int(r.setting(setting)))

    def doubted(self, experiment: str) -> list[str]:
        """Runs with phases that are not to be trusted, and the first phase's reason."""
        found = []
        for run in self.find(experiment):
            rows = [row for row in run.record["rows"] if not row["trusted"]]
            if rows:
                phases = ", ".join(row["phase"] for row in rows)
                found.append(f"{run.path.name} ({phases}): {rows[0]['why_not_trusted']}")
        return found

    def repetitions(self, experiments: tuple[str, ...]) -> list[int]:
        """Repetitions with at least one run."""
        stores = {e: self.store(e) for e in experiments}
        return sorted(
            {
                p.repetition
                for e in stores
                for p in self.points(e)
                if stores[e].is_complete(p.run_id)
            }
        )

    def of(self, repetition: int) -> Study:
        return replace(self, repetition=repetition)

    def partly(self, experiment: str) -> str:
        """How many of an experiment's runs exist, if only some do."""
        points, there = self.points(experiment), len(self.find(experiment))
        return f"{experiment} ({there} of {len(points)})" if 0 < there < len(points) else ""
