# SPDX-License-Identifier: Apache-2.0
"""`paper NAME`: makes the missing runs, then the report. Uses the long form of the experiments, or
with `--quick` the short one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import LabError
from ..experiment import execute
from ..experiment.backend import BackEnd
from ..experiment.command import positive
from ..experiment.embedded.back_end import Embedded
from ..experiment.grid import Point
from ..experiment.pace import Pace
from ..experiment.simulated import Ns3
from ..outcome import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_PREFLIGHT
from ..places import in_clone
from ..preflight import Paths, Ports
from ..progress import Progress
from . import bscl, bscl_few, bscl_mix, bscl_table, ngi, oi, report, srb, utb, utb_least, utb_many
from .paper import Figure
from .repetitions import together
from .study import FILES, Study

DOCS = "docs/papers"


@dataclass(frozen=True)
class Paper:
    """A paper: the experiments to run, and the figures drawn from the runs."""

    title: str
    experiments: tuple[str, ...]
    figures: Callable[[Study], list[Figure]]


def _utb(study: Study) -> list[Figure]:
    return [*utb.figures(study), *utb_many.figures(study), *utb_least.figures(study)]


def _bscl(study: Study) -> list[Figure]:
    made = (bscl.figures, bscl_mix.figures, bscl_few.figures, bscl_table.figures)
    return [figure for figures in made for figure in figures(study)]


def _number(figure: Figure) -> int:
    """Sort key: figures that the paper does not have come last."""
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
        oi.figures,
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
    parser.add_argument("name", choices=[*sorted(PAPERS), ALL], help="paper; all: one by one")
    parser.add_argument("--quick", action="store_true", help="one short run of each setting")
    parser.add_argument("--report", action="store_true", help="use only existing runs")
    parser.add_argument("--docs", action="store_true", help="also write docs/papers/NAME.md")
    parser.add_argument(
        "--jobs",
        type=positive,
        help="runs at a time; default: one per processor, one on real TCP",
    )
    parser.add_argument(
        "--back-end",
        choices=("ns3", "embedded"),
        default="ns3",
        help="simulated, or real TCP through the switch (needs root; leaves out and names runs "
        "that it cannot do)",
    )
    parser.add_argument("--out", type=Path, default=Path("runs/papers"), help="output directory")
    Ports.add_options(parser)


def from_arguments(arguments: argparse.Namespace) -> int:
    """Returns 0 if every experiment ran and the report is written, whether or not it agrees. For
    `all`, returns the first other code; a paper that fails does not stop the others, but an
    interruption does."""
    names = list(PAPERS) if arguments.name == ALL else [arguments.name]
    back_end: BackEnd = Embedded(Ports.of(arguments)) if arguments.back_end != "ns3" else Ns3()
    jobs = arguments.jobs or (len(os.sched_getaffinity(0)) if back_end.several else 1)
    made = Made(arguments, jobs)
    try:
        if arguments.docs:
            in_clone(DOCS)
        studies = {name: _study(name, arguments, back_end) for name in names}
        for name, study in studies.items():
            for experiment in PAPERS[name].experiments:
                made.todo[name, experiment] = _missing(study, experiment)
    except LabError as error:
        made.progress.say(f"paper: {error}")
        return EXIT_PREFLIGHT
    if not arguments.report:
        _estimate(studies, made)
    worst = EXIT_OK
    for name, study in studies.items():
        if not any(study.points(e) for e in PAPERS[name].experiments):
            made.progress.say(f"paper {name}: nothing of it runs on {back_end.name}: take ns3")
            if arguments.name != ALL:
                worst = EXIT_PREFLIGHT
            continue
        code = _paper(name, study, made)
        worst = worst or code
        if code == EXIT_INTERRUPTED:
            break
    return worst


@dataclass
class Made:
    """State that the papers of one command share."""

    arguments: argparse.Namespace
    jobs: int
    # Missing runs of each paper's experiments.
    todo: dict[tuple[str, str], list[Point]] = field(default_factory=dict)
    pace: Pace = field(default_factory=Pace)
    progress: Progress = field(default_factory=Progress)

    @property
    def left(self) -> list[Point]:
        return [point for points in self.todo.values() for point in points]


def _study(name: str, arguments: argparse.Namespace, back_end: BackEnd) -> Study:
    form = "" if arguments.quick else "-full"
    study = Study(arguments.out, full=not arguments.quick, files=FILES, back_end=back_end)
    return replace(study, root=arguments.out / f"{name}{form}{study.suffix}" / "runs")


def _missing(study: Study, experiment: str) -> list[Point]:
    store = study.store(experiment)
    return [p for p in study.points(experiment) if not store.is_complete(p.run_id)]


def _estimate(studies: dict[str, Study], made: Made) -> None:
    """Prints the number of runs to make and their duration, extrapolated from existing runs."""
    there = 0
    of_each = [(s, e) for name, s in studies.items() for e in PAPERS[name].experiments]
    for study, experiment in of_each:
        points = {p.run_id: p for p in study.points(experiment)}
        for run in study.find(experiment):
            there += 1
            if took_s := run.record.get("took_s"):
                made.pace.add(points[run.path.name].experiment, took_s)
    left = made.left
    text = f"paper {', '.join(studies)}: {there + len(left)} runs, {there} are there"
    if left:
        real = not of_each[0][0].back_end.several
        left_s = execute.real_time_s(left) if real else made.pace.left_s(left, made.jobs)
        text += f"; about {execute.duration(left_s)} left, {made.jobs} at a time"
    made.progress.say(text)
    for study, experiment in of_each:
        for line in study.left_out(experiment):
            made.progress.say(f"left out: {line}")


def _paper(name: str, study: Study, made: Made) -> int:
    paper, progress = PAPERS[name], made.progress
    for experiment in () if made.arguments.report else paper.experiments:
        del made.todo[name, experiment]
        if study.points(experiment) and (code := _run(study, experiment, made)):
            return code
    try:
        figures = _figures(paper, study)
        if not figures:
            progress.say(f"paper: it has no runs in {study.root}")
            return EXIT_FAILED
        title = f"{paper.title}: paper and ours"
        about = f"{SUBSTRATES[study.suffix][1]}. {_about(paper, study)}"
        page = report.write(study.root.parent, title, about, figures)
        if made.arguments.docs:
            _write_docs(name, study, figures, made.arguments.quick)
    except (LabError, OSError) as error:
        progress.say(f"paper {name}: {error}")
        return EXIT_FAILED
    progress.say(report.markdown(figures))
    progress.say(f"report: {page}")
    return EXIT_OK


# Back end's suffix → addition to a page's title, and the page's beginning.
SUBSTRATES = {
    "": ("simulated", "Simulated with ns-3"),
    "-embedded": ("on real TCP", "Real TCP of the kernel through tidemark-switch"),
}


def _write_docs(name: str, study: Study, figures: list[Figure], quick: bool) -> None:
    """Writes the repository's page, with a link to the other back end's page if it exists. A
    simulated page lists the values that disagree only if there is none of real TCP."""
    folder, suffix = in_clone(DOCS), study.suffix
    first = bool(suffix) or not (folder / f"{name}-embedded.md").exists()
    form = (" --quick" if quick else "") + (f" --back-end {study.back_end.name}" if suffix else "")
    agree = report.summary([c for f in figures for c in f.checks]).removesuffix(".")
    about = f"{SUBSTRATES[suffix][1]}: {agree}; made by `tidemark_lab paper {name}{form} --docs`."
    for other, (what, _) in SUBSTRATES.items():
        if other != suffix and (folder / f"{name}{other}.md").exists():
            about += f" Also {what}: [{name}{other}.md]({name}{other}.md)."
    about += f" {_about(PAPERS[name], study)} The first of several figures states their setting."
    title = f"{PAPERS[name].title}, {SUBSTRATES[suffix][0]}"
    report.write_docs(folder, name + suffix, title, about, figures, first)


def _figures(paper: Paper, study: Study) -> list[Figure]:
    """Returns the figures of all repetitions, merged."""
    repeated = [paper.figures(study.of(r)) for r in study.repetitions(paper.experiments)]
    return sorted(together(repeated), key=_number)


def _about(paper: Paper, study: Study) -> str:
    count = len(study.repetitions(paper.experiments))
    times = "One seed" if count == 1 else f"Means ± standard deviation of up to {count} seeds"
    text = f"{times} of each setting of testbed/experiments/papers."
    if doubted := [r for e in paper.experiments for r in study.doubted(e)]:
        text += f" Not to be trusted: {'; '.join(doubted)}."
    if lines := [line for e in paper.experiments for line in study.left_out(e)]:
        why: dict[str, list[str]] = {}
        for name, _, reason in (line.partition(": ") for line in lines):
            why.setdefault(reason, []).append(name)
        reasons = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in why.items())
        text += f" Left out, as it does not run there: {reasons}."
    if missing := [e for e in paper.experiments if study.points(e) and not study.find(e)]:
        text += f" There are no runs yet of {', '.join(missing)}: their figures are missing."
    if partly := [said for e in paper.experiments if (said := study.partly(e))]:
        text += f" Of some experiments there are a part of the runs: {', '.join(partly)}."
    return text


def _run(study: Study, experiment: str, made: Made) -> int:
    sweep = execute.Sweep(
        study.points(experiment),
        study.back_end,
        study.store(experiment),
        Paths.find(),
        keep_captures=study.captures(experiment),
        jobs=made.jobs,
        pace=made.pace,
        later=made.left,
    )
    return execute.run(sweep, made.progress)
