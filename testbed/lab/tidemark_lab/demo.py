# SPDX-License-Identifier: Apache-2.0
"""The demo: measure with the textbook's buffer, apply advice, measure again."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass, field
from pathlib import Path

from pyroute2.netlink.exceptions import NetlinkError

from . import __version__, checks, offline, preflight, signals, summary
from .api import ApiError
from .errors import LabError, PreflightError
from .experiment import as_scenario
from .json_types import JsonObject
from .limits import in_words
from .machine import CpuTime
from .outcome import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PREFLIGHT,
    new_run_dir,
    write_json,
)
from .preflight import Paths, Ports
from .progress import Progress, bar
from .scenario import Scenario
from .session import Session
from .switches import EMBEDDED, Switch
from .traffic import Truth, planned_truth

PHASES = ("first", "second")


@dataclass(frozen=True)
class Times:
    """Of a run; what is not given on the command line is testbed/experiments/demo.toml's."""

    # Of each phase.
    seconds: float
    warmup_s: float
    # After the advice was applied.
    settle_s: float


def planned() -> Times:
    experiment = as_scenario.named("demo")
    first, second = experiment.phases
    return Times(first.duration, experiment.run.warmup, second.settle)


@dataclass
class Options:
    seconds: float = field(default_factory=lambda: planned().seconds)
    warmup_s: float = field(default_factory=lambda: planned().warmup_s)
    settle_s: float = field(default_factory=lambda: planned().settle_s)
    keep: bool = False
    report: bool = True
    out: Path = Path("runs")
    ports: Ports = field(default_factory=Ports)
    scenario: Scenario = field(default_factory=Scenario)
    switch: Switch = EMBEDDED


@dataclass(frozen=True)
class PhaseSpan:
    """When a phase was, in Unix time, and how much of the CPU was not the run's."""

    start_ns: int
    end_ns: int
    stolen_cpu_fraction: float


@dataclass
class Measured:
    """What the two phases gave."""

    phases: list[JsonObject]
    spans: list[PhaseSpan]
    advice: list[JsonObject | None]
    read_back_bytes: int | None


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
        measured = _measure(session, options, progress)
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
        code = _conclude(session, measured, options, progress)
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
    _watch(session, progress, "warm-up", options.warmup_s)


def _watch(session: Session, progress: Progress, label: str, seconds: float) -> None:
    """Lets time pass, shows what the controller sees, notices dead programs."""
    start = time.monotonic()
    while (elapsed := time.monotonic() - start) < seconds:
        session.supervisor.check()
        head = f"{label:<12} {bar(elapsed, seconds)} {elapsed:4.0f}/{seconds:.0f} s"
        progress.show(head + _live(session))
        time.sleep(min(0.5, max(0.0, seconds - (time.monotonic() - start))))


def _live(session: Session) -> str:
    try:
        link = session.link()
        recent = link["recent"]
        estimates = link["estimate"]["estimates"]
        return (
            f"  utilisation {100 * recent['utilisation']:5.1f} %"
            f"  loss {100 * recent['loss_rate']:6.3f} %"
            f"  delay p99 {recent['delay_ms']['p99']:5.1f} ms"
            f"  N_b {estimates['n_b']['value']:.0f}"
        )
    except (ApiError, KeyError, TypeError):
        return ""


def _measure(session: Session, options: Options, progress: Progress) -> Measured:
    first, first_span = _phase(session, options, progress, PHASES[0])
    applied = _apply_advice(session, progress)
    read_back = session.limit_bytes()
    _watch(session, progress, "settling", options.settle_s)
    second, second_span = _phase(session, options, progress, PHASES[1])
    return Measured(
        phases=[first, second],
        spans=[first_span, second_span],
        advice=[applied, second["links"][0].get("advice")],
        read_back_bytes=read_back,
    )


def _phase(
    session: Session, options: Options, progress: Progress, name: str
) -> tuple[JsonObject, PhaseSpan]:
    start, cpu = time.time_ns(), CpuTime.now()
    session.controller.post("/phases", {"name": name, "action": "start"})
    _watch(session, progress, f"phase {name}", options.seconds)
    end, stolen = time.time_ns(), cpu.stolen_fraction_until(CpuTime.now())
    session.controller.post("/phases", {"name": name, "action": "end"})
    phase = session.complete_phase(name)
    if not phase["links"]:
        raise LabError(f"phase {name}: the controller saw no link; see {session.run_dir}/logs")
    return phase, PhaseSpan(start, end, stolen)


def _apply_advice(session: Session, progress: Progress) -> JsonObject:
    """Targets, advice, apply, read back: all by the controller's REST interface."""
    scenario = session.scenario
    place = {"node": scenario.node_id, "port": scenario.bottleneck_port}
    session.controller.post("/targets", {**place, **scenario.targets})
    query = f"/advice?node={place['node']}&port={place['port']}"
    why_not = "no advice yet"

    def applicable() -> bool:
        nonlocal why_not
        answer = session.controller.get(query)
        why_not = answer.get("why_not") or why_not
        return bool(answer["can_apply"])

    try:
        session.supervisor.wait_until(applicable, "advice that can be applied", 15)
    except LabError as error:
        raise LabError(f"{error}: {why_not}") from error
    answer = session.controller.post("/advice/apply", place)
    advice = answer["advice"]
    progress.say(
        f"advice: limit {in_words(scenario.limit)} -> {in_words(answer['limit'])} "
        f"({advice['rule']}), read back from the switch"
    )
    return advice


def _stay(session: Session, measured: Measured, options: Options, progress: Progress) -> None:
    """Leaves everything running until a signal."""
    document = build_summary(session, measured, options, truth=None)
    write_json(session.run_dir / "summary.json", document)
    progress.say("")
    progress.say(summary.table(document))
    progress.say(f"running until Ctrl-C; console: {session.url}/")
    while True:
        _watch(session, progress, "running", 3600)


def build_summary(
    session: Session, measured: Measured, options: Options, truth: Truth | None
) -> JsonObject:
    phases = []
    for phase, span, advice in zip(measured.phases, measured.spans, measured.advice, strict=True):
        of_phase = truth.phase(span.start_ns, span.end_ns) if truth else planned_truth(session.spec)
        phases.append(
            summary.phase_summary(
                phase,
                of_phase,
                advice,
                limit_action=session.scenario.limit_action,
                stolen_cpu_fraction=span.stolen_cpu_fraction,
            )
        )
    return {
        "config": {
            "switch": options.switch.name,
            "scenario": session.scenario.as_config(),
            "seconds": options.seconds,
            "warmup_s": options.warmup_s,
            "settle_s": options.settle_s,
            "kernel": platform.release(),
            "version": __version__,
            "started": session.run_dir.name,
        },
        "phases": phases,
    }


def _conclude(session: Session, measured: Measured, options: Options, progress: Progress) -> int:
    """Summary, comparison with the capture, report. Nothing runs any more."""
    truth = Truth.read(session.truth_path)
    document = build_summary(session, measured, options, truth)
    write_json(session.run_dir / "summary.json", document)
    results = checks.judge(document, measured.read_back_bytes)
    results += options.switch.judge(document)
    code = EXIT_OK
    try:
        results += _compare_offline(session, document)
    except LabError as error:
        progress.say(f"demo: {error}")
        code = EXIT_FAILED
    progress.say("")
    progress.say(summary.table(document))
    progress.say("")
    progress.say(_classes(measured, truth))
    for check in results:
        progress.say(str(check))
    if failed := checks.spoiled(results):
        progress.say(f"demo: {failed} of the checks above show that this measurement is spoiled")
        code = EXIT_FAILED
    progress.say("")
    if options.report:
        progress.say(_report(session.run_dir))
    for name in ("summary.json", "capture", "truth.json"):
        progress.say(f"{name.split('.')[0]}: {session.run_dir / name}")
    return code


def _compare_offline(session: Session, document: JsonObject) -> list[checks.Check]:
    results, records = [], []
    for phase in document["phases"]:
        record = offline.analyze(
            session.paths.binary("tidemark-controller"), session.capture_dir, phase["window"]
        )
        records.append({"name": phase["name"], "link": record})
        different = offline.differences(phase, record)
        text = "; ".join(different) or "the same estimates from the capture"
        results.append(checks.Check(f"{phase['name']}: {text}", not different))
    write_json(session.run_dir / "offline.json", {"phases": records})
    return results


def _classes(measured: Measured, truth: Truth) -> str:
    lines = []
    for phase, span in zip(measured.phases, measured.spans, strict=True):
        there = [
            f
            for kind in ("lbp", "rbp", "wl")
            for f in truth.during(kind, span.start_ns, span.end_ns)
        ]
        result = summary.class_check(phase["links"][0]["estimate"].get("flows", []), there)
        wrong = ", ".join(f"{w['name']} seen as {w['estimated']}" for w in result["wrong"])
        lines.append(
            f"phase {phase['name']}: {result['right']} of {len(there)} long flows classed right"
            + (f" ({wrong})" if wrong else "")
        )
    return "\n".join(lines)


def _report(run_dir: Path) -> str:
    """A report that cannot be drawn does not spoil the run."""
    try:
        from .report import write_report

        return f"report: {write_report(run_dir)}"
    except Exception as error:
        return f"report: could not be written: {type(error).__name__}: {error}"
