# SPDX-License-Identifier: Apache-2.0
"""Follows the advice for some rounds, simulated or on real TCP under a controller."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from ..experiment import live as at_controller
from ..experiment.backend import MeasuredPhase
from ..experiment.conduct import Live
from ..experiment.judge import Case
from ..experiment.load import ExperimentError
from ..json_types import JsonObject
from ..outcome import write_json
from ..progress import Progress
from . import table
from .controlled import Controlled
from .rounds import WRONG, BackEnd, iterate, verdict
from .simulated import Simulated


@dataclass(frozen=True)
class Iterate:
    seconds: float = 60.0
    warmup: float = 15.0
    rounds: int = 3
    # None: the file's seed.
    seed: int | None = None
    passive: bool = False
    keep_captures: bool = False

    BACK_ENDS: ClassVar[tuple[str, ...]] = ("ns3", "embedded", "bmv2")

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--seconds", type=float, default=cls.seconds, help="measured time of each round"
        )
        parser.add_argument(
            "--warmup", type=float, default=cls.warmup, metavar="SECONDS", help="unmeasured start"
        )
        parser.add_argument("--rounds", type=int, default=cls.rounds, help="rounds of advice")
        parser.add_argument("--seed", type=int, help="seed of simulations; default: the file's")
        parser.add_argument("--passive", action="store_true", help="ignore the senders' windows")
        parser.add_argument(
            "--keep",
            dest="keep_captures",
            action="store_true",
            help="keep the captures of simulations",
        )

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Iterate:
        if arguments.seconds < 8 or arguments.rounds < 1 or not 0 <= arguments.warmup <= 600:
            raise ExperimentError(
                "--seconds at least 8, --rounds at least 1, --warmup from 0 to 600"
            )
        return cls(**{field.name: getattr(arguments, field.name) for field in fields(cls)})

    def altered(self, document: JsonObject) -> JsonObject:
        run = document.setdefault("run", {})
        run["warmup"] = f"{self.warmup:g}s"
        if self.seed is not None:
            run["seed"] = self.seed
        document["phases"][0]["duration"] = f"{self.seconds:g}s"
        return document

    def carry_out(self, case: Case) -> JsonObject:
        first = case.point
        rounds: list[JsonObject] = []
        if case.back_end.name == "ns3":
            simulated = Simulated(case, self.passive, self.keep_captures)
            self._follow(simulated, simulated.first_limit_bytes, case, rounds)
        else:

            def conduct(live: Live) -> list[MeasuredPhase]:
                live.begin()
                controlled = Controlled(live)
                self._follow(controlled, controlled.limits.acts_at_bytes, case, rounds)
                return controlled.measured

            case.run(conduct)
        targets = at_controller.targets(first.experiment.targets)
        return document(case.name, first.experiment.about, targets, rounds)

    def _follow(
        self, back_end: BackEnd, first_bytes: int, case: Case, rounds: list[JsonObject]
    ) -> None:
        def told(one: JsonObject) -> None:
            rounds.append(one)
            m = one["measured"]
            case.progress.say(
                f"{case.name}: round {one['round']} at {one['limit_bytes']} bytes: "
                f"utilisation {m['utilisation']:.2%}, lost {m['loss_rate']:.3%}"
            )

        iterate(back_end, first_bytes, self.rounds, told)

    def keep(self, out: Path, documents: Sequence[JsonObject]) -> None:
        write_json(out / "iterate.json", {"traffics": documents})
        text = [table.summary(documents), *(table.markdown(d) for d in documents)]
        (out / "iterate.md").write_text("\n".join(text))
        # Imported late: the drawing library takes a second to import.
        from ..report.iterate import draw

        (out / "iterate.svg").write_text(draw(documents))

    def conclude(self, out: Path, documents: Sequence[JsonObject], progress: Progress) -> bool:
        """Returns False if an experiment ended wrong."""
        for one in documents:
            progress.say(table.markdown(one))
        progress.say(table.summary(documents))
        return all(d["verdict"]["verdict"] != WRONG for d in documents)


def document(name: str, about: str, targets: JsonObject, rounds: list[JsonObject]) -> JsonObject:
    return {
        "name": name,
        "about": about,
        "targets": targets,
        "rounds": rounds,
        "verdict": verdict(rounds, targets),
    }


JUDGE = Iterate
