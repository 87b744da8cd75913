# SPDX-License-Identifier: Apache-2.0
"""A run of the demo, from preflight to the end of everything it started."""

from __future__ import annotations

from pyroute2.netlink.exceptions import NetlinkError

from .. import preflight, signals, summary
from ..errors import LabError, PreflightError
from ..outcome import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PREFLIGHT,
    new_run_dir,
    write_json,
)
from ..preflight import Paths
from ..progress import Progress
from ..session import Session
from .conclusion import build_summary, conclude
from .options import Options
from .phases import Measured, measure, watch


def run(options: Options, progress: Progress) -> int:
    """Runs the demo; the exit code."""
    paths = Paths.find()
    try:
        options.switch.check_program()
        for note in preflight.run(options.scenario, options.ports, paths, options.out):
            progress.say(f"note: {note}")
        options.switch.check_network()
    except PreflightError as error:
        progress.say(f"demo: {error}")
        return EXIT_PREFLIGHT
    with signals.as_exception():
        return _run(options, paths, progress)


def _run(options: Options, paths: Paths, progress: Progress) -> int:
    run_dir = new_run_dir(options.out)
    measured: Measured | None = None
    code = EXIT_OK
    with signals.deferred():
        session = options.switch.session(options.scenario, options.ports, paths, run_dir)
    try:
        _start(session, options, progress)
        measured = measure(session, options, progress)
        if options.keep:
            _stay(session, measured, options, progress)
        progress.say("ending")
        session.finish()
    except signals.Interrupted as interruption:
        if measured is not None and options.keep:
            code = _finish_quietly(session, progress)
        else:
            progress.say(f"interrupted ({interruption}); cleaning up")
            code = EXIT_INTERRUPTED
    except (LabError, OSError, NetlinkError) as error:
        progress.say(f"demo: {error}")
        code = EXIT_FAILED
    finally:
        with signals.ignored():
            left = session.clean()
    if left:
        progress.say("demo: not everything could be removed:\n  " + "\n  ".join(left))
        code = code or EXIT_FAILED
    else:
        progress.say("removed every namespace, interface and process of the run; tracing as before")
    if code == EXIT_OK and measured is not None:
        code = conclude(session, measured, options, progress)
    return code


def _finish_quietly(session: Session, progress: Progress) -> int:
    """The end of a run that was kept, which the user asked for."""
    progress.say("ending")
    with signals.ignored():
        try:
            session.finish()
        except LabError as error:
            progress.say(f"demo: {error}")
            return EXIT_FAILED
    return EXIT_OK


def _start(session: Session, options: Options, progress: Progress) -> None:
    scenario = session.scenario
    progress.say(f"run directory: {session.run_dir}")
    progress.say(
        f"network: {len(scenario.senders)} senders, base RTT "
        f"{', '.join(f'{r:g}' for r in scenario.base_rtts_ms)} ms, bottleneck "
        f"{scenario.capacity_bps / 1e6:g} Mb/s, run {session.topology.run_id}"
    )
    for note in options.switch.notes(scenario):
        progress.say(f"note: {note}")
    session.start_network()
    session.start_switch()
    session.start_collector()
    session.start_controller(observe_s=options.settle_s + options.seconds + 10)
    progress.say(f"console: {session.url}/  (token in {session.run_dir / 'controller.token'})")
    session.start_traffic()
    progress.say(
        f"traffic: {scenario.lbp_flows} LBP, {len(scenario.rbp_senders)} remotely bottlenecked, "
        f"{len(scenario.wl_senders)} window-limited flows, short flows "
        f"{scenario.short_share:.0%} of capacity"
    )
    watch(session, progress, "warm-up", options.warmup_s)


def _stay(session: Session, measured: Measured, options: Options, progress: Progress) -> None:
    """Leaves everything running until a signal."""
    document = build_summary(session, measured, options, truth=None)
    write_json(session.run_dir / "summary.json", document)
    progress.say("")
    progress.say(summary.table(document))
    progress.say(f"running until Ctrl-C; console: {session.url}/")
    while True:
        watch(session, progress, "running", 3600)
