# SPDX-License-Identifier: Apache-2.0
"""`run`, `sweep FILE`, `table`, `compare`, `list`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import LabError
from ..outcome import EXIT_FAILED, EXIT_OK, EXIT_PREFLIGHT
from ..preflight import Paths, Ports
from ..progress import Progress
from . import compare, execute, grid, load, store, table
from .backend import BackEnd
from .bmv2.back_end import Bmv2
from .embedded.back_end import Embedded
from .grid import Point
from .load import FILES, ExperimentError
from .model import BACK_ENDS
from .plan import Plan
from .remote.back_end import Remote
from .simulated import Ns3
from .store import Store

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="EXPERIMENT.toml, or the name of one of `list`")
    add_sweep_arguments(parser)
    parser.add_argument("--again", action="store_true", help="also what is there already")
    Ports.add_options(parser)


def add_sweep_arguments(parser: argparse.ArgumentParser) -> None:
    """What `run` and `sweep FILE` share; the ports are added by the commands."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        dest="overrides",
        help="another value for a parameter, e.g. traffic.persistent.long.count=4",
    )
    parser.add_argument("--back-end", choices=BACK_ENDS, help="another than the file says")
    parser.add_argument("--full", action="store_true", help="the long form that the file describes")
    parser.add_argument("--no-captures", action="store_true", help="keep the rows alone")
    parser.add_argument(
        "--jobs", type=positive, default=1, help="runs at a time (ns3); default: one"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would run")


def positive(text: str) -> int:
    """A number of runs at a time."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", help="directories of runs")
    parser.add_argument("--out", type=Path, help="directory of the table; default: the first")


def add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("one", type=Path, help="a run or a directory of runs")
    parser.add_argument("other", type=Path, help="the same")


def run_from_arguments(arguments: argparse.Namespace, one: bool) -> int:
    """`one`: the file must be a single run (of each repetition)."""
    progress = Progress()
    try:
        points = _points(arguments)
        if one and len({p.digest for p in points if p.repetition == 0}) > 1:
            raise ExperimentError(
                f"{arguments.file}: has a grid of {len(points)} runs: take `sweep`, or choose "
                "one point with --set"
            )
        back_end = _back_end(points[0].experiment.run.back_end, arguments)
    except LabError as error:
        progress.say(str(error))
        return EXIT_PREFLIGHT
    out = Store(arguments.out / points[0].experiment.name)
    if arguments.dry_run:
        try:
            execute.refuse(points, back_end)
            _tell(points, back_end, out, progress)
        except LabError as error:
            progress.say(str(error))
            return EXIT_PREFLIGHT
        return EXIT_OK
    if getattr(arguments, "again", False):
        for point in points:
            out.remove(point.run_id)
    sweep = execute.Sweep(
        points, back_end, out, Paths.find(), not arguments.no_captures, arguments.jobs
    )
    return execute.run(sweep, progress)


def _points(arguments: argparse.Namespace) -> list[Point]:
    path = find_file(arguments.file)
    overrides = dict(_override(text) for text in arguments.overrides)
    if arguments.back_end:
        overrides["run.back_end"] = arguments.back_end
    return grid.points(load.read(path), str(path), overrides, arguments.full)


def find_file(named: Path) -> Path:
    """A path, or the name of an experiment that comes with the lab."""
    if named.suffix == ".toml" or named.exists():
        return named
    found = [p for p in FILES.rglob("*.toml") if p.stem == named.name]
    if len(found) != 1:
        raise ExperimentError(f"{named}: no such experiment; `list` names them")
    return found[0]


def _override(text: str) -> tuple[str, object]:
    path, equals, value = text.partition("=")
    if not equals:
        raise ExperimentError(f"--set {text}: write PATH=VALUE")
    try:
        return path, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return path, value


def _back_end(name: str, arguments: argparse.Namespace) -> BackEnd:
    if name == "ns3":
        return Ns3()
    if name == "remote":
        return Remote()
    return (Bmv2 if name == "bmv2" else Embedded)(ports=Ports.of(arguments))


def _tell(points: list[Point], back_end: BackEnd, out: Store, progress: Progress) -> None:
    """The runs, and of a back end that does things elsewhere everything it does, as lines of
    standard output."""
    for point in points:
        there = "there" if out.is_complete(point.run_id) else "to run"
        progress.say(f"{there:<7} {point.experiment.seconds:5.0f} s  {point.run_id}")
        if isinstance(back_end, Remote):
            plan = Plan.of(point.experiment, point.seed)
            for line in back_end.words(plan, out.partial(point.run_id)):
                print(line)


def table_from_arguments(arguments: argparse.Namespace) -> int:
    try:
        found = table.of_runs(store.find(arguments.runs))
        paths = table.write(found, arguments.out or arguments.runs[0])
    except (LabError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return EXIT_FAILED
    doubted = found.filter([not t for t in found["trusted"].to_pylist()]).num_rows
    print(f"{found.num_rows} rows, {doubted} not trusted: {', '.join(map(str, paths))}")
    return EXIT_OK


def compare_from_arguments(arguments: argparse.Namespace) -> int:
    """1 where they differ by more than they may, as `diff` does."""
    try:
        tables = [table.of_runs(store.find([p])) for p in (arguments.one, arguments.other)]
        pairs, alone = compare.pairs(*tables)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return EXIT_PREFLIGHT
    for line in alone:
        print(line)
    print(compare.markdown(pairs), end="")
    return EXIT_FAILED if not pairs or any(p.differences() for p in pairs) else EXIT_OK


def list_from_arguments(_arguments: argparse.Namespace) -> int:
    files = sorted(FILES.rglob("*.toml"))
    if not files:
        print(f"lab: no experiments in {FILES}", file=sys.stderr)
        return EXIT_PREFLIGHT
    code = EXIT_OK
    for path in files:
        try:
            points = grid.points(load.read(path), str(path))
        except LabError as error:
            print(error)
            code = EXIT_FAILED
            continue
        minutes = sum(p.experiment.seconds + execute.OVERHEAD_S for p in points) / 60
        first = points[0].experiment
        print(
            f"{path.stem:<18} {first.run.back_end:<9} {len(points):>3} runs {minutes:5.0f} min  "
            f"{first.about}"
        )
    return code
