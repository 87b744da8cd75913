# SPDX-License-Identifier: Apache-2.0
"""`python -m tidemark_lab`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import __version__, examples, preflight, steps, sweep
from .demo import options as demo_options
from .demo import run as demo
from .errors import LabError, PreflightError
from .experiment import command as experiment
from .experiment.quantities import rate_bps
from .figures import command as figures
from .iterate import run as iterate
from .outcome import EXIT_OK, EXIT_PREFLIGHT
from .papers import command as papers
from .preflight import Paths, Ports
from .progress import Progress
from .switches import BMV2, EMBEDDED, SWITCHES
from .trial import run as trial

DESCRIPTION = "Experiments on buffers with real TCP in network namespaces, or with simulated TCP."
EXPERIMENT_COMMANDS = {
    "table": experiment.table_from_arguments,
    "compare": experiment.compare_from_arguments,
    "list": experiment.list_from_arguments,
    "figures": figures.from_arguments,
    "paper": papers.from_arguments,
}


def main(argv: list[str] | None = None) -> int:
    progress = Progress()
    try:
        options = parser().parse_args(argv)
    except LabError as error:
        # Defaults are in files of experiments.
        progress.say(f"lab: {error}")
        return EXIT_PREFLIGHT
    if options.command == "clean":
        return _notes(progress, preflight.check_root, preflight.clean_stale)
    if options.command == "steps":
        return steps.from_arguments(options)
    if options.command == "run":
        return experiment.run_from_arguments(options, one=True)
    if options.command == "sweep":
        if options.file is not None:
            return experiment.run_from_arguments(options, one=False)
        return sweep.from_arguments(options)
    if options.command in EXPERIMENT_COMMANDS:
        return EXPERIMENT_COMMANDS[options.command](options)
    if options.command == "iterate":
        return iterate.from_arguments(options)
    if options.command == "trial":
        return trial.from_arguments(options)
    ports = Ports.of(options)
    switch = SWITCHES[options.switch]
    try:
        scenario = switch.scenario(options.seed, options.ecn, options.capacity, options.no_offloads)
    except PreflightError as error:
        progress.say(f"{options.command}: {error}")
        return EXIT_PREFLIGHT
    if options.command == "check":
        return _notes(
            progress,
            switch.check_program,
            lambda: preflight.run(scenario, ports, Paths.find(), options.out),
            switch.check_network,
        )
    times = demo_options.planned()
    return demo.run(
        demo_options.Options(
            switch=switch,
            seconds=options.seconds or times.seconds * switch.times_as_long,
            warmup_s=options.warmup or times.warmup_s * switch.times_as_long,
            settle_s=options.settle or times.settle_s * switch.times_as_long,
            keep=options.keep,
            report=not options.no_report,
            out=options.out,
            ports=ports,
            scenario=scenario,
        ),
        progress,
    )


def _notes(progress: Progress, *steps: Callable[[], list[str] | None]) -> int:
    try:
        for step in steps:
            for note in step() or []:
                progress.say(f"note: {note}")
    except PreflightError as error:
        progress.say(f"lab: {error}")
        return EXIT_PREFLIGHT
    progress.say("ok")
    return EXIT_OK


def _rate(text: str) -> int:
    try:
        return round(rate_bps(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="tidemark-lab", description=DESCRIPTION)
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("clean", help="remove what runs that were killed have left")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--out", type=Path, default=Path("runs"), help="where run directories go")
    common.add_argument("--seed", type=int, default=1, help="of the short flows")
    common.add_argument(
        "--ecn",
        action="store_true",
        help="flows ask for ECN and the switch marks at the limit instead of dropping",
    )
    common.add_argument(
        "--capacity",
        type=_rate,
        metavar="RATE",
        help="of the bottleneck, like 100mbit or 1gbit; default 100mbit, or what BMv2 carries",
    )
    common.add_argument(
        "--no-offloads",
        action="store_true",
        help="hosts send whole packets only, no super-frames of several",
    )
    common.add_argument(
        "--switch",
        choices=sorted(SWITCHES),
        default=EMBEDDED.name,
        help="what the traffic goes through; bmv2 is simple_switch_grpc on PATH",
    )
    Ports.add_options(common)
    commands.add_parser("check", parents=[common], help="can the demo run here?")
    run = commands.add_parser("demo", parents=[common], help="measure, advise, apply, measure")
    run.add_argument("--keep", action="store_true", help="leave it running until Ctrl-C")
    times = demo_options.planned()
    for option, default in (
        ("--seconds", times.seconds),
        ("--warmup", times.warmup_s),
        ("--settle", times.settle_s),
    ):
        run.add_argument(
            option,
            type=_positive,
            metavar="SECONDS",
            help=f"default {default:g}, on BMv2 {default * BMV2.times_as_long:g}"
            + ("; of each phase" if option == "--seconds" else ""),
        )
    run.add_argument("--no-report", action="store_true", help="draw no figures")
    steps.add_arguments(
        commands.add_parser("steps", help="auto mode while the number of flows changes")
    )
    _add_experiment_commands(commands)
    several = commands.add_parser(
        "sweep", help="an experiment over its grid; without a file: scenarios, judged"
    )
    several.add_argument("file", type=Path, nargs="?", help="EXPERIMENT.toml")
    experiment.add_sweep_arguments(several)
    sweep.add_arguments(several)
    iterate.add_arguments(
        commands.add_parser("iterate", help="advise, run again at the advised limit, three rounds")
    )
    trial.add_arguments(
        commands.add_parser("trial", help="the buffer of each rule in turn on the same traffic")
    )
    examples.add_to(top, commands.choices)
    return top


def _add_experiment_commands(commands: Any) -> None:
    one = commands.add_parser("run", help="an experiment, described in a file")
    one.add_argument("--out", type=Path, default=Path("runs"), help="where run directories go")
    experiment.add_run_arguments(one)
    experiment.add_table_arguments(
        commands.add_parser("table", help="all rows of runs as Parquet and CSV")
    )
    experiment.add_compare_arguments(
        commands.add_parser("compare", help="two runs, or sets of runs, side by side")
    )
    commands.add_parser("list", help="the experiments that are there")
    figures.add_arguments(
        commands.add_parser("figures", help="figures from the packets of runs, as SVG and CSV")
    )
    papers.add_arguments(
        commands.add_parser("paper", help="a paper's figures from own packets, beside its values")
    )


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 86_400:
        raise argparse.ArgumentTypeError("seconds above 0, at most a day")
    return value


if __name__ == "__main__":
    sys.exit(main())
