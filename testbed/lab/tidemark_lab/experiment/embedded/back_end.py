# SPDX-License-Identifier: Apache-2.0
"""Carries out a plan on real TCP: phases one after the other, limits by the controller."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from ... import kernel, preflight, signals
from ...api import ApiError
from ...control_session import running
from ...errors import LabError
from ...json_types import JsonObject
from ...limits import acts_at_bytes
from ...machine import CpuTime, load_average, process_cpu_s
from ...preflight import Paths, Ports
from ...progress import Progress
from ...scenario import Scenario
from ..backend import MeasuredPhase, Place, Window
from ..model import Phase
from ..plan import Limits, Plan
from . import configs
from .layout import MOST_ACCESS, MOST_HOSTS, Layout
from .session import PlanSession

ADVICE_WAIT_S = 15.0


@dataclass
class Embedded:
    """Real Linux TCP through `tidemark-switch` in network namespaces; needs root."""

    ports: Ports = field(default_factory=Ports)
    paths: Paths = field(default_factory=Paths.find)
    name: str = "embedded"
    several: bool = False

    def refuse(self, plan: Plan) -> list[str]:
        found = []
        if len(plan.hosts) > MOST_HOSTS:
            found.append(f"topology.hosts: {len(plan.hosts)} hosts, at most {MOST_HOSTS}")
        if (count := sum(f.remote is not None for f in plan.flows)) > MOST_ACCESS:
            found.append(f"traffic.persistent: {count} remote links, at most {MOST_ACCESS}")
        for host in plan.hosts:
            if plan.host_delay_s(host) < 0:
                found.append(
                    f"topology.hosts: {host.group}: the links on its way delay more than its "
                    f"round trip of {1e3 * host.rtt_s:g}ms"
                )
        controls = {f.congestion_control for f in plan.flows}
        controls |= {t.source.congestion_control for t in plan.transfers}
        if "newreno" in controls:
            found.append("traffic: newreno is ns-3's, half a segment a round trip: take reno")
            controls.discard("newreno")
        if plan.datagrams:
            found.append("traffic.datagrams: only ns3 sends them so far")
        if any(s.scheduling != "fifo" for s in plan.experiment.topology.switches):
            found.append("topology.switches: scheduling: tidemark-switch has fifo only: take ns3")
        if missing := kernel.missing_congestion_control(sorted(controls)):
            found.append(
                f"traffic: this kernel has no congestion control {missing}: modprobe "
                f"tcp_{missing}, or run it on ns3"
            )
        return found

    def ready(self, out: Path) -> None:
        preflight.run(Scenario(congestion_controls=("reno",)), self.ports, self.paths, out)

    def place(self, plan: Plan, switch: int) -> Place:
        layout = Layout(plan, "0000")
        return Place(layout.node(switch), layout.out_port(switch))

    def offloads(self, plan: Plan) -> bool:
        return plan.experiment.topology.offloads

    def versions(self) -> JsonObject:
        return {}

    def run(self, plan: Plan, run_dir: Path, progress: Progress) -> list[MeasuredPhase]:
        name = plan.experiment.name
        with signals.deferred():
            session = PlanSession(plan, self.ports, self.paths, run_dir)
        measured = []
        with running(session):
            session.start()
            session.start_traffic()
            session.let_pass(progress, f"{name}: warm-up", plan.experiment.run.warmup)
            limits = plan.first_limits()
            for phase in plan.experiment.phases:
                limits = _set(session, phase, limits)
                label = f"{name}: {phase.name}"
                session.let_pass(progress, f"{label}: settling", phase.settle)
                limits = _in_force(session, limits)
                measured.append(_measure(session, phase, limits, label, progress))
            session.finish()
        return measured


def _set(session: PlanSession, phase: Phase, before: list[Limits]) -> list[Limits]:
    """Makes the settings of a phase; the limits then in force."""
    places = [
        {"node": session.layout.node(k), "port": session.layout.out_port(k)}
        for k in session.layout.switches
    ]
    for place in places:
        if phase.targets is not None:
            session.controller.post("/targets", {**place, **configs.targets(phase.targets)})
    if phase.mode is not None:
        session.controller.post("/mode", {"mode": phase.mode})
    if phase.apply_advice:
        return [_advised(session, k, before[k]) for k in session.layout.switches]
    limits = session.plan.limits_in(phase, before)
    for k, wanted in enumerate(limits):
        if wanted != before[k]:
            session.set_limits(k, wanted, f"experiment, phase {phase.name}")
    return limits


def _advised(session: PlanSession, switch: int, before: Limits) -> Limits:
    """The controller's advice is applied; where it is the limit in force, nothing is."""
    place = {"node": session.layout.node(switch), "port": session.layout.out_port(switch)}
    query = f"/advice?node={place['node']}&port={place['port']}"
    deadline = time.monotonic() + ADVICE_WAIT_S
    while True:
        session.supervisor.check()
        state = session.controller.get(query)
        advice = state["advice"] or {}
        if state["can_apply"]:
            limit = session.controller.post("/advice/apply", place)["limit"]
            return _limits(limit, before)
        if advice.get("limit_bytes") == before.acts_at_bytes:
            return before
        if time.monotonic() > deadline:
            raise LabError(
                f"no advice can be applied at switch {switch + 1}: {state.get('why_not')}"
            )
        time.sleep(0.2)


def _limits(document: JsonObject, before: Limits) -> Limits:
    threshold = document.get("threshold_bytes")
    return Limits(
        document.get("action", before.action),
        int(document.get("limit_bytes") or before.limit_bytes),
        None if threshold is None else int(threshold),
    )


def _in_force(session: PlanSession, before: list[Limits]) -> list[Limits]:
    """What the switches have now: a controller in auto mode has its own."""
    found = []
    for k in session.layout.switches:
        limit = session.link(k).get("limit")
        found.append(_limits(limit, before[k]) if limit else before[k])
    return found


def _measure(
    session: PlanSession, phase: Phase, limits: list[Limits], label: str, progress: Progress
) -> MeasuredPhase:
    switches = session.layout.switches
    programs = {n: session.supervisor.pid(n) for n in session.supervisor.running()}
    cpu, begin = CpuTime.now(), time.monotonic()
    before = {name: process_cpu_s(pid) for name, pid in programs.items()}
    starts = [(session.link(k)["now_ns"], time.time_ns()) for k in switches]
    session.let_pass(progress, label, phase.duration)
    ends = [(session.link(k)["now_ns"], time.time_ns()) for k in switches]
    passed = time.monotonic() - begin
    used = {n: (process_cpu_s(pid) - before[n]) / passed for n, pid in programs.items()}
    return MeasuredPhase(
        name=phase.name,
        limits=limits,
        windows=[
            Window(start[0], end[0], start[1], end[1])
            for start, end in zip(starts, ends, strict=True)
        ],
        stolen_cpu_fraction=cpu.stolen_fraction_until(CpuTime.now()),
        traffic_cpu=used["traffic"],
        switch_cpu=max(u for n, u in used.items() if n.startswith("switch")),
        load_average=load_average(),
        live=[_live(session, k) for k in switches],
    )


def _live(session: PlanSession, switch: int) -> JsonObject:
    """What the controller says as the phase ends."""
    try:
        link = session.link(switch)
    except ApiError:
        return {}
    estimates = (link.get("estimate") or {}).get("estimates") or {}
    return {
        "n_b": (estimates.get("n_b") or {}).get("value"),
        "limit_bytes": acts_at_bytes(link.get("limit")),
        "advice_bytes": (link.get("advice") or {}).get("limit_bytes"),
        "mode": link.get("mode"),
    }
