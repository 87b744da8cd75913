# SPDX-License-Identifier: Apache-2.0
"""The commands `run`, `sweep FILE`, `table`, `compare`, `list`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import cast

from ..errors import LabError
from ..json_types import JsonObject
from ..outcome import EXIT_FAILED, EXIT_OK
from ..preflight import Paths, Ports
from ..progress import Progress
from . import compare, execute, grid, load, table
from .backend import BackEnd
from .bmv2.back_end import Bmv2
from .embedded.back_end import Embedded
from .grid import Point
from .judge import Judge, find
from .load import FILES, ExperimentError
from .model import BACK_ENDS, JUDGES
from .plan import Plan
from .remote.back_end import Remote
from .simulated import Ns3
from .store import Store


def add_run_arguments(parser: argparse.ArgumentParser, file_needed: bool = True) -> None:
    parser.add_argument(
        "file",
        type=Path,
        nargs=None if file_needed else "?",
        help="EXPERIMENT.toml, or the name from `list` of an experiment or a set; with --help: "
        "options of its judge",
    )
    _add_common(parser)
    parser.add_argument("--again", action="store_true", help="repeat runs that exist already")
    judged = parser.add_argument_group("options of files with a judge")
    judged.add_argument("--judge", choices=JUDGES, help="judge in place of the file's")
    judged.add_argument(
        "--only", type=names, metavar="NAME,...", help="only these experiments of a set"
    )
    judged.add_argument("--list", action="store_true", help="list the set, run nothing")
    judged.add_argument(
        "--wait", type=float, default=0.0, metavar="SECONDS", help="wait for another lab to end"
    )


def add_sweep_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="EXPERIMENT.toml, or a name from `list`")
    _add_common(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("runs"), help="directory for the runs")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        dest="overrides",
        help="set a parameter, e.g. traffic.persistent.long.count=4",
    )
    parser.add_argument("--back-end", choices=BACK_ENDS, help="back end in place of the file's")
    parser.add_argument("--full", action="store_true", help="run the file's long form")
    parser.add_argument("--no-captures", action="store_true", help="keep only the rows")
    parser.add_argument(
        "--jobs", type=positive, default=1, help="runs at a time (ns3); default: one"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the runs, run nothing")
    Ports.add_options(parser)


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", help="directories of runs")
    parser.add_argument("--out", type=Path, help="directory of the table; default: the first")


def add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("one", type=Path, help="a run, its capture, or a directory of runs")
    parser.add_argument("other", type=Path, help="the other one")


def sweep_from_arguments(arguments: argparse.Namespace) -> int:
    """Runs a grid and writes its rows, without the file's judge."""
    return _sweep(arguments, find_file(arguments.file))


def run_from_arguments(arguments: argparse.Namespace) -> int:
    """Runs a file without a judge."""
    files = find_files(arguments.file)
    if len(files) > 1:
        raise ExperimentError(f"{arguments.file}: has {len(files)} files: `run` one of them")
    return _sweep(arguments, files[0], one=True)


# Files, their judge, and the options, including the judge's own.
Asked = tuple[list[Path], type[Judge], argparse.Namespace]


def asked_of_judge(words: list[str]) -> Asked | None:
    """Parses the words after `run`; None if the files name no judge. Raises ExperimentError."""
    first = argparse.ArgumentParser(prog="tidemark-lab run", add_help=False)
    add_run_arguments(first, file_needed=False)
    asked, _ = first.parse_known_args([w for w in words if w not in ("-h", "--help")])
    if asked.file is None:
        return None
    files = find_files(asked.file)
    name = asked.judge or _judge_of(files)
    if name is None:
        return None
    judge = find(name)
    parser = argparse.ArgumentParser(prog="tidemark-lab run")
    add_run_arguments(parser)
    judge.add_options(parser)
    return files, judge, parser.parse_args(words)


def options_of(judge: str) -> list[argparse.Action]:
    """Returns the options that only this judge has."""
    parser = argparse.ArgumentParser(add_help=False)
    find(judge).add_options(parser)
    return parser._actions


def run_judged(words: list[str]) -> int | None:
    """Runs files that name a judge, with the judge's own options; None if they name none."""
    asked = asked_of_judge(words)
    return None if asked is None else _judged(*asked)


def _sweep(arguments: argparse.Namespace, file: Path, one: bool = False) -> int:
    """Runs a file's points. `one`: the file must be a single run (per repetition)."""
    progress = Progress()
    points = grid.points(load.read(file), str(file), _overrides(arguments), arguments.full)
    if one and len({p.digest for p in points if p.repetition == 0}) > 1:
        raise ExperimentError(
            f"{arguments.file}: has a grid of {len(points)} runs: take `sweep`, or choose "
            "one point with --set"
        )
    back_end = _back_end(points[0].experiment.run.back_end, arguments)
    out = Store(arguments.out / points[0].experiment.name)
    if arguments.dry_run:
        execute.refuse(points, back_end)
        _tell(points, back_end, out, progress)
        return EXIT_OK
    if getattr(arguments, "again", False):
        for point in points:
            out.remove(point.run_id)
    sweep = execute.Sweep(
        points, back_end, out, Paths.find(), not arguments.no_captures, arguments.jobs
    )
    return execute.run(sweep, progress)


def _judged(files: list[Path], kind: type[Judge], arguments: argparse.Namespace) -> int:
    progress = Progress()
    if arguments.jobs > 1 or arguments.again:
        raise ExperimentError("--jobs and --again need runs without a judge: take `sweep`")
    judge = kind.of(arguments)
    cases = _cases(files, judge, arguments)
    if arguments.list:
        for name, point in cases:
            progress.say(f"{name:<10} {point.experiment.about}")
        return EXIT_OK
    back_end = _back_end(cases[0][1].experiment.run.back_end, arguments)
    if arguments.dry_run:
        for name, point in cases:
            execute.refuse([point], back_end)
            progress.say(f"to run  {point.experiment.seconds:5.0f} s  {name}")
        return EXIT_OK
    judged = execute.Judged(
        judge=judge,
        cases=cases,
        back_end=back_end,
        out=arguments.out,
        paths=Paths.find(),
        keep_captures=not arguments.no_captures,
        one=len(files) == 1,
        wait_s=arguments.wait,
    )
    return execute.judge(judged, progress)


def _cases(
    files: list[Path], judge: Judge, arguments: argparse.Namespace
) -> list[tuple[str, Point]]:
    """Returns name and point of each file."""
    found = []
    for path in files:
        document = judge.altered(load.read(path))
        points = grid.points(document, str(path), _overrides(arguments), arguments.full)
        if len(points) > 1:
            raise ExperimentError(
                f"{path}: has {len(points)} runs, and a judge has one: take `sweep`"
            )
        name = points[0].experiment.name.removeprefix(f"{path.parent.name}-")
        found.append((name, points[0]))
    known = [name for name, _ in found]
    if unknown := sorted(set(arguments.only or ()) - set(known)):
        raise ExperimentError(f"--only: no {', '.join(unknown)}: there are {', '.join(known)}")
    return [case for case in found if arguments.only is None or case[0] in arguments.only]


def _overrides(arguments: argparse.Namespace) -> JsonObject:
    overrides: JsonObject = {}
    for text in arguments.overrides:
        path, equals, value = text.partition("=")
        if not equals:
            raise ExperimentError(f"--set {text}: write PATH=VALUE")
        overrides[path] = load.value(value)
    if arguments.back_end:
        overrides["run.back_end"] = arguments.back_end
    return overrides


def _judge_of(files: list[Path]) -> str | None:
    """Returns the judge that all files name; None if none does."""
    named = {load.read(path).get("judge") for path in files}
    if len(named) > 1 or not named <= {None, *JUDGES}:
        said = ", ".join(sorted(str(n) for n in named))
        raise ExperimentError(f"{files[0]}: judge: {said}: should be one of {', '.join(JUDGES)}")
    return cast("str | None", named.pop())


def find_files(named: Path) -> list[Path]:
    """Returns the files of a set, given by name or path, sorted by name; otherwise the one file."""
    for folder in (FILES / named.name, named):
        if named.suffix != ".toml" and (files := sorted(folder.glob("*.toml"))):
            return files
    return [find_file(named)]


def find_file(named: Path) -> Path:
    """Returns a path, or the path of an experiment that comes with the lab."""
    if named.suffix == ".toml" or named.is_file():
        return named
    found = [p for p in FILES.rglob("*.toml") if p.stem == named.name]
    if len(found) != 1:
        raise ExperimentError(f"{named}: no such experiment; `list` names them")
    return found[0]


def _back_end(name: str, arguments: argparse.Namespace) -> BackEnd:
    if name == "ns3":
        return Ns3()
    if name == "remote":
        return Remote()
    return (Bmv2 if name == "bmv2" else Embedded)(ports=Ports.of(arguments))


def _tell(points: list[Point], back_end: BackEnd, out: Store, progress: Progress) -> None:
    """Prints the runs to standard output, and for the back end `remote` every step of each."""
    for point in points:
        there = "there" if out.is_complete(point.run_id) else "to run"
        progress.say(f"{there:<7} {point.experiment.seconds:5.0f} s  {point.run_id}")
        if isinstance(back_end, Remote):
            plan = Plan.of(point.experiment, point.seed)
            for line in back_end.words(plan, out.partial(point.run_id)):
                print(line)


def table_from_arguments(arguments: argparse.Namespace) -> int:
    try:
        found = table.of_paths(arguments.runs)
        paths = table.write(found, arguments.out or arguments.runs[0])
    except (LabError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return EXIT_FAILED
    doubted = found.filter([not t for t in found["trusted"].to_pylist()]).num_rows
    print(f"{found.num_rows} rows, {doubted} not trusted: {', '.join(map(str, paths))}")
    return EXIT_OK


def compare_from_arguments(arguments: argparse.Namespace) -> int:
    """Returns 1, like `diff`, if the two differ by more than allowed."""
    tables = [table.of_paths([p]) for p in (arguments.one, arguments.other)]
    pairs, alone = compare.pairs(*tables)
    for line in alone:
        print(line)
    print(compare.markdown(pairs), end="")
    return EXIT_FAILED if not pairs or any(p.differences() for p in pairs) else EXIT_OK


def list_from_arguments(_arguments: argparse.Namespace) -> int:
    files = sorted(FILES.rglob("*.toml"))
    if not files:
        raise LabError(f"no experiments in {FILES}")
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
            f"{path.stem:<18} {first.run.back_end:<9} {first.judge or '-':<8} "
            f"{len(points):>3} runs {minutes:5.0f} min  {first.about}"
        )
    return code
