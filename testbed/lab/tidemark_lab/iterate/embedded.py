# SPDX-License-Identifier: Apache-2.0
"""The back end of real TCP: `tidemark-switch`, and the controller live in confirm mode.

The advice that it holds when a round ends is applied through its API, as an operator would.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from pyroute2.netlink.exceptions import NetlinkError

from .. import kernel, limits, preflight, signals
from ..control_session import ControlSession, running
from ..errors import LabError, PreflightError
from ..json_types import JsonObject
from ..outcome import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_PREFLIGHT, new_run_dir
from ..preflight import Paths, Ports
from ..progress import Progress
from ..summary import mean_utilisation
from ..trial.hold import Hold, hold
from ..trial.outcome import loss_rate, mean_range
from ..trial.traffics import TRAFFICS, Traffic
from .record import document, finish, teller, write
from .rounds import iterate

# Advice nearer to the limit in force (relative) changes nothing.
SAME_LIMIT = 0.03
# Nothing of the controller's own: confirm mode, and a trial that outlasts a round. Advice
# for the bound itself ends above it half of the time.
CONTROL: JsonObject = {"mode": "confirm", "min_change_interval_s": 1.0, "headroom": 0.1}
SETTINGS: JsonObject = {"control": CONTROL}
OBSERVE_S = 600.0


@dataclass
class Embedded:
    """A running lab of one traffic."""

    session: ControlSession
    hold: Hold
    progress: Progress
    name: str

    def measure(self, number: int, limit_bytes: int) -> JsonObject:
        """Holds the limit in force."""
        session = self.session
        if number == 0:
            session.controller.post(
                f"{session.link_path}/limit",
                {
                    **limits.request(session.scenario.limit_of(limit_bytes)),
                    "reason": "the first round",
                },
            )
        label = f"{self.name}: round {number}"
        held = hold(session, f"round-{number}", self.hold, self.progress, label)
        estimate, seconds = held.link["estimate"], held.seconds
        loss = loss_rate(seconds.drops, seconds.arrivals)
        n_b = estimate["estimates"]["n_b"]
        return {
            "measured": {
                "utilisation": mean_utilisation(estimate),
                "utilisation_range": list(mean_range(seconds.utilisation)),
                "loss_rate": loss.value,
                "loss_range": [loss.low, loss.high],
                "marked_rate": estimate["ce_marked"] / max(estimate["arrivals"], 1),
                "delay_mean_ms": estimate["delay_ms"]["mean"],
                "delay_max_ms": estimate["delay_ms"]["max"],
            },
            "n_b": {key: n_b[key] for key in ("value", "low", "high")},
            "n_b_true": session.scenario.lbp_flows,
            "advice": self._advice(limit_bytes),
            "caveats": estimate.get("caveats") or [],
            "stolen_cpu_fraction": held.stolen_cpu_fraction,
        }

    def _advice(self, limit_bytes: int) -> JsonObject:
        place = f"node={self.session.scenario.node_id}&port={self.session.scenario.bottleneck_port}"
        state = self.session.controller.get(f"/advice?{place}")
        advice: JsonObject | None = state["advice"]
        if advice is None:
            raise LabError(f"{self.name}: the controller has no advice")
        advised = advice["limit_bytes"]
        far = advised is not None and abs(advised / limit_bytes - 1) > SAME_LIMIT
        why = state["why_not"] or ("it moves the limit" if far else "it is the limit in force")
        advice["change"] = {"worth": far and bool(state["can_apply"]), "why": why}
        return advice

    def apply(self, advice: JsonObject) -> int:
        """By the API; what the switch then holds."""
        scenario = self.session.scenario
        place = {"node": scenario.node_id, "port": scenario.bottleneck_port}
        self.session.controller.post("/advice/apply", place)
        limit_bytes = self.session.limit_bytes()
        if limit_bytes is None:
            raise LabError(f"{self.name}: the switch does not say its limit")
        return limit_bytes


def run(
    arguments: argparse.Namespace, names: tuple[str, ...], paths: Paths, progress: Progress
) -> int:
    """Iterates on these traffics; the exit code."""
    ports = Ports.of(arguments)
    documents: list[JsonObject] = []
    failed = False
    run_dir: Path | None = None
    with signals.as_exception():
        for traffic in (t for t in TRAFFICS if t.name in names):
            scenario = traffic.scenario
            if missing := kernel.missing_congestion_control(scenario.congestion_controls):
                progress.say(f"{traffic.name}: LEFT OUT, this kernel has no {missing}")
                continue
            try:
                preflight.run(scenario, ports, paths, arguments.out)
            except PreflightError as error:
                progress.say(f"iterate: {error}")
                return EXIT_PREFLIGHT
            run_dir = run_dir or new_run_dir(arguments.out)
            try:
                rounds = _measure(
                    traffic, arguments, ports, paths, run_dir / traffic.name, progress
                )
            except signals.Interrupted as interruption:
                progress.say(f"interrupted ({interruption}); everything was removed")
                return EXIT_INTERRUPTED
            except (LabError, OSError, NetlinkError) as error:
                progress.say(f"{traffic.name}: {error}")
                failed = True
                continue
            documents.append(document(traffic.name, traffic.about, scenario.targets, rounds))
            write(run_dir, documents)
    if run_dir is None:
        return EXIT_FAILED if failed else EXIT_OK
    return finish(run_dir, documents, failed, progress)


def _measure(
    traffic: Traffic,
    arguments: argparse.Namespace,
    ports: Ports,
    paths: Paths,
    run_dir: Path,
    progress: Progress,
) -> list[JsonObject]:
    """One traffic, from an empty network to its rounds; leaves nothing but files."""
    run_dir.mkdir()
    with signals.deferred():
        session = ControlSession(traffic.scenario, ports, paths, run_dir, SETTINGS)
    with running(session):
        session.start_network()
        session.start_switch()
        session.start_collector()
        session.start_controller(observe_s=OBSERVE_S)
        session.start_traffic()
        session.let_pass(progress, f"{traffic.name}: warm-up", arguments.warmup)
        least = min(Hold.least_s, arguments.seconds)
        held = Hold(least_s=least, most_s=arguments.seconds)
        back_end = Embedded(session, held, progress, traffic.name)
        told = teller(traffic.name, progress)
        first = traffic.scenario.bdp_limit_bytes
        rounds = iterate(back_end, first, arguments.rounds, told)
        session.finish()
    return rounds
