# SPDX-License-Identifier: Apache-2.0
"""`python -m tidemark_lab`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from . import __version__, examples, preflight
from .doctor import add_arguments as add_doctor_arguments
from .doctor import from_arguments as doctor
from .errors import LabError
from .experiment import command as experiment
from .experiment.load import said
from .experiment.model import JUDGES
from .figures import command as figures
from .outcome import EXIT_OK, EXIT_PREFLIGHT
from .papers import command as papers
from .progress import Progress

DESCRIPTION = "Experiments on buffers with real TCP in network namespaces, or with simulated TCP."
# Command → its help text, the function that adds its options, the function that runs it.
COMMANDS: dict[
    str,
    tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]],
] = {
    "run": (
        "run an experiment described in a file, or a set of them",
        experiment.add_run_arguments,
        experiment.run_from_arguments,
    ),
    "sweep": (
        "run an experiment's grid and write its rows",
        experiment.add_sweep_arguments,
        experiment.sweep_from_arguments,
    ),
    "table": (
        "write all rows of runs as Parquet and CSV",
        experiment.add_table_arguments,
        experiment.table_from_arguments,
    ),
    "compare": (
        "compare two runs, or sets of runs",
        experiment.add_compare_arguments,
        experiment.compare_from_arguments,
    ),
    "figures": (
        "draw figures from the packets of runs, as SVG and CSV",
        figures.add_arguments,
        figures.from_arguments,
    ),
    "list": (
        "list the available experiments",
        lambda _: None,
        experiment.list_from_arguments,
    ),
    "clean": (
        "remove leftovers of runs that were killed",
        lambda _: None,
        lambda _: _clean(),
    ),
    "doctor": ("check whether the demo can run here", add_doctor_arguments, doctor),
    "paper": (
        "draw a paper's figures from own packets and compare them with its values",
        papers.add_arguments,
        papers.from_arguments,
    ),
}
# Commands of former versions, and the current command line for each.
FORMER = {
    "demo": "is now `run demo` (--switch is --back-end)",
    "steps": "is now `run steps`",
    "trial": "is now `run trial`",
    "iterate": "is now `run iterate` (on real TCP `run trial --judge iterate`)",
    "check": "is now `doctor` (--switch is --back-end)",
    "contest": "is gone; `run trial` compares the rules",
    "unseen": "is gone",
}


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    if words and (now := FORMER.get(words[0])):
        Progress().say(f"lab: {words[0]} {now}")
        return EXIT_PREFLIGHT
    try:
        if words[:1] == ["run"] and (code := experiment.run_judged(words[1:])) is not None:
            return code
        options = parser().parse_args(words)
        return COMMANDS[options.command][2](options)
    except LabError as error:
        Progress().say(said(error))
        return EXIT_PREFLIGHT


def _clean() -> int:
    progress = Progress()
    preflight.check_root()
    for note in preflight.clean_stale():
        progress.say(f"note: {note}")
    progress.say("ok")
    return EXIT_OK


def manual() -> argparse.ArgumentParser:
    """Returns the parser with the options of every judge, for the single-page manual."""
    top = parser()
    (commands,) = (a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    run = commands.choices["run"]
    for judge in JUDGES:
        group = run.add_argument_group(f"options of the judge {judge}")
        # Several judges share option names, so their options are described here, not parsed.
        group._group_actions += experiment.options_of(judge)
    return top


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="tidemark-lab", description=DESCRIPTION)
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", required=True)
    for name, (about, add_arguments, _) in COMMANDS.items():
        add_arguments(commands.add_parser(name, help=about))
    examples.add_to(top, commands.choices)
    return top


if __name__ == "__main__":
    sys.exit(main())
