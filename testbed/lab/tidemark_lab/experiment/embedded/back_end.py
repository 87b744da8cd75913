# SPDX-License-Identifier: Apache-2.0
"""Carries out a plan on real TCP: phases one after the other, limits by the controller."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from ... import kernel, preflight, signals
from ...control_session import running
from ...json_types import JsonObject
from ...machine import CpuTime, busiest_thread_s, load_average, process_cpu_s, thread_cpu_s
from ...preflight import Paths, Ports
from ...progress import Progress
from ...scenario import Scenario
from ..backend import MeasuredPhase, Place, Window
from ..model import Phase
from ..plan import Limits, Plan
from .layout import MOST_ACCESS, MOST_HOSTS, Layout
from .session import PlanSession


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
            found.append("topology.switches: scheduling: this back end has fifo only: take ns3")
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

    def doubts(self, row: JsonObject) -> list[str]:
        return []

    def session(self, plan: Plan, run_dir: Path) -> PlanSession:
        return PlanSession(plan, self.ports, self.paths, run_dir)

    def run(self, plan: Plan, run_dir: Path, progress: Progress) -> list[MeasuredPhase]:
        name = plan.experiment.name
        with signals.deferred():
            session = self.session(plan, run_dir)
        measured = []
        with running(session):
            session.start()
            session.start_traffic()
            session.let_pass(progress, f"{name}: warm-up", plan.experiment.run.warmup)
            limits = plan.first_limits()
            for phase in plan.experiment.phases:
                limits = session.links.set_phase(phase, limits)
                label = f"{name}: {phase.name}"
                session.let_pass(progress, f"{label}: settling", phase.settle)
                limits = session.links.in_force(limits)
                measured.append(_measure(session, phase, limits, label, progress))
            session.finish()
        return measured


def _measure(
    session: PlanSession, phase: Phase, limits: list[Limits], label: str, progress: Progress
) -> MeasuredPhase:
    programs = {n: session.supervisor.pid(n) for n in session.supervisor.running()}
    # A switch carries its rate until a thread of it has a whole core; BMv2 has several that work.
    switches = [pid for n, pid in programs.items() if n.startswith("switch")]
    cpu, begin = CpuTime.now(), time.monotonic()
    traffic_s = process_cpu_s(programs["traffic"])
    threads = [thread_cpu_s(pid) for pid in switches]
    starts = session.links.now()
    session.let_pass(progress, label, phase.duration)
    ends = session.links.now()
    passed = time.monotonic() - begin
    traffic_s = process_cpu_s(programs["traffic"]) - traffic_s
    busiest_s = max(
        busiest_thread_s(before, thread_cpu_s(pid))
        for before, pid in zip(threads, switches, strict=True)
    )
    return MeasuredPhase(
        name=phase.name,
        limits=limits,
        windows=[
            Window(start[0], end[0], start[1], end[1])
            for start, end in zip(starts, ends, strict=True)
        ],
        stolen_cpu_fraction=cpu.stolen_fraction_until(CpuTime.now()),
        traffic_cpu=traffic_s / passed,
        switch_cpu=busiest_s / passed,
        load_average=load_average(),
        live=session.links.live(),
    )
