# SPDX-License-Identifier: Apache-2.0
"""Many scenarios, each at several limits: truth, estimates, predictions side by side.

Every case is a lab of its own with real TCP. Its limits are set one after the other;
each is let settle and then measured. Afterwards the capture is estimated twice, with
the senders' windows (probed) and without (passive), and what was measured at each
limit predicts the others. Written to the run directory: `sweep.json`, `sweep.md`,
and a capture for each case.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from pyroute2.netlink.exceptions import NetlinkError

from . import kernel, preflight, signals, sweep_table
from .api import ApiError
from .control_session import ControlSession, running
from .errors import LabError, PreflightError
from .experiment import as_scenario
from .experiment.load import FILES, ExperimentError
from .experiment.model import Experiment
from .json_types import JsonObject
from .outcome import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PREFLIGHT,
    new_run_dir,
    write_json,
)
from .preflight import Paths, Ports
from .progress import Progress
from .scenario import FRAME_BYTES, Scenario
from .traffic import Truth

# A queue's own room: a limit beyond it would not be the one that drops.
LEAST_LIMIT_BYTES = 8 * FRAME_BYTES
# How often a lab that somebody else runs is waited for, and how long.
BUSY_RETRY_S = 5.0


# The files of the cases; what stands before a case's name in that of its file.
FOLDER, PREFIX = "sweep", "sweep-"


@dataclass(frozen=True)
class Case:
    """A scenario and the limits it is measured at, in C·T̄."""

    name: str
    about: str
    scenario: Scenario
    limits_bdp: tuple[float, ...]
    # At each limit; settled before all but the first.
    seconds: float
    settle_s: float
    warmup_s: float

    @classmethod
    def of(cls, experiment: Experiment) -> Case:
        """Each phase is a limit, all of them as long."""
        phases = experiment.phases
        limits = [p.limit for p in phases if p.limit is not None and p.limit.unit == "bdp"]
        if len(limits) < len(phases) or len({p.duration for p in phases}) > 1:
            raise ExperimentError(
                f"experiment {experiment.name}: phases: a case of the sweep has a limit in bdp in "
                "each, all of the same duration"
            )
        return cls(
            name=experiment.name.removeprefix(PREFIX),
            about=experiment.about,
            scenario=Scenario(**as_scenario.values(experiment)),
            limits_bdp=tuple(limit.number for limit in limits),
            seconds=phases[0].duration,
            settle_s=phases[-1].settle,
            warmup_s=experiment.run.warmup,
        )

    def limits_bytes(self) -> list[int]:
        bdp = self.scenario.bdp_limit_bytes
        return [max(LEAST_LIMIT_BYTES, round(bdp * part)) for part in self.limits_bdp]


@cache
def cases() -> tuple[Case, ...]:
    """Those of testbed/experiments/sweep."""
    return tuple(Case.of(as_scenario.read(p)) for p in sorted((FILES / FOLDER).glob("*.toml")))


@dataclass
class Options:
    cases: tuple[Case, ...] = field(default_factory=cases)
    # In place of what the files say.
    seconds: float | None = None
    out: Path = Path("runs")
    ports: Ports = field(default_factory=Ports)
    # Waits this long for another lab on this machine to end.
    wait_s: float = 0.0


def run(options: Options, progress: Progress) -> int:
    """Runs the cases; the exit code."""
    paths = Paths.find()
    run_dir = None
    documents = []
    failed = False
    with signals.as_exception():
        for case in options.cases:
            if missing := kernel.missing_congestion_control(case.scenario.congestion_controls):
                progress.say(
                    f"{case.name}: LEFT OUT, the kernel has no congestion control {missing}"
                )
                continue
            try:
                _ready(case, options, paths, progress)
            except PreflightError as error:
                progress.say(f"sweep: {error}")
                return EXIT_PREFLIGHT
            run_dir = run_dir or new_run_dir(options.out)
            try:
                documents.append(measure(case, options, paths, run_dir / case.name, progress))
            except signals.Interrupted:
                progress.say("interrupted; everything was removed")
                return EXIT_INTERRUPTED
            except (LabError, ApiError, OSError, NetlinkError) as error:
                progress.say(f"{case.name}: {error}")
                failed = True
                continue
            write_json(run_dir / "sweep.json", {"cases": documents})
            (run_dir / "sweep.md").write_text(sweep_table.markdown(documents))
    if documents:
        progress.say("")
        progress.say(sweep_table.markdown(documents))
        progress.say(f"sweep: {run_dir}")
    return EXIT_FAILED if failed or not documents else EXIT_OK


def _ready(case: Case, options: Options, paths: Paths, progress: Progress) -> None:
    deadline = time.monotonic() + options.wait_s
    while True:
        try:
            preflight.run(case.scenario, options.ports, paths, options.out)
            return
        except PreflightError as error:
            if time.monotonic() > deadline:
                raise
            progress.show(f"waiting: {error}")
        time.sleep(BUSY_RETRY_S)


def measure(
    case: Case, options: Options, paths: Paths, run_dir: Path, progress: Progress
) -> JsonObject:
    """One case, from an empty network to its record; leaves nothing but files."""
    run_dir.mkdir()
    with signals.deferred():
        session = ControlSession(
            case.scenario, options.ports, paths, run_dir, {"control": {"mode": "confirm"}}
        )
    phases = []
    with running(session):
        session.start_network()
        session.start_switch()
        session.start_collector()
        session.start_controller(observe_s=60.0)
        session.controller.post(
            f"{session.link_path}/limit", {"bytes": case.limits_bytes()[0], "reason": "sweep"}
        )
        session.start_traffic()
        session.let_pass(progress, f"{case.name}: warm-up", case.warmup_s)
        for k, limit in enumerate(case.limits_bytes()):
            if k > 0:
                session.controller.post(
                    f"{session.link_path}/limit", {"bytes": limit, "reason": "sweep"}
                )
                session.let_pass(progress, f"{case.name}: settling", case.settle_s)
            start = (session.link()["now_ns"], time.time_ns())
            seconds = options.seconds or case.seconds
            session.let_pass(progress, f"{case.name}: {limit} bytes", seconds)
            end = (session.link()["now_ns"], time.time_ns())
            phases.append({"limit_bytes": limit, "start": start, "end": end})
        session.finish()
    truth = Truth.read(session.truth_path)
    document = {
        "name": case.name,
        "about": case.about,
        "scenario": asdict(case.scenario),
        "phases": sweep_table.judge(
            paths.binary("tidemark-controller"), session.capture_dir, truth, phases
        ),
    }
    progress.say(sweep_table.line(document))
    return document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("runs"), help="where run directories go")
    parser.add_argument(
        "--only",
        type=lambda text: tuple(text.split(",")),
        metavar="NAME,...",
        help="these cases: " + ", ".join(c.name for c in cases()),
    )
    parser.add_argument("--list", action="store_true", help="the cases, nothing is run")
    parser.add_argument("--seconds", type=float, help="of each limit; default: as the files say")
    parser.add_argument(
        "--wait", type=float, default=0.0, metavar="SECONDS", help="for another lab to end"
    )
    Ports.add_options(parser)


def from_arguments(arguments: argparse.Namespace) -> int:
    if arguments.list:
        for case in cases():
            print(f"{case.name:<8} {case.about}; limits {case.limits_bdp} C*T_mean")
        return EXIT_OK
    names = arguments.only or tuple(c.name for c in cases())
    unknown = set(names) - {c.name for c in cases()}
    if unknown or (arguments.seconds or 2) < 2:
        print(
            f"sweep: no case {', '.join(sorted(unknown))}" if unknown else "--seconds: at least 2"
        )
        return EXIT_PREFLIGHT
    options = Options(
        cases=tuple(c for c in cases() if c.name in names),
        seconds=arguments.seconds,
        out=arguments.out,
        ports=Ports.of(arguments),
        wait_s=arguments.wait,
    )
    return run(options, Progress())
