# SPDX-License-Identifier: Apache-2.0
"""`paper NAME --quick`: runs the experiments that are not there yet, then the report."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import LabError
from ..experiment import command, describe, execute, grid, load
from ..experiment.simulated import Ns3
from ..experiment.store import Store
from ..outcome import EXIT_FAILED, EXIT_OK, EXIT_PREFLIGHT
from ..preflight import Paths
from ..progress import Progress
from . import bscl, report, utb, utb_many
from .paper import Figure

FILES = command.FILES / "papers"
DOCS = describe.REPOSITORY / "docs" / "papers"


@dataclass(frozen=True)
class Paper:
    """What is run for it, and what is drawn from the runs."""

    title: str
    experiments: tuple[str, ...]
    figures: Callable[[Path], list[Figure]]


def _utb(root: Path) -> list[Figure]:
    found = [*utb.figures(root), *utb_many.figures(root)]
    return sorted(found, key=lambda f: int(f.name.split()[1]))


PAPERS = {
    "utb": Paper(
        "Updating the Theory of Buffer Sizing",
        ("utb-ecn", "utb-many", "utb-single", "utb-others"),
        _utb,
    ),
    "bscl": Paper("Buffer Sizing for Congested Internet Links", ("bscl-lbp",), bscl.figures),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", choices=sorted(PAPERS), help="which")
    parser.add_argument("--quick", action="store_true", help="one run of each setting")
    parser.add_argument("--report", action="store_true", help="from runs that are there, no others")
    parser.add_argument("--docs", action="store_true", help="write docs/papers/NAME.md too")
    parser.add_argument("--out", type=Path, default=Path("runs/papers"), help="where it goes")


def from_arguments(arguments: argparse.Namespace) -> int:
    """0 when every experiment ran and the report is written, whether or not it agrees."""
    progress = Progress()
    if not arguments.quick:
        progress.say("paper: only --quick is there so far: one run of each setting, in simulation")
        return EXIT_PREFLIGHT
    paper = PAPERS[arguments.name]
    out: Path = arguments.out / arguments.name
    runs = out / "runs"
    if not arguments.report:
        for name in paper.experiments:
            if code := _run(name, runs, progress):
                return code
    try:
        figures = paper.figures(runs)
    except (LabError, OSError) as error:
        progress.say(f"paper: {error}")
        return EXIT_FAILED
    if not figures:
        progress.say(f"paper: no runs of it are in {runs}")
        return EXIT_FAILED
    about = (
        "Every figure is drawn from the packets of runs of testbed/experiments/papers, simulated "
        "with ns-3. Tolerances stand in the code that draws the figure."
    )
    page = report.write(out, paper.title, about, figures)
    if arguments.docs:
        made_by = f"{about} Made by `tidemark_lab paper {arguments.name} --quick --docs`."
        report.write_docs(DOCS, arguments.name, paper.title, made_by, figures)
    progress.say(report.markdown(figures))
    progress.say(f"report: {page}")
    return EXIT_OK


def _run(name: str, runs: Path, progress: Progress) -> int:
    path = FILES / f"{name}.toml"
    try:
        points = grid.points(load.read(path), str(path))
    except LabError as error:
        progress.say(str(error))
        return EXIT_PREFLIGHT
    sweep = execute.Sweep(points, Ns3(), Store(runs / name), Paths.find())
    return execute.run(sweep, progress)
