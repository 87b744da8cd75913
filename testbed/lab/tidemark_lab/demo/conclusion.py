# SPDX-License-Identifier: Apache-2.0
"""Conclusions from the demo's phases: summary, comparison with the capture, checks, report."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import __version__, checks, offline, summary
from ..application import Transfers
from ..bmv2 import checks as bmv2_checks
from ..bmv2 import rates as bmv2
from ..experiment import live
from ..experiment.backend import MeasuredPhase
from ..experiment.judge import Run
from ..experiment.plan import FIRST_NODE, Plan
from ..json_types import JsonObject
from ..progress import Progress
from . import tables


@dataclass(frozen=True)
class Judged:
    summary: JsonObject
    classes: list[str]
    checks: list[checks.Check]

    def tell(self, run_dir: Path, report: bool, progress: Progress) -> bool:
        """Prints every conclusion; returns whether the measurement can be trusted."""
        progress.say("")
        progress.say(tables.text(self.summary))
        progress.say("")
        for line in [*self.classes, *map(str, self.checks)]:
            progress.say(line)
        if failed := checks.spoiled(self.checks):
            progress.say(
                f"demo: {failed} of the checks above show that this measurement is spoiled"
            )
        progress.say("")
        if report:
            progress.say(_report(run_dir, self.summary))
        for name in ("summary.json", "capture", "truth.json"):
            progress.say(f"{name.split('.')[0]}: {run_dir / name}")
        return not failed


def judge(run: Run) -> Judged:
    """Judges a run by its measurements, the truth, and the capture analysed again."""
    truth = run.truth()
    unix = [(p.windows[0].start_unix_ns, p.windows[0].end_unix_ns) for p in run.phases]
    truths = [truth.phase(*span) for span in unix]
    transfers = [truth.transfers(*span) for span in unix]
    document = summary_of(run.plan, run.phases, truths, transfers, run.run_dir, run.rows)
    results = checks.judge(document, run.phases[-1].limits[0].acts_at_bytes)
    if run.plan.experiment.run.back_end == "bmv2":
        results += bmv2_checks.judge(document)
    for phase in document["phases"]:
        different = offline.differences(phase, run.link(phase["name"]))
        text = "; ".join(different) or "the same estimates from the capture"
        results.append(checks.Check(f"{phase['name']}: {text}", not different))
    classes = [
        _classes(phase, truth.persistent(*span))
        for phase, span in zip(run.phases, unix, strict=True)
    ]
    return Judged(document, classes, results)


def summary_of(
    plan: Plan,
    measured: Sequence[MeasuredPhase],
    truths: Sequence[JsonObject],
    transfers: Sequence[Transfers | None],
    run_dir: Path,
    machine: Sequence[JsonObject],
) -> JsonObject:
    """Returns `summary.json`; `machine`: the phases' rows, or what is known before them."""
    experiment = plan.experiment
    described = scenario(plan)
    return {
        "config": {
            "switch": experiment.run.back_end,
            "scenario": described,
            "seconds": experiment.phases[0].duration,
            "warmup_s": experiment.run.warmup,
            "settle_s": experiment.phases[-1].settle,
            "kernel": platform.release(),
            "version": __version__,
            "started": run_dir.name,
        },
        "phases": [
            summary.phase_summary(
                phase.told[0],
                truth,
                limit_action=phase.limits[0].action,
                machine=row,
                base_rtt_ms=described["mean_rtt_ms"],
                transfers=short,
            )
            for phase, truth, short, row in zip(measured, truths, transfers, machine, strict=True)
        ],
    }


def scenario(plan: Plan) -> JsonObject:
    """A short description of network and flows, for readers of the summary; the complete one is in
    `experiment.toml`."""
    experiment = plan.experiment
    (switch,) = experiment.topology.switches
    hosts = list(plan.hosts)
    rtts_ms = [1e3 * h.rtt_s for h in hosts]
    lbp = [f for f in plan.flows if f.kind == "lbp"]
    return {
        "base_rtts_ms": [round(rtt, 6) for rtt in rtts_ms],
        "mean_rtt_ms": sum(rtts_ms) / len(rtts_ms),
        "capacity_bps": round(switch.rate),
        "bdp_limit_bytes": plan.first_limits()[0].acts_at_bytes,
        "lbp_flows": len(lbp),
        "congestion_controls": list(dict.fromkeys(f.congestion_control for f in lbp)),
        # Sender index, from 0, of each flow that is limited elsewhere.
        "rbp_senders": [hosts.index(f.host) for f in plan.flows if f.kind == "rbp"],
        "wl_senders": [hosts.index(f.host) for f in plan.flows if f.kind == "wl"],
        "short_share": sum(s.load or 0.0 for s in experiment.traffic.open_loop),
        "ecn": switch.action == "mark_ce",
        "offloads": experiment.topology.offloads,
        "seed": plan.seed,
        "node_id": FIRST_NODE,
        "queue_depth_packets": plan.queue_packets,
        "targets": live.targets(experiment.targets),
    }


def about_network(plan: Plan, run_id: str) -> list[str]:
    said = scenario(plan)
    lines = [
        f"network: {len(plan.hosts)} senders, base RTT "
        f"{', '.join(f'{r:g}' for r in said['base_rtts_ms'])} ms, bottleneck "
        f"{said['capacity_bps'] / 1e6:g} Mb/s, run {run_id}"
    ]
    if plan.experiment.run.back_end == "bmv2":
        lines += [f"note: {note}" for note in bmv2.notes(said["capacity_bps"])]
    return lines


def about_traffic(plan: Plan) -> str:
    said = scenario(plan)
    return (
        f"traffic: {said['lbp_flows']} LBP, {len(said['rbp_senders'])} remotely bottlenecked, "
        f"{len(said['wl_senders'])} window-limited flows, short flows "
        f"{said['short_share']:.0%} of capacity"
    )


def _classes(phase: MeasuredPhase, there: list[JsonObject]) -> str:
    seen = phase.told[0]["links"][0]["estimate"].get("flows", [])
    result = summary.class_check(seen, there)
    wrong = ", ".join(f"{w['name']} seen as {w['estimated']}" for w in result["wrong"])
    return f"phase {phase.name}: {result['right']} of {len(there)} long flows classed right" + (
        f" ({wrong})" if wrong else ""
    )


def _report(run_dir: Path, document: JsonObject) -> str:
    """Draws the report. A report that cannot be drawn does not spoil the run."""
    try:
        # Imported late: the drawing library takes a second to import.
        from . import report

        return f"report: {report.write(run_dir, document)}"
    except Exception as error:
        return f"report: could not be written: {type(error).__name__}: {error}"
