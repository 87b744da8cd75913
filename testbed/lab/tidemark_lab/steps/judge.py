# SPDX-License-Identifier: Apache-2.0
"""Judges whether the bounds hold after each step has settled, with few changes of the limit.

Real TCP through the switch, whose controller is set to auto mode once it has seen the first flows.
Written: `steps.json` (what each step was and whether its bounds held) and `steps.svg` (limit,
occupancy, loss and N_b over time).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..api import ApiError
from ..experiment import load
from ..experiment.backend import MeasuredPhase
from ..experiment.conduct import Live, phases
from ..experiment.judge import Case, Judge
from ..experiment.live import in_short
from ..experiment.load import ExperimentError
from ..json_types import JsonObject
from ..markdown import aligned
from ..outcome import write_json
from ..progress import Progress
from .record import MOST_CHANGES, Asked, Record, Step


@dataclass
class Steps(Judge):
    """`flows` and `seconds` replace the file's; None keeps them."""

    flows: tuple[int, ...] | None = None
    seconds: float | None = None
    asked: Asked | None = None
    steps: list[Step] = field(default_factory=list)
    # The controller's answers, about twice a second.
    _samples: list[JsonObject] = field(default_factory=list)
    _series: JsonObject = field(default_factory=dict)
    _changes: list[JsonObject] = field(default_factory=list)

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--flows",
            type=lambda text: tuple(int(n) for n in text.split(",")),
            help="N_b of each step, like 4,40,8; default: the file's",
        )
        parser.add_argument("--seconds", type=float, help="time of each step; default: the file's")

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Steps:
        return cls(arguments.flows, arguments.seconds)

    def altered(self, document: JsonObject) -> JsonObject:
        experiment = load.check(document, str(document.get("name", "steps")))
        asked = Asked.of(experiment)
        flows = self.flows or asked.flows
        seconds = self.seconds or asked.seconds
        if seconds < asked.settling_s + 2 or min(flows) < 1:
            raise ExperimentError(
                f"steps: --seconds must be at least {asked.settling_s + 2:g}, --flows above 0"
            )
        document["traffic"]["persistent"][0]["steps"] = [
            {"at": f"{k * seconds:g}s", "count": count} for k, count in enumerate(flows)
        ]
        first, *others = document["phases"]
        like = others[0] if others else {**first, "settle": f"{asked.settling_s:g}s"}
        duration = f"{seconds - asked.settling_s:g}s"
        document["phases"] = [
            {**(like if k else first), "name": f"step-{k + 1}", "duration": duration}
            for k in range(len(flows))
        ]
        return document

    def carry_out(self, case: Case) -> JsonObject:
        experiment = case.point.experiment
        asked = Asked.of(experiment)
        run = case.run(self._conduct)
        record = Record(asked, run.truth(), self._samples, self._series, self._changes)
        self.asked, self.steps = asked, record.steps()
        # Imported late: the drawing library takes a second to import.
        from ..report.steps import draw

        (case.run_dir / "steps.svg").write_text(draw(record))
        return {
            "flows": asked.flows,
            "seconds": asked.seconds,
            "settling_s": asked.settling_s,
            "bounds": {"loss_rate": asked.loss_rate, "delay_ms": asked.delay_ms},
            "settings": experiment.controller,
            "steps": [asdict(s) | {"problems": s.problems(asked)} for s in self.steps],
            "changes": self._changes,
            "samples": self._samples,
        }

    def keep(self, out: Path, documents: Sequence[JsonObject]) -> None:
        write_json(out / "steps.json", documents[0])

    def conclude(self, out: Path, documents: Sequence[JsonObject], progress: Progress) -> bool:
        assert self.asked is not None
        failed = 0
        progress.say(table(self.steps))
        for step in self.steps:
            for problem in step.problems(self.asked):
                progress.say(f"FAIL  N_b {step.n_b}: {problem}")
                failed += 1
        if not failed:
            progress.say(
                f"ok    every bound held {self.asked.settling_s:g} s after each step, "
                f"with at most {MOST_CHANGES} changes"
            )
        progress.say(f"figure: {out / 'steps.svg'}")
        return not failed

    def _conduct(self, live: Live) -> list[MeasuredPhase]:
        measured = phases(live, self._sample)
        self._series = live.links.series(live.links.link(0)["capture_start_ns"])
        self._changes = live.controller.get("/changes")["changes"]
        return measured

    def _sample(self, live: Live) -> str:
        try:
            sample = sample_of(live.links.link(0))
        except ApiError:
            return ""
        self._samples.append(sample)
        return "  limit {limit_bytes} bytes, advice {advice_bytes}, N_b {n_b}".format(**sample)


def sample_of(link: JsonObject) -> JsonObject:
    return {
        "unix_ns": time.time_ns(),
        "now_ns": link["now_ns"],
        **in_short(link),
    }


def table(steps: Sequence[Step]) -> str:
    head = ("N_b", "estimated", "changes", "limits (kB)", "utilisation", "loss", "delay max")
    rows = [
        (
            str(s.n_b),
            "-" if s.n_b_estimated is None else f"{s.n_b_estimated:.1f}",
            str(s.changes),
            " ".join(f"{b / 1e3:.0f}" for b in s.limits_bytes) or "-",
            f"{s.utilisation:.2%}",
            f"{s.loss_rate:.3%} ({s.settling_loss_rate:.3%} settling)",
            f"{s.delay_max_ms:.1f} ms ({s.settling_delay_max_ms:.1f} settling)",
        )
        for s in steps
    ]
    return "\n".join(aligned(head, rows))


JUDGE = Steps
