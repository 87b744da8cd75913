# SPDX-License-Identifier: Apache-2.0
"""Tries limits: once the controller has estimates, every rule's buffer is noted; then each is set
in turn, settles, and is held until its loss rate is known. Queue management follows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..api import ApiError
from ..errors import LabError
from ..experiment import live as at_controller
from ..experiment.aqm import Aqm
from ..experiment.backend import MeasuredPhase
from ..experiment.conduct import Live
from ..experiment.judge import Case, Judge
from ..experiment.load import ExperimentError
from ..json_types import JsonObject
from ..outcome import write_json
from ..progress import Progress
from . import candidates, managed, ranking, table
from .candidates import Candidate
from .hold import LEAST_S, tried
from .outcome import of_row


@dataclass(frozen=True)
class Trial(Judge):
    # Rules whose limits are tried; empty: all.
    rules: tuple[str, ...] = ()
    # Longest time to hold a limit; None: the file's.
    most_s: float | None = None
    # Queue management, each in its own run after that of the limits.
    aqms: tuple[Aqm, ...] = ()

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--rules",
            type=lambda text: tuple(text.split(",")),
            default=(),
            metavar="ID,...",
            help="only these rules, by the controller's ids; advice is one; default: all",
        )
        parser.add_argument(
            "--most", type=float, metavar="SECONDS", help="most time to hold a limit; default: 40"
        )
        parser.add_argument(
            "--aqm",
            action="append",
            metavar="LAW",
            help="queue management to rank with the limits, as in EXPERIMENT.toml, repeatable; "
            f"none: only limits; default: {', '.join(managed.DEFAULTS)}",
        )

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Trial:
        if arguments.most is not None and arguments.most < LEAST_S:
            raise ExperimentError(f"--most: at least {LEAST_S:g}")
        return cls(arguments.rules, arguments.most, managed.laws(arguments.aqm))

    def altered(self, document: JsonObject) -> JsonObject:
        if self.most_s is not None:
            document["phases"][0]["duration"] = f"{self.most_s:g}s"
        return document

    def carry_out(self, case: Case) -> JsonObject:
        trials: list[JsonObject] = []
        run = case.run(partial(self.try_all, trials))
        rows = {row["phase"]: row for row in run.rows}
        for trial in trials:
            if row := rows.get(phase_of(trial["limit_bytes"])):
                trial |= of_row(row)
        trials += managed.try_all(case, self.aqms)
        experiment = case.point.experiment
        targets = at_controller.targets(experiment.targets)
        return {
            "name": case.name,
            "about": experiment.about,
            "experiment": case.point.document,
            "targets": targets,
            "trials": ranking.ranked(trials, targets),
        }

    def try_all(self, trials: list[JsonObject], live: Live) -> list[MeasuredPhase]:
        """Measures each limit, and adds its outcome, or its refusal, to the trials."""
        live.begin()
        tried = self.offered(live)
        measured = []
        for number, candidate in enumerate(tried):
            label = f"{live.name}: limit {number + 1} of {len(tried)}"
            trial, phase = tried_one(live, candidate, label)
            trials.append(trial)
            measured += [phase] if phase else []
        return measured

    def offered(self, live: Live) -> list[Candidate]:
        """Returns the limits that the controller's rules and its advice currently ask for."""
        advice = live.links.advice(0).get("advice")
        rules = advice["rules"] if advice else []
        if self.rules:
            known = [*(str(rule["id"]) for rule in rules), candidates.ADVICE]
            if unknown := sorted(set(self.rules) - set(known)):
                raise LabError(f"no rule {', '.join(unknown)}: there are {', '.join(known)}")
            rules = [rule for rule in rules if rule["id"] in self.rules]
            for rule in rules:
                if rule["buffer_bytes"] is None:
                    live.progress.say(f"{rule['id']}: gives no buffer here, left out")
            advice = advice if candidates.ADVICE in self.rules else None
        rails = live.plan.least_limit_bytes, live.plan.most_limit_bytes
        found = candidates.of_rules(rules, advice, *rails)
        if not found:
            raise LabError("no rule gives a buffer: the controller has no estimates of this link")
        return found

    def keep(self, out: Path, documents: Sequence[JsonObject]) -> None:
        write_json(out / "trial.json", {"traffics": documents})
        (out / "trial.md").write_text("\n".join(table.markdown(d) for d in documents))
        # Imported late: the drawing library takes a second to import.
        from ..report.trial import draw

        (out / "trial.svg").write_text(draw(documents))

    def conclude(self, out: Path, documents: Sequence[JsonObject], progress: Progress) -> bool:
        for document in documents:
            progress.say(table.markdown(document))
        return True


def phase_of(limit_bytes: int) -> str:
    return f"limit-{limit_bytes}"


def tried_one(
    live: Live, candidate: Candidate, label: str
) -> tuple[JsonObject, MeasuredPhase | None]:
    """Sets a limit, lets it settle, and measures it; or returns why it was refused."""
    trial: JsonObject = {
        "limit_bytes": candidate.limit_bytes,
        "rules": list(candidate.rules),
        "applies": candidate.applies,
    }
    try:
        why = "trial of " + ", ".join(candidate.rules)
        limits = live.set_limit(0, candidate.limit_bytes, why)
    except ApiError as error:
        # A limit that the controller refuses is a result; an unreachable controller is not.
        if not 400 <= error.status < 500:
            raise
        live.progress.say(f"{label}: {error}")
        return {**trial, "refused": str(error)}, None
    outcome, phase = tried(live, phase_of(candidate.limit_bytes), [limits], label)
    return {**trial, **outcome}, phase


JUDGE = Trial
