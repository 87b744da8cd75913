# SPDX-License-Identifier: Apache-2.0
"""What the demo's phases come to: summary, comparison with the capture, checks, report."""

from __future__ import annotations

import platform
from pathlib import Path

from .. import __version__, checks, offline, summary
from ..errors import LabError
from ..json_types import JsonObject
from ..outcome import EXIT_FAILED, EXIT_OK, write_json
from ..progress import Progress
from ..session import Session
from ..traffic import Truth, planned_truth
from .options import Options
from .phases import Measured


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


def conclude(session: Session, measured: Measured, options: Options, progress: Progress) -> int:
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
        from ..report import write_report

        return f"report: {write_report(run_dir)}"
    except Exception as error:
        return f"report: could not be written: {type(error).__name__}: {error}"
