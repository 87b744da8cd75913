# SPDX-License-Identifier: Apache-2.0
"""Runs the trials on real TCP.

For each traffic a lab of its own. The limit starts at C·T̄. When the controller has
estimates, every rule's buffer is noted; then each is set in turn, let settle, and held
until the loss rate's range is within ±15 % of it, or a time limit.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

from pyroute2.netlink.exceptions import NetlinkError

from .. import kernel, limits, preflight, signals
from ..api import ApiError
from ..control_session import ControlSession, running
from ..errors import LabError, PreflightError
from ..json_types import JsonObject
from ..machine import MOST_STOLEN_FRACTION
from ..outcome import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PREFLIGHT,
    new_run_dir,
    write_json,
)
from ..preflight import Paths, Ports
from ..progress import Progress
from ..scenario import FRAME_BYTES
from ..summary import matched, mean_utilisation
from ..traffic import Truth
from . import candidates, outcome, ranking, table
from .candidates import Candidate
from .hold import Hold, hold
from .traffics import TRAFFICS, Traffic

LEAST_LIMIT_BYTES = 4 * FRAME_BYTES


@dataclass
class Options:
    traffics: tuple[Traffic, ...] = TRAFFICS
    # Those whose limits are tried; empty: all.
    rules: tuple[str, ...] = ()
    warmup_s: float = 20.0
    # Of each limit.
    hold: Hold = field(default_factory=Hold)
    out: Path = Path("runs")
    ports: Ports = field(default_factory=Ports)


def run(options: Options, progress: Progress) -> int:
    """Tries the rules on every traffic; the exit code."""
    paths = Paths.find()
    documents: list[JsonObject] = []
    failed = False
    run_dir: Path | None = None
    with signals.as_exception():
        for traffic in options.traffics:
            if missing := kernel.missing_congestion_control(traffic.scenario.congestion_controls):
                progress.say(f"{traffic.name}: LEFT OUT, this kernel has no {missing}")
                continue
            try:
                preflight.run(traffic.scenario, options.ports, paths, options.out)
            except PreflightError as error:
                progress.say(f"trial: {error}")
                return EXIT_PREFLIGHT
            run_dir = run_dir or new_run_dir(options.out)
            try:
                documents.append(measure(traffic, options, paths, run_dir / traffic.name, progress))
            except signals.Interrupted as interruption:
                progress.say(f"interrupted ({interruption}); everything was removed")
                return EXIT_INTERRUPTED
            except (LabError, OSError, NetlinkError) as error:
                progress.say(f"{traffic.name}: {error}")
                failed = True
                continue
            progress.say(table.markdown(documents[-1]))
            _write(run_dir, documents)
    if documents:
        progress.say(f"trial: {run_dir}")
    return EXIT_FAILED if failed or not documents else EXIT_OK


def _write(run_dir: Path, documents: list[JsonObject]) -> None:
    write_json(run_dir / "trial.json", {"traffics": documents})
    (run_dir / "trial.md").write_text("\n".join(table.markdown(d) for d in documents))
    # Drawing takes a second to import.
    from ..report.trial import draw

    (run_dir / "trial.svg").write_text(draw(documents))


def measure(
    traffic: Traffic, options: Options, paths: Paths, run_dir: Path, progress: Progress
) -> JsonObject:
    """One traffic, from an empty network to its record; leaves nothing but files."""
    run_dir.mkdir()
    scenario = traffic.scenario
    with signals.deferred():
        session = ControlSession(scenario, options.ports, paths, run_dir, _settings())
    trials = []
    with running(session):
        session.start_network()
        session.start_switch()
        session.start_collector()
        session.start_controller(observe_s=60.0)
        session.start_traffic()
        session.let_pass(progress, f"{traffic.name}: warm-up", options.warmup_s)
        tried = _candidates(session, options.rules, progress)
        for number, candidate in enumerate(tried):
            label = f"{traffic.name}: limit {number + 1} of {len(tried)}"
            trials.append(_try(session, candidate, options, progress, label))
        session.finish()
    truth = Truth.read(session.truth_path)
    for trial in trials:
        _add_truth(trial, truth)
    return {
        "name": traffic.name,
        "about": traffic.about,
        "scenario": scenario.as_config(),
        "targets": dict(scenario.targets),
        "trials": ranking.ranked(trials, scenario.targets),
    }


def _settings() -> JsonObject:
    """A controller that acts on nothing by itself."""
    return {"control": {"mode": "confirm", "min_change_interval_s": 1.0}}


def _candidates(
    session: ControlSession, names: tuple[str, ...], progress: Progress
) -> list[Candidate]:
    scenario = session.scenario
    place = f"node={scenario.node_id}&port={scenario.bottleneck_port}"
    rules = session.controller.get(f"/rules?{place}")["rules"]
    advice = session.controller.get(f"/advice?{place}").get("advice")
    if names:
        known = [*(str(rule["id"]) for rule in rules), candidates.ADVICE]
        if unknown := sorted(set(names) - set(known)):
            raise LabError(f"no rule {', '.join(unknown)}: there are {', '.join(known)}")
        rules = [rule for rule in rules if rule["id"] in names]
        for rule in rules:
            if rule["buffer_bytes"] is None:
                progress.say(f"{rule['id']}: gives no buffer here, left out")
        advice = advice if candidates.ADVICE in names else None
    found = candidates.of_rules(rules, advice, LEAST_LIMIT_BYTES, scenario.max_limit_bytes)
    if not found:
        raise LabError("no rule gives a buffer: the controller has no estimates of this link")
    return found


def _try(
    session: ControlSession,
    candidate: Candidate,
    options: Options,
    progress: Progress,
    label: str,
) -> JsonObject:
    """One limit: set, settled, measured; or why it was refused."""
    about = {
        "limit_bytes": candidate.limit_bytes,
        "rules": list(candidate.rules),
        "applies": candidate.applies,
    }
    try:
        session.controller.post(
            f"{session.link_path}/limit",
            {
                **limits.request(session.scenario.limit_of(candidate.limit_bytes)),
                "reason": "trial of " + ", ".join(candidate.rules),
            },
        )
    except ApiError as error:
        # What the controller does not set is a result; one that does not answer is none.
        if not 400 <= error.status < 500:
            raise
        progress.say(f"{label}: {error}")
        return {**about, "refused": str(error)}
    name = f"limit-{candidate.limit_bytes}"
    held = hold(session, name, options.hold, progress, label)
    estimate, loss, marked = held.link["estimate"], held.seconds.loss, held.seconds.marked
    return {
        **about,
        "refused": None,
        "utilisation": mean_utilisation(estimate),
        "loss_rate": loss.value,
        "loss_range": [loss.low, loss.high],
        "marked_rate": marked.value,
        "marked_range": [marked.low, marked.high],
        "loss_settled": held.seconds.known,
        "delay_p99_ms": estimate["delay_ms"]["p99"],
        "delay_max_ms": estimate["delay_ms"]["max"],
        "flows": estimate.get("flows") or [],
        "stolen_cpu_fraction": held.stolen_cpu_fraction,
        "cpu_was_stolen": held.stolen_cpu_fraction > MOST_STOLEN_FRACTION,
        "start_unix_ns": held.start_unix_ns,
        "end_unix_ns": held.end_unix_ns,
    }


def _add_truth(trial: JsonObject, truth: Truth) -> None:
    """What only the hosts know: fairness among the LBP flows, and completion times."""
    if trial["refused"]:
        return
    span = trial["start_unix_ns"], trial["end_unix_ns"]
    lbp = matched(trial.pop("flows"), truth.during("lbp", *span))
    trial["jain"] = outcome.jain([seen["rate_bps"] if seen else 0.0 for _, seen in lbp])
    times = outcome.completion_times_ms(truth.flows, *span)
    trial["short_flows"] = len(times)
    trial["completion_p50_ms"] = outcome.quantile(times, 0.5)
    trial["completion_p95_ms"] = outcome.quantile(times, 0.95)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("runs"), help="where run directories go")
    parser.add_argument(
        "--only",
        type=lambda text: tuple(text.split(",")),
        metavar="NAME,...",
        help="these traffics: " + ", ".join(t.name for t in TRAFFICS),
    )
    parser.add_argument(
        "--rules",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="ID,...",
        help="of these alone, by the ids of the controller's rules; advice is one; default: all",
    )
    parser.add_argument("--list", action="store_true", help="the traffics, nothing is run")
    parser.add_argument(
        "--most", type=float, default=40.0, metavar="SECONDS", help="that a limit is held"
    )
    Ports.add_options(parser)


def from_arguments(arguments: argparse.Namespace) -> int:
    if arguments.list:
        for traffic in TRAFFICS:
            print(f"{traffic.name:<10} {traffic.about}")
        return EXIT_OK
    names = arguments.only or tuple(t.name for t in TRAFFICS)
    if unknown := set(names) - {t.name for t in TRAFFICS}:
        print(f"trial: no traffic {', '.join(sorted(unknown))}; --list names them")
        return EXIT_PREFLIGHT
    if arguments.most < Hold.least_s:
        print(f"trial: --most: at least {Hold.least_s:g}")
        return EXIT_PREFLIGHT
    options = Options(
        traffics=tuple(t for t in TRAFFICS if t.name in names),
        rules=arguments.rules,
        hold=Hold(most_s=arguments.most),
        out=arguments.out,
        ports=Ports.of(arguments),
    )
    return run(options, Progress())
