# SPDX-License-Identifier: Apache-2.0
"""Judges networks at several limits, one after the other.

Afterwards the capture is analysed twice, with the senders' windows (probed) and without (passive),
and the measurement at each limit predicts the others. Written: `sweep.json`, `sweep.md`, and a
capture for each case.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..experiment.judge import Case, Judge
from ..experiment.load import ExperimentError
from ..json_types import JsonObject
from ..outcome import write_json
from ..progress import Progress
from . import table


@dataclass(frozen=True)
class Sweep(Judge):
    """`seconds`: measured at each limit, in place of the files'."""

    seconds: float | None = None

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--seconds", type=float, help="measured at each limit; default: the files'"
        )

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Sweep:
        if arguments.seconds is not None and arguments.seconds < 2:
            raise ExperimentError("--seconds: at least 2")
        return cls(arguments.seconds)

    def altered(self, document: JsonObject) -> JsonObject:
        for phase in document["phases"]:
            if self.seconds is not None:
                phase["duration"] = f"{self.seconds:g}s"
        return document

    def carry_out(self, case: Case) -> JsonObject:
        run = case.run()
        document: JsonObject = {
            "name": case.name,
            "about": case.point.experiment.about,
            "experiment": case.point.document,
            "phases": table.judge(run, case.paths.binary("tidemark-controller")),
        }
        case.progress.say(table.line(document))
        return document

    def keep(self, out: Path, documents: Sequence[JsonObject]) -> None:
        write_json(out / "sweep.json", {"cases": list(documents)})
        (out / "sweep.md").write_text(table.markdown(documents))

    def conclude(self, out: Path, documents: Sequence[JsonObject], progress: Progress) -> bool:
        """Shows the tables. Estimates that miss the truth are shown, but do not fail the run."""
        progress.say("")
        progress.say(table.markdown(documents))
        progress.say(f"sweep: {out}")
        return True


JUDGE = Sweep
