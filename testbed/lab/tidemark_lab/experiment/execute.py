# SPDX-License-Identifier: Apache-2.0
"""Carries out the points of a sweep that are not there yet."""

from __future__ import annotations

import resource
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

import tomli_w
from pyroute2.netlink.exceptions import NetlinkError

from .. import signals
from ..errors import LabError, PreflightError
from ..json_types import JsonObject
from ..outcome import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_PREFLIGHT
from ..preflight import Paths
from ..progress import Progress
from . import describe, parallel, rows
from .backend import BackEnd, MeasuredPhase
from .grid import Point
from .load import ExperimentError
from .pace import Pace
from .plan import Plan
from .store import Store

# Starting and ending a run, and reading its capture, before anything is known of it.
OVERHEAD_S = 15.0
FORMAT = 1


@dataclass
class Sweep:
    """What is to be run, on what, and where it goes."""

    points: Sequence[Point]
    back_end: BackEnd
    store: Store
    paths: Paths
    # Captures are most of a run's bytes; without them there are no figures.
    keep_captures: bool = True
    # Runs at a time.
    jobs: int = 1
    # Of simulated runs so far.
    pace: Pace = field(default_factory=Pace)
    # What is to be run after this sweep: it counts for the time that is left of all.
    later: Sequence[Point] = ()


def run(sweep: Sweep, progress: Progress) -> int:
    """The exit code: 0 when every point is there."""
    try:
        _check(sweep)
    except PreflightError as error:
        progress.say(f"lab: {error}")
        return EXIT_PREFLIGHT
    except ExperimentError as error:
        progress.say(str(error))
        return EXIT_PREFLIGHT
    with signals.as_exception():
        try:
            with sweep.store.opened():
                return _run(sweep, progress)
        except signals.Interrupted as interruption:
            progress.say(f"interrupted ({interruption}); run it again to go on")
            return EXIT_INTERRUPTED
        except LabError as error:
            progress.say(f"lab: {error}")
            return EXIT_FAILED


def _check(sweep: Sweep) -> None:
    """Everything that can be known to fail before the first run."""
    if sweep.jobs > 1 and not sweep.back_end.several:
        raise ExperimentError(
            f"{sweep.back_end.name} makes one run at a time: leave out --jobs, or take ns3"
        )
    refuse(sweep.points, sweep.back_end)
    sweep.back_end.ready(sweep.store.root)


def refuse(points: Sequence[Point], back_end: BackEnd) -> None:
    """Raises ExperimentError where a point cannot run there, with everything that it cannot."""
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
        progress.say(f"{done} of {len(sweep.points)} runs are there already")
    failed = (_at_once if sweep.back_end.several else _in_turn)(sweep, todo, done, progress)
    progress.say(f"runs: {sweep.store.root}")
    if failed:
        progress.say(f"lab: {failed} runs failed; the same command tries them again")
    return EXIT_FAILED if failed else EXIT_OK


def _in_turn(sweep: Sweep, todo: Sequence[Point], done: int, progress: Progress) -> int:
    """How many failed."""
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
    """What they take one by one, where a second of a run is one of ours."""
    return sum(p.experiment.seconds + OVERHEAD_S for p in points)


def _at_once(sweep: Sweep, todo: Sequence[Point], done: int, progress: Progress) -> int:
    """How many failed. Simulated time has no fixed relation to ours: what is left goes by the
    runs that were made."""
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
    """Whether the run is complete."""
    try:
        _one(sweep, point, progress)
    except signals.Interrupted:
        sweep.store.discard(point.run_id)
        raise
    except (LabError, OSError, NetlinkError, subprocess.SubprocessError) as error:
        where = sweep.store.fail(point.run_id, str(error))
        progress.say(f"{point.run_id}: {error} (its logs: {where})")
        return False
    return True


def _one(sweep: Sweep, point: Point, progress: Progress) -> None:
    plan = Plan.of(point.experiment, point.seed)
    begin = time.monotonic(), cpu_s()
    run_dir = sweep.store.begin(point.run_id)
    (run_dir / "experiment.toml").write_text(tomli_w.dumps(point.document))
    record: JsonObject = {
        "format": FORMAT,
        "run": point.run_id,
        "experiment": point.experiment.name,
        "back_end": sweep.back_end.name,
        "repetition": point.repetition,
        "seed": point.seed,
        "settings": point.settings,
        "started": datetime.now().isoformat(timespec="seconds"),
        "machine": describe.machine(sweep.paths),
        "offloads": sweep.back_end.offloads(plan),
        "back_end_versions": sweep.back_end.versions(),
    }
    measured = sweep.back_end.run(plan, run_dir, progress)
    record["phases"] = [_phase(p) for p in measured]
    record["rows"] = []
    program = sweep.paths.binary("tidemark-controller")
    for phase in measured:
        record["rows"] += rows.of_phase(program, plan, sweep.back_end, phase, run_dir)
    if not sweep.keep_captures:
        for file in (run_dir / "capture").iterdir():
            file.unlink()
        (run_dir / "capture").rmdir()
    record["took_s"] = round(time.monotonic() - begin[0], 3)
    record["cpu_s"] = round(cpu_s() - begin[1], 3)
    final = sweep.store.complete(point.run_id, record)
    _tell(record["rows"], final, progress)


def cpu_s() -> float:
    """CPU time of this process, and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _phase(phase: MeasuredPhase) -> JsonObject:
    """With its windows: what a figure needs to cut the capture."""
    return {
        "name": phase.name,
        "limits": [limits.document() for limits in phase.limits],
        "windows": [asdict(w) for w in phase.windows],
    }


def _tell(found: list[JsonObject], run_dir: Path, progress: Progress) -> None:
    for row in found:
        progress.say(
            f"  {row['phase']} {row['switch']}: {row['limit_bytes'] / 1e3:.1f} kB, utilisation "
            f"{row['utilisation']:.2%}, lost {row['loss_rate']:.3%}, N_b {row['n_b'] or 0:.1f} "
            f"({row['true_n_b']})"
            + ("" if row["trusted"] else f"  NOT TRUSTED: {row['why_not_trusted']}")
        )


def duration(seconds: float) -> str:
    """As it is told: s, min, or h and min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
