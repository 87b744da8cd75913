# SPDX-License-Identifier: Apache-2.0
"""Runs a plan on real TCP: phases one after the other, limits set by the controller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ... import controls as bpf
from ... import preflight, signals
from ...preflight import Paths, Ports
from ...progress import Progress
from ..backend import BackEnd, MeasuredPhase, Place
from ..conduct import Live, phases
from ..plan import Plan
from ..traffic_spec import DCTCP
from . import programs
from .layout import MOST_ACCESS, MOST_HOSTS, Layout
from .session import PlanSession, running


@dataclass
class Embedded(BackEnd):
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
        found += self._programs(plan)
        for number, switch in enumerate(plan.experiment.topology.switches):
            if switch.scheduling == "fair" and len(plan.limits_of(number)) > 1:
                found.append(
                    f"topology.switches[{number}].scheduling: a fair queue has one limit for all "
                    "phases on this back end: give the others runs of their own, or take ns3"
                )
        controls = _controls(plan.congestion_controls("tcp"))
        return [*found, *controls, *_dctcp_windows(plan)]

    def _programs(self, plan: Plan) -> list[str]:
        """Returns changes of limits that foreign programs rule out, and missing files."""
        layout = Layout(plan, "0000")
        found = programs.missing(layout, self.paths)
        limits = first = plan.first_limits()
        for number, phase in enumerate(plan.experiment.phases):
            limits = limits if phase.apply_advice else plan.limits_in(phase, limits)
            for k in layout.switches:
                if layout.program(k) and (phase.apply_advice or limits[k] != first[k]):
                    found.append(
                        f"phases[{number}]: switch {k + 1} has a program without a limit that "
                        f"could change: its queue is topology.switches[{k}].limit throughout"
                    )
        return found

    def ready(self, out: Path) -> list[str]:
        return preflight.run(self.ports, self.paths, out)

    def place(self, plan: Plan, switch: int) -> Place:
        layout = Layout(plan, "0000")
        return Place(layout.node(switch), layout.out_port(switch))

    def offloads(self, plan: Plan) -> bool:
        return plan.experiment.topology.offloads

    def session(self, plan: Plan, run_dir: Path) -> PlanSession:
        return PlanSession(plan, self.ports, self.paths, run_dir)

    def run(
        self,
        plan: Plan,
        run_dir: Path,
        progress: Progress,
        conduct: Callable[[Live], list[MeasuredPhase]] | None = None,
    ) -> list[MeasuredPhase]:
        """Runs a plan. `conduct` runs the experiment, from starting the programs on, in place of
        the file's phases; `progress` then announces the cleanup."""
        with signals.deferred():
            session = self.session(plan, run_dir)
        with running(session, progress if conduct else None):
            measured = (conduct or phases)(Live(session, progress, plan.experiment.name))
            session.finish()
        return measured


def _controls(wanted: set[str]) -> list[str]:
    """Returns controls that neither the kernel nor the lab's own BPF programs provide."""
    missing = sorted(wanted - bpf.of_kernel())
    found = [
        f"traffic: this kernel has no congestion control {name}: modprobe tcp_{name}, or run it on "
        "ns3"
        for name in missing
        if name not in bpf.OURS
    ]
    ours = [name for name in missing if name in bpf.OURS]
    if ours and (lacking := bpf.lacking()):
        found.append(
            f"traffic: this kernel has no congestion control {', '.join(ours)}, and the lab's own "
            f"cannot be built: {'; '.join(lacking)}; or run it on ns3"
        )
    return found


def _dctcp_windows(plan: Plan) -> list[str]:
    if any(f.window_bytes and f.congestion_control == DCTCP for f in plan.flows):
        return ["traffic.persistent: window: dctcp has a listener of its own: take another control"]
    return []
