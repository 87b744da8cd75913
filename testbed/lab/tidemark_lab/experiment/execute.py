# SPDX-License-Identifier: Apache-2.0
"""The runner: runs the points of a sweep that are still missing, or a judge's cases.

It handles preflight, directories, interruption, errors and `run.json`, whatever is run.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

import tomli_w
from pyroute2.netlink.exceptions import NetlinkError

from .. import signals
from ..errors import LabError, PreflightError
from ..json_types import JsonObject
from ..outcome import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_PREFLIGHT, new_run_dir
from ..preflight import Paths
from ..progress import Progress
from . import describe, parallel, rows, store
from .backend import BackEnd, MeasuredPhase
from .embedded.back_end import Embedded
from .grid import Point
from .judge import Case, Conduct, Judge, Run
from .load import ExperimentError, said
from .pace import Pace
from .plan import Plan
from .store import Store

# Time to start and end a run and to read its capture, before any run has shown it.
OVERHEAD_S = 15.0
# How often to try again while another lab runs.
BUSY_RETRY_S = 5.0
# Errors that end only one run.
RUN_ERRORS = (LabError, OSError, NetlinkError, subprocess.SubprocessError)


@dataclass
class Sweep:
    points: Sequence[Point]
    back_end: BackEnd
    store: Store
    paths: Paths
    # Captures take most of a run's disk space; without them there are no figures.
    keep_captures: bool = True
    # Number of runs at a time.
    jobs: int = 1
    # Pace of the simulated runs so far.
    pace: Pace = field(default_factory=Pace)
    # Runs after this sweep, counted in the time left.
    later: Sequence[Point] = ()


@dataclass
class Judged:
    judge: Judge
    # Name and point of each case.
    cases: Sequence[tuple[str, Point]]
    back_end: BackEnd
    out: Path
    paths: Paths
    keep_captures: bool = True
    # Whether a single file's results go into the run directory itself, not one below.
    one: bool = False
    # How long to wait for another lab on this machine to end.
    wait_s: float = 0.0


def run(sweep: Sweep, progress: Progress) -> int:
    """Runs a sweep. Returns exit code 0 if every point is there."""

    def sweep_all() -> int:
        _check(sweep, progress)
        with sweep.store.opened():
            return _run(sweep, progress)

    return _orderly(sweep_all, "run it again to go on", progress)


def judge(judged: Judged, progress: Progress) -> int:
    """Runs a judge's cases. Returns exit code 0 if every case ran and everything held."""
    return _orderly(lambda: _judge(judged, progress), "everything was removed", progress)


def _orderly(action: Callable[[], int], interrupted: str, progress: Progress) -> int:
    """Returns the exit code of an action, however it ends."""
    with signals.as_exception():
        try:
            return action()
        except (ExperimentError, PreflightError) as error:
            progress.say(said(error))
            return EXIT_PREFLIGHT
        except signals.Interrupted as interruption:
            progress.say(f"interrupted ({interruption}); {interrupted}")
            return EXIT_INTERRUPTED
        except LabError as error:
            progress.say(said(error))
            return EXIT_FAILED


def _judge(judged: Judged, progress: Progress) -> int:
    if judged.back_end.name not in judged.judge.BACK_ENDS:
        raise ExperimentError(
            f"{judged.back_end.name}: this judge needs {' or '.join(judged.judge.BACK_ENDS)}: "
            "choose with --back-end"
        )
    out: Path | None = None
    documents: list[JsonObject] = []
    failed = False
    for name, point in judged.cases:
        try:
            refuse([point], judged.back_end)
            if point.experiment.managed:
                raise ExperimentError(
                    f"{point.experiment.name}: aqm: judges rely on the controller, which does not "
                    "know of it: take `sweep`, or --aqm of a trial"
                )
        except ExperimentError as error:
            if judged.one:
                raise
            progress.say(f"{name}: LEFT OUT: {error}")
            continue
        _ready(judged, progress)
        if out is None:
            out = new_run_dir(judged.out)
            progress.say(f"run directory: {out}")
        run_dir = out if judged.one else out / name
        run_dir.mkdir(exist_ok=True)
        made = partial(make, judged.back_end, judged.paths, progress)
        case = Case(name, point, run_dir, judged.back_end, judged.paths, progress, made)
        try:
            documents.append(judged.judge.carry_out(case))
        except RUN_ERRORS as error:
            progress.say(f"{name}: {error}")
            failed = True
            continue
        judged.judge.keep(out, documents)
    if out is None or not documents:
        return EXIT_FAILED
    held = judged.judge.conclude(out, documents, progress)
    if not judged.keep_captures:
        for capture in list(out.rglob("capture")):
            shutil.rmtree(capture)
    return EXIT_OK if held and not failed else EXIT_FAILED


def _ready(judged: Judged, progress: Progress) -> None:
    deadline = time.monotonic() + judged.wait_s
    while True:
        try:
            for note in judged.back_end.ready(judged.out):
                progress.say(f"note: {note}")
            return
        except PreflightError as error:
            if time.monotonic() > deadline:
                raise
            progress.show(f"waiting: {error}")
        time.sleep(BUSY_RETRY_S)


def _check(sweep: Sweep, progress: Progress) -> None:
    """Checks everything that can be known to fail before the first run."""
    if sweep.jobs > 1 and not sweep.back_end.several:
        raise ExperimentError(
            f"{sweep.back_end.name} makes one run at a time: leave out --jobs, or take ns3"
        )
    refuse(sweep.points, sweep.back_end)
    for note in sweep.back_end.ready(sweep.store.root):
        progress.say(f"note: {note}")


def refuse(points: Sequence[Point], back_end: BackEnd) -> None:
    """Raises ExperimentError with everything that the back end cannot do at some point."""
    for point in points:
        problems = back_end.refuse(Plan.of(point.experiment, point.seed))
        if problems:
            at = ", ".join(f"{k} = {v}" for k, v in point.settings.items())
            head = f"{point.experiment.name}{f' with {at}' if at else ''} on {back_end.name}"
            raise ExperimentError("\n".join(f"{head}: {p}" for p in problems))


def _run(sweep: Sweep, progress: Progress) -> int:
    todo = [p for p in sweep.points if not sweep.store.is_complete(p.run_id)]
    done = len(sweep.points) - len(todo)
    if done:
        progress.say(f"{done} of {len(sweep.points)} runs exist already")
    failed = (_at_once if sweep.back_end.several else _in_turn)(sweep, todo, done, progress)
    progress.say(f"runs: {sweep.store.root}")
    if failed:
        progress.say(f"lab: {failed} runs failed; the same command tries them again")
    return EXIT_FAILED if failed else EXIT_OK


def _in_turn(sweep: Sweep, todo: Sequence[Point], done: int, progress: Progress) -> int:
    """Runs points one by one; returns how many failed."""
    over: list[float] = []
    failed = 0
    for number, point in enumerate(todo):
        left = sum(p.experiment.seconds for p in todo[number:])
        left += (len(todo) - number) * (statistics.median(over) if over else OVERHEAD_S)
        progress.say(
            f"run {done + number + 1} of {len(sweep.points)}: {point.run_id}, "
            f"about {duration(left)} left"
        )
        begin = time.monotonic()
        if not _tried(sweep, point, progress):
            failed += 1
            continue
        over.append(time.monotonic() - begin - point.experiment.seconds)
    return failed


def real_time_s(points: Sequence[Point]) -> float:
    """Duration of the runs one by one in real time."""
    return sum(p.experiment.seconds + OVERHEAD_S for p in points)


def _at_once(sweep: Sweep, todo: Sequence[Point], done: int, progress: Progress) -> int:
    """Runs points in parallel; returns how many failed. Simulated time has no fixed relation to
    real time: the time left is estimated from the completed runs."""
    begins_s: dict[int, float] = {}
    ended_numbers: set[int] = set()

    def begins(number: int) -> None:
        begins_s[number] = time.monotonic()
        waiting = [p for k, p in enumerate(todo) if k not in ended_numbers]
        left = f"about {duration(sweep.pace.left_s(waiting, sweep.jobs))} left"
        if sweep.later:
            whole = sweep.pace.left_s([*waiting, *sweep.later], sweep.jobs)
            left += f", {duration(whole)} of all"
        progress.say(
            f"run {done + number + 1} of {len(sweep.points)}: {todo[number].run_id}, {left}"
        )

    def ended(number: int, died: str) -> None:
        ended_numbers.add(number)
        if sweep.store.is_complete(todo[number].run_id):
            sweep.pace.add(todo[number].experiment, time.monotonic() - begins_s[number])
        if died:
            progress.say(f"{todo[number].run_id}: {died}")

    def make(number: int) -> bool:
        return _tried(sweep, todo[number], Progress(states=False))

    return parallel.run(range(len(todo)), sweep.jobs, make, begins, ended)


def _tried(sweep: Sweep, point: Point, progress: Progress) -> bool:
    """Runs a point; returns whether the run is complete."""
    try:
        run_dir = sweep.store.begin(point.run_id)
        done = make(sweep.back_end, sweep.paths, progress, point, run_dir, None)
        if not sweep.keep_captures:
            shutil.rmtree(run_dir / "capture")
        sweep.store.complete(point.run_id, done.record)
        _tell(done.rows, progress)
    except signals.Interrupted:
        sweep.store.discard(point.run_id)
        raise
    except RUN_ERRORS as error:
        where = sweep.store.fail(point.run_id, str(error))
        progress.say(f"{point.run_id}: {error} (its logs: {where})")
        return False
    return True


def make(
    back_end: BackEnd,
    paths: Paths,
    progress: Progress,
    point: Point,
    run_dir: Path,
    conduct: Conduct | None,
) -> Run:
    """Runs a point in an empty directory and writes its record. `conduct` replaces the phases one
    after the other."""
    plan = Plan.of(point.experiment, point.seed)
    begin = time.monotonic(), cpu_s()
    (run_dir / "experiment.toml").write_text(tomli_w.dumps(point.document))
    record: JsonObject = {
        "format": store.FORMAT,
        "run": point.run_id,
        "experiment": point.experiment.name,
        "back_end": back_end.name,
        "repetition": point.repetition,
        "seed": point.seed,
        "settings": point.settings,
        "started": datetime.now().isoformat(timespec="seconds"),
        "machine": describe.machine(paths),
        "offloads": back_end.offloads(plan),
        "back_end_versions": back_end.versions(),
    }
    if conduct is None:
        measured = back_end.run(plan, run_dir, progress)
    elif isinstance(back_end, Embedded):
        measured = back_end.run(plan, run_dir, progress, conduct)
    else:
        raise ExperimentError(f"{back_end.name}: runs no controller: take embedded")
    record["phases"] = [_phase(p) for p in measured]
    program = paths.binary("tidemark-controller")
    record["rows"] = [
        row for p in measured for row in rows.of_phase(program, plan, back_end, p, run_dir)
    ]
    record["took_s"] = round(time.monotonic() - begin[0], 3)
    record["cpu_s"] = round(cpu_s() - begin[1], 3)
    return Run(plan, run_dir, measured, record)


def cpu_s() -> float:
    """CPU time of this process and of the children it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _phase(phase: MeasuredPhase) -> JsonObject:
    """The record of a phase, with the windows that a figure needs to cut the capture."""
    return {
        "name": phase.name,
        "limits": [limits.document() for limits in phase.limits],
        "windows": [asdict(w) for w in phase.windows],
    }


def _tell(found: list[JsonObject], progress: Progress) -> None:
    for row in found:
        progress.say(
            f"  {row['phase']} {row['switch']}: {row['limit_bytes'] / 1e3:.1f} kB, utilisation "
            f"{row['utilisation']:.2%}, lost {_known(row['loss_rate'], '.3%')}, "
            f"N_b {_known(row['n_b'], '.1f')} "
            f"({row['true_n_b']})"
            + ("" if row["trusted"] else f"  NOT TRUSTED: {row['why_not_trusted']}")
        )


def _known(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def duration(seconds: float) -> str:
    """Formats a duration: s, min, or h and min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
