# SPDX-License-Identifier: Apache-2.0
"""`paper NAME --quick`: runs the experiments that are not there yet, then the report."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import LabError
from ..experiment import execute, grid, load
from ..experiment.command import positive
from ..experiment.simulated import Ns3
from ..experiment.store import Store
from ..outcome import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_PREFLIGHT
from ..places import in_clone
from ..preflight import Paths
from ..progress import Progress
from . import bscl, bscl_few, bscl_mix, ngi, oi, report, srb, utb, utb_least, utb_many
from .paper import Figure
from .runs import find

FILES = load.FILES / "papers"
DOCS = "docs/papers"


@dataclass(frozen=True)
class Paper:
    """What is run for it, and what is drawn from the runs."""

    title: str
    experiments: tuple[str, ...]
    figures: Callable[[Path], list[Figure]]


def _utb(root: Path) -> list[Figure]:
    found = [*utb.figures(root), *utb_many.figures(root), *utb_least.figures(root)]
    return sorted(found, key=_number)


def _bscl(root: Path) -> list[Figure]:
    found = [*bscl.figures(root), *bscl_mix.figures(root), *bscl_few.figures(root)]
    return sorted(found, key=_number)


def _oi(root: Path) -> list[Figure]:
    return sorted(oi.figures(root), key=_number)


def _number(figure: Figure) -> int:
    """What is no figure of the paper comes last."""
    return int(figure.name.split()[1]) if figure.name.startswith("Fig.") else 1000


PAPERS = {
    "utb": Paper(
        "Updating the Theory of Buffer Sizing",
        ("utb-ecn", "utb-many", "utb-least", "utb-single", "utb-others"),
        _utb,
    ),
    "bscl": Paper(
        "Buffer Sizing for Congested Internet Links",
        ("bscl-lbp", bscl_few.EXPERIMENT, *bscl_mix.FIGURES),
        _bscl,
    ),
    "srb": Paper("Sizing Router Buffers", ("srb-short", "srb-oc3"), srb.figures),
    "oi": Paper(
        "Open Issues in Router Buffer Sizing",
        ("oi-persistent", "oi-open", "oi-closed", "oi-dsl", "oi-window", "oi-elsewhere"),
        _oi,
    ),
    "ngi": Paper(
        "Buffer Sizing for Elastic Traffic",
        (
            *("ngi-one", "ngi-four", "ngi-mixed", "ngi-flows"),
            *("ngi-buffer", "ngi-transparent", "ngi-sharing"),
        ),
        ngi.figures,
    ),
}


ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", choices=[*sorted(PAPERS), ALL], help="which; all: one by one")
    parser.add_argument("--quick", action="store_true", help="one run of each setting")
    parser.add_argument("--report", action="store_true", help="from runs that are there, no others")
    parser.add_argument("--docs", action="store_true", help="write docs/papers/NAME.md too")
    parser.add_argument(
        "--jobs",
        type=positive,
        default=len(os.sched_getaffinity(0)),
        help="runs at a time; default: one a processor",
    )
    parser.add_argument("--out", type=Path, default=Path("runs/papers"), help="where it goes")


def from_arguments(arguments: argparse.Namespace) -> int:
    """0 when every experiment ran and the report is written, whether or not it agrees. Of `all`
    the first other code; one that fails does not keep the others from being made, but one that is
    interrupted does."""
    progress = Progress()
    if not arguments.quick:
        progress.say("paper: only --quick is there so far: one run of each setting, in simulation")
        return EXIT_PREFLIGHT
    try:
        if arguments.docs:
            in_clone(DOCS)
    except LabError as error:
        progress.say(f"paper --docs: {error}")
        return EXIT_PREFLIGHT
    worst = EXIT_OK
    for name in PAPERS if arguments.name == ALL else [arguments.name]:
        code = _paper(name, arguments, progress)
        worst = worst or code
        if code == EXIT_INTERRUPTED:
            break
    return worst


def _paper(name: str, arguments: argparse.Namespace, progress: Progress) -> int:
    paper = PAPERS[name]
    out: Path = arguments.out / name
    runs = out / "runs"
    if not arguments.report:
        for experiment in paper.experiments:
            if code := _run(experiment, runs, arguments.jobs, progress):
                return code
    try:
        figures = paper.figures(runs)
    except (LabError, OSError) as error:
        progress.say(f"paper {name}: {error}")
        return EXIT_FAILED
    if not figures:
        progress.say(f"paper: no runs of it are in {runs}")
        return EXIT_FAILED
    about = (
        "Every figure is drawn from the packets of runs of testbed/experiments/papers, simulated "
        "with ns-3. Tolerances stand in the code that draws the figure."
    )
    if missing := [e for e in paper.experiments if not find(runs, e)]:
        about += f" There are no runs yet of {', '.join(missing)}: their figures are missing."
    if partly := [text for e in paper.experiments if (text := _partly(e, runs))]:
        about += f" Of some experiments there are a part of the runs: {', '.join(partly)}."
    page = report.write(out, f"{paper.title}: paper beside ours", about, figures)
    if arguments.docs:
        made_by = f"{about} Made by `tidemark_lab paper {name} --quick --docs`."
        report.write_docs(in_clone(DOCS), name, paper.title, made_by, figures)
    progress.say(report.markdown(figures))
    progress.say(f"report: {page}")
    return EXIT_OK


def _partly(name: str, runs: Path) -> str:
    """How many of an experiment's runs are there, where it is some of them."""
    points = grid.points(load.read(FILES / f"{name}.toml"), name)
    store = Store(runs / name)
    there = sum(store.is_complete(p.run_id) for p in points)
    return f"{name} ({there} of {len(points)})" if 0 < there < len(points) else ""


def _run(name: str, runs: Path, jobs: int, progress: Progress) -> int:
    path = FILES / f"{name}.toml"
    try:
        points = grid.points(load.read(path), str(path))
    except LabError as error:
        progress.say(str(error))
        return EXIT_PREFLIGHT
    sweep = execute.Sweep(points, Ns3(), Store(runs / name), Paths.find(), jobs=jobs)
    return execute.run(sweep, progress)
