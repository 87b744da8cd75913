# SPDX-License-Identifier: Apache-2.0
"""Judges the demo: whether the measurement can be trusted, and how close the estimates came."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from .. import signals
from ..experiment.backend import MeasuredPhase
from ..experiment.conduct import Live, after_warm_up, of_link
from ..experiment.judge import Case, Judge
from ..experiment.quantities import fraction, rate_bps
from ..json_types import JsonObject
from ..outcome import write_json
from ..progress import Progress
from ..traffic import planned_truth
from . import conclusion, tables, variant
from .variant import Variant


@dataclass
class Demo(Judge):
    wanted: Variant
    stay: bool
    report: bool
    judged: conclusion.Judged | None = None

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--keep", action="store_true", help="leave it running until Ctrl-C")
        for option, dest, what in (
            ("--seconds", "seconds", "length of each phase"),
            ("--warmup", "warmup_s", "time before the first phase"),
            ("--settle", "settle_s", "time after the advice was applied"),
        ):
            words = f"{what}; default: the file's, on BMv2 {variant.TIMES_AS_LONG:g} times that"
            parser.add_argument(option, dest=dest, type=positive_s, metavar="SECONDS", help=words)
        parser.add_argument("--seed", type=int, help="seed of the short flows")
        parser.add_argument(
            "--ecn",
            action="store_true",
            help="flows ask for ECN and the switch marks at the limit instead of dropping",
        )
        parser.add_argument(
            "--capacity",
            dest="capacity_bps",
            type=argument(lambda text: round(rate_bps(text))),
            metavar="RATE",
            help="rate of the bottleneck, like 100mbit or 1gbit; default: the file's, or one that "
            "BMv2 can carry",
        )
        parser.add_argument(
            "--no-offloads",
            dest="offloads",
            action="store_false",
            help="hosts send only whole packets, no super-frames of several",
        )
        parser.add_argument(
            "--confidence",
            type=argument(fraction),
            help="probability of meeting each target at the advised limit, 50%% to "
            "99%%; default: the controller's",
        )
        parser.add_argument(
            "--margin",
            type=argument(fraction),
            help="how far inside the bounds the advice aims, like 10%%",
        )
        parser.add_argument("--no-report", action="store_true", help="draw no figures")

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Demo:
        asked = {f.name: getattr(arguments, f.name) for f in fields(Variant) if f.name != "bmv2"}
        wanted = Variant(bmv2=arguments.back_end == "bmv2", **asked)
        return cls(wanted, arguments.keep, not arguments.no_report)

    def altered(self, document: JsonObject) -> JsonObject:
        return variant.of(document, self.wanted)

    def carry_out(self, case: Case) -> JsonObject:
        run = case.run(self._conduct)
        self.judged = conclusion.judge(run)
        return self.judged.summary

    def keep(self, out: Path, documents: Sequence[JsonObject]) -> None:
        write_json(out / "summary.json", documents[0])

    def conclude(self, out: Path, documents: Sequence[JsonObject], progress: Progress) -> bool:
        assert self.judged is not None
        return self.judged.tell(out, self.report, progress)

    def _conduct(self, live: Live) -> list[MeasuredPhase]:
        plan, progress = live.plan, live.progress
        for line in conclusion.about_network(plan, live.session.layout.run_id):
            progress.say(line)
        live.session.start()
        token = live.session.run_dir / "controller.token"
        progress.say(f"console: {live.session.url}/  (token in {token})")
        live.session.start_traffic()
        progress.say(conclusion.about_traffic(plan))
        live.warm_up(of_link)
        measured = after_warm_up(live, of_link, marked=True)
        if self.stay:
            self._stay(live, measured)
        progress.say("ending")
        return measured

    def _stay(self, live: Live, measured: list[MeasuredPhase]) -> None:
        """Keeps everything running until a signal, if the user asked for that."""
        truths = [planned_truth(live.session.spec) for _ in measured]
        machine = [{"stolen_cpu": phase.stolen_cpu_fraction} for phase in measured]
        document = conclusion.summary_of(
            live.plan, measured, truths, [None] * len(measured), live.session.run_dir, machine
        )
        write_json(live.session.run_dir / "summary.json", document)
        live.progress.say("")
        live.progress.say(tables.text(document))
        live.progress.say(f"running until Ctrl-C; console: {live.session.url}/")
        try:
            while True:
                live.let_pass("running", 3600, of_link)
        except signals.Interrupted:
            return


def argument(read: Callable[[str], float]) -> Callable[[str], float]:
    """Returns a parser of quantities for options that shows its errors unchanged."""

    def typed(text: str) -> float:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return typed


def positive_s(text: str) -> float:
    value = float(text)
    if not 0 < value < 86_400:
        raise argparse.ArgumentTypeError("seconds above 0, at most a day")
    return value


JUDGE = Demo
