# SPDX-License-Identifier: Apache-2.0
"""Runs each controller under the same steps of N_b, a lab of its own for each."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from pyroute2.netlink.exceptions import NetlinkError

from .. import kernel, preflight, signals
from ..api import ApiError
from ..control_session import ControlSession, running
from ..errors import LabError, PreflightError
from ..json_types import JsonObject
from ..machine import MOST_STOLEN_FRACTION, CpuTime
from ..outcome import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PREFLIGHT,
    new_run_dir,
    write_json,
)
from ..preflight import Paths, Ports
from ..progress import Progress, bar
from ..steps import flows_of
from ..steps_record import Options
from ..traffic import Truth
from . import score, table
from .controllers import Controller, contestants

POLL_S = 0.5
SERIES_POINTS = 20_000
CONGESTION_CONTROLS = ("reno", "cubic")


def run(options: Options, names: tuple[str, ...], progress: Progress) -> int:
    """Every controller of these names in turn; the exit code."""
    paths = Paths.find()
    if missing := kernel.missing_congestion_control(options.scenario.congestion_controls):
        progress.say(f"contest: this kernel has no {missing}")
        return EXIT_PREFLIGHT
    entries: list[JsonObject] = []
    failed = False
    with signals.as_exception():
        run_dir: Path | None = None
        for controller in (c for c in contestants(options) if c.name in names):
            try:
                preflight.run(options.scenario, options.ports, paths, options.out)
            except PreflightError as error:
                progress.say(f"contest: {error}")
                return EXIT_PREFLIGHT
            run_dir = run_dir or new_run_dir(options.out)
            try:
                entries.append(measure(controller, options, paths, run_dir, progress))
            except signals.Interrupted as interruption:
                progress.say(f"interrupted ({interruption}); everything was removed")
                return EXIT_INTERRUPTED
            except (LabError, OSError, NetlinkError) as error:
                progress.say(f"{controller.name}: {error}")
                failed = True
                continue
            _write(run_dir, _document(options, entries))
    if run_dir is None or not entries:
        return EXIT_FAILED
    progress.say(table.markdown(_document(options, entries)))
    progress.say(f"contest: {run_dir}")
    return EXIT_FAILED if failed else EXIT_OK


def _document(options: Options, entries: list[JsonObject]) -> JsonObject:
    return {
        "flows": options.flows,
        "seconds": options.seconds,
        "scenario": options.scenario.as_config(),
        "targets": options.settings()["targets"],
        "trailing_s": score.TRAILING_S,
        "controllers": entries,
    }


def _write(run_dir: Path, document: JsonObject) -> None:
    write_json(run_dir / "contest.json", document)
    (run_dir / "contest.md").write_text(table.markdown(document))
    # Drawing takes a second to import.
    from ..report.contest import draw

    (run_dir / "contest.svg").write_text(draw(document))


def measure(
    controller: Controller, options: Options, paths: Paths, run_dir: Path, progress: Progress
) -> JsonObject:
    """One controller, from an empty network to its score; leaves nothing but files."""
    here = run_dir / controller.name
    here.mkdir()
    with signals.deferred():
        session = ControlSession(
            options.scenario, options.ports, paths, here, controller.settings(options)
        )
    with running(session):
        session.spec["flows"] = flows_of(options, session.topology.namespace_of)
        session.start_network()
        session.start_switch()
        session.start_collector()
        session.start_controller(observe_s=5.0)
        session.start_traffic()
        cpu = CpuTime.now()
        unix_minus_switch_ns = _watch(session, controller, options, progress)
        stolen = cpu.stolen_fraction_until(CpuTime.now())
        link = session.controller.get(session.link_path)
        series = session.controller.get(
            f"{session.link_path}/series?from_ns={link['capture_start_ns']}"
            f"&to_ns={link['now_ns']}&max_points={SERIES_POINTS}"
        )
        changes = session.controller.get("/changes")["changes"]
        session.finish()
    truth = Truth.read(session.truth_path)
    zero_ns = min(f["start"]["unix_ns"] for f in truth.flows if f["kind"] == "lbp")
    columns = {
        name: np.array(series[name], dtype=float)
        for name in (*("arrivals", "drops", "ce_marked"), *("utilisation", "delay_max_ms"))
    }
    time_s = (np.array(series["time_ns"], dtype=float) + unix_minus_switch_ns - zero_ns) / 1e9
    total_s = round(options.seconds) * len(options.flows)
    times = [(c["unix_ms"] * 1e6 - zero_ns) / 1e9 for c in changes if c["outcome"] == "set"]
    scores = score.steps(
        score.by_second(time_s, columns, total_s),
        options.flows,
        round(options.seconds),
        times,
        options.settings()["targets"],
    )
    limits = np.array(series["limit_bytes"], dtype=float)
    return {
        "name": controller.name,
        "about": controller.about,
        "steps": [asdict(s) for s in scores],
        "changes": changes,
        "limit": {
            "time_s": [round(float(t), 2) for t in time_s[::50]],
            "bytes": [float(b) for b in limits[::50]],
        },
        "stolen_cpu_fraction": stolen,
        "cpu_was_stolen": stolen > MOST_STOLEN_FRACTION,
    }


def _watch(
    session: ControlSession, controller: Controller, options: Options, progress: Progress
) -> float:
    """Lets the controller act until the last step ends. What Unix time is ahead of the
    switch's clock by, ns."""
    total = options.seconds * len(options.flows)
    start = time.monotonic()
    ahead = float("inf")
    while (elapsed := time.monotonic() - start) < total - 0.2:
        session.supervisor.check()
        try:
            # The watermark is late by what the collector holds back; the least late.
            ahead = min(ahead, time.time_ns() - session.link()["now_ns"])
            controller.act(session, elapsed)
        except ApiError as error:
            # Not measured yet, or not now.
            if error.status not in (404, 409):
                raise
        progress.show(f"{controller.name} {bar(elapsed, total)} {elapsed:4.0f}/{total:.0f} s")
        time.sleep(POLL_S)
    return ahead


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("runs"), help="where run directories go")
    parser.add_argument(
        "--flows",
        type=lambda text: tuple(int(n) for n in text.split(",")),
        default=(4, 40, 8),
        help="N_b of each step",
    )
    parser.add_argument("--seconds", type=int, default=60, help="of each step")
    parser.add_argument(
        "--cc",
        type=lambda text: tuple(text.split(",")),
        default=CONGESTION_CONTROLS,
        metavar="NAME,...",
        help="congestion controls of the flows, in turn",
    )
    parser.add_argument(
        "--only",
        type=lambda text: tuple(text.split(",")),
        metavar="NAME,...",
        help="these controllers: " + ", ".join(c.name for c in contestants(Options())),
    )
    Ports.add_options(parser)


def from_arguments(arguments: argparse.Namespace) -> int:
    known = [c.name for c in contestants(Options())]
    names = arguments.only or tuple(known)
    if unknown := set(names) - set(known):
        print(f"contest: no controller {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return EXIT_PREFLIGHT
    if arguments.seconds < 15 or min(arguments.flows) < 1:
        print("contest: --seconds must be at least 15, --flows above 0")
        return EXIT_PREFLIGHT
    options = Options(
        flows=arguments.flows,
        seconds=float(arguments.seconds),
        out=arguments.out,
        ports=Ports.of(arguments),
    )
    options.scenario = replace(options.scenario, congestion_controls=arguments.cc)
    return run(options, names, Progress())
