# SPDX-License-Identifier: Apache-2.0
"""Tries the limits: when the controller has estimates, every rule's buffer is noted; then each is
set in turn, let settle, and held until its loss rate is known."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..api import ApiError
from ..errors import LabError
from ..experiment import live as at_controller
from ..experiment.backend import MeasuredPhase
from ..experiment.conduct import Live
from ..experiment.judge import Case, Judge
from ..experiment.load import ExperimentError
from ..json_types import JsonObject
from ..machine import MOST_STOLEN_FRACTION
from ..outcome import write_json
from ..progress import Progress
from . import candidates, ranking, table
from .candidates import Candidate
from .hold import LEAST_S, hold

# Of a row, what a trial takes over.
OF_ROW = {
    **{k: k for k in ("utilisation", "delay_p99_ms", "delay_max_ms", "jain")},
    **{k: k for k in ("completion_p50_ms", "completion_p95_ms")},
    "short_flows": "transfers",
}


@dataclass(frozen=True)
class Trial(Judge):
    # Whose limits are tried; empty: all.
    rules: tuple[str, ...] = ()
    # That a limit is held; None: as the file says.
    most_s: float | None = None

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--rules",
            type=lambda text: tuple(text.split(",")),
            default=(),
            metavar="ID,...",
            help="these alone, by the ids of the controller's rules; advice is one; default: all",
        )
        parser.add_argument(
            "--most", type=float, metavar="SECONDS", help="that a limit is held; default: 40"
        )

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Trial:
        if arguments.most is not None and arguments.most < LEAST_S:
            raise ExperimentError(f"--most: at least {LEAST_S:g}")
        return cls(arguments.rules, arguments.most)

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
                trial |= {key: row[name] for key, name in OF_ROW.items()}
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
        """Each limit, noted among the trials: measured, or refused."""
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
        """The limits that the controller's rules ask for now, and its advice."""
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
        # Drawing takes a second to import.
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
    """One limit: set, settled, measured; or why it was refused."""
    trial: JsonObject = {
        "limit_bytes": candidate.limit_bytes,
        "rules": list(candidate.rules),
        "applies": candidate.applies,
    }
    try:
        why = "trial of " + ", ".join(candidate.rules)
        limits = live.set_limit(0, candidate.limit_bytes, why)
    except ApiError as error:
        # A limit that the controller refuses is a result; a controller that is silent is none.
        if not 400 <= error.status < 500:
            raise
        live.progress.say(f"{label}: {error}")
        return {**trial, "refused": str(error)}, None
    phase, seconds = hold(live, phase_of(candidate.limit_bytes), [limits], label)
    stolen = phase.stolen_cpu_fraction or 0.0
    loss, marked = seconds.loss, seconds.marked
    return {
        **trial,
        "refused": None,
        "loss_rate": loss.value,
        "loss_range": [loss.low, loss.high],
        "marked_rate": marked.value,
        "marked_range": [marked.low, marked.high],
        "loss_settled": seconds.known,
        "stolen_cpu_fraction": stolen,
        "cpu_was_stolen": stolen > MOST_STOLEN_FRACTION,
        "start_unix_ns": phase.windows[0].start_unix_ns,
        "end_unix_ns": phase.windows[0].end_unix_ns,
    }, phase


JUDGE = Trial
