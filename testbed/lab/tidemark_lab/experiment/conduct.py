# SPDX-License-Identifier: Apache-2.0
"""Runs an experiment in a running lab: its phases one after the other, or what a judge decides
while it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

from ..api import ApiError, Controller
from ..errors import LabError
from ..json_types import JsonObject
from ..limits import in_words
from ..machine import CpuTime, busiest_thread_s, process_cpu_s, thread_cpu_s
from ..progress import Progress, bar
from .backend import MeasuredPhase, Window
from .embedded.session import PlanSession
from .live import Links
from .plan import Limits, Plan

# Returns the link's state, added to the progress label while time passes; may be empty.
Told = Callable[["Live"], str]


@dataclass(frozen=True)
class Live:
    """A running lab: `begin`, then measure. The back end ends it."""

    session: PlanSession
    progress: Progress
    name: str

    @property
    def plan(self) -> Plan:
        return self.session.plan

    @property
    def controller(self) -> Controller:
        return self.session.controller

    @property
    def links(self) -> Links:
        return self.session.links

    def begin(self, told: Told = lambda _: "") -> None:
        """Starts everything with the first limits in force, and waits for the warm-up."""
        self.session.start()
        self.session.start_traffic()
        self.warm_up(told)

    def warm_up(self, told: Told) -> None:
        self.let_pass(f"{self.name}: warm-up", self.plan.experiment.run.warmup, told)

    def let_pass(self, label: str, seconds: float, told: Told = lambda _: "") -> None:
        """Waits, shows `told` twice a second, and notices programs that died."""
        begin = time.monotonic()
        while (elapsed := time.monotonic() - begin) < seconds:
            self.session.supervisor.check()
            head = f"{label} {bar(elapsed, seconds)} {elapsed:4.0f}/{seconds:.0f} s"
            self.progress.show(head + told(self))
            time.sleep(min(0.5, max(0.0, seconds - (time.monotonic() - begin))))

    def set_limit(self, switch: int, acts_at_bytes: int, reason: str) -> Limits:
        """Sets a limit that acts at this size; if the switch marks, the drop limit is above it by
        as much as in the plan. Raises ApiError if the controller refuses."""
        limits = self.plan.limits_at(switch, acts_at_bytes)
        self.links.set_limits(switch, limits, reason)
        return limits

    def measure(
        self,
        name: str,
        limits: list[Limits],
        during: Callable[[], None],
        marked: bool = False,
    ) -> MeasuredPhase:
        """Measures while `during` runs. `marked`: also marks it as a phase of the controller, whose
        record is kept as `told`."""
        supervisor = self.session.supervisor
        programs = {n: supervisor.pid(n) for n in supervisor.running()}
        # A switch keeps its rate until one of its threads needs a whole core; BMv2 has several busy
        # threads.
        switches = [pid for n, pid in programs.items() if n.startswith("switch")]
        cpu, begin = CpuTime.now(), time.monotonic()
        traffic_s = process_cpu_s(programs["traffic"])
        threads = [thread_cpu_s(pid) for pid in switches]
        if marked:
            self.controller.post("/phases", {"name": name, "action": "start"})
        starts = self.links.now()
        during()
        ends = self.links.now()
        stolen = cpu.stolen_fraction_until(CpuTime.now())
        windows = [Window(a[0], b[0], a[1], b[1]) for a, b in zip(starts, ends, strict=True)]
        told: list[JsonObject] = []
        if marked:
            self.controller.post("/phases", {"name": name, "action": "end"})
            told = self._told(name)
            # Uses the switch's times of the controller's phase.
            windows = [
                replace(w, start_ns=link["start_ns"], end_ns=link["end_ns"])
                for w, link in zip(windows, (t["links"][0] for t in told), strict=True)
            ]
        passed = time.monotonic() - begin
        traffic_s = process_cpu_s(programs["traffic"]) - traffic_s
        busiest_s = max(
            busiest_thread_s(before, thread_cpu_s(pid))
            for before, pid in zip(threads, switches, strict=True)
        )
        return MeasuredPhase(
            name=name,
            limits=limits,
            windows=windows,
            stolen_cpu_fraction=stolen,
            traffic_cpu=traffic_s / passed,
            switch_cpu=busiest_s / passed,
            load_average=os.getloadavg()[0],
            live=self.links.live(),
            told=told,
        )

    def _told(self, name: str) -> list[JsonObject]:
        """Returns the controller's record of an ended phase, one per switch, with only its link."""
        phase = self.session.complete_phase(name)
        out = []
        for place in self.links.places:
            links = [
                k
                for k in phase["links"]
                if (k["node"], k["port"], k.get("queue", 0)) == (place.node, place.port, 0)
            ]
            if not links:
                raise LabError(
                    f"phase {name}: the controller saw no link; see {self.session.run_dir}/logs"
                )
            out.append({**phase, "links": links})
        return out


def phases(live: Live, told: Told = lambda _: "") -> list[MeasuredPhase]:
    """Runs the phases of the file from the start, one after the other."""
    live.begin(told)
    return after_warm_up(live, told)


def after_warm_up(live: Live, told: Told, marked: bool = False) -> list[MeasuredPhase]:
    """Runs the phases of the file, one after the other."""
    experiment = live.plan.experiment
    limits = live.plan.first_limits()
    measured: list[MeasuredPhase] = []
    for phase, then in zip_longest(experiment.phases, experiment.phases[1:]):
        if phase.apply_advice:
            before = limits
            advice = [told["links"][0]["advice"] for told in measured[-1].told]
            limits = live.links.set_advised(phase, before, advice)
            # The verdict is added once it is known whether the machine kept up.
            for was, now in zip(before, limits, strict=True):
                live.progress.say(
                    f"advice: limit {in_words(was.document())} -> {in_words(now.document())}"
                )
        else:
            limits = live.links.set_phase(phase, limits)
        label = f"{live.name}: phase {phase.name}"
        live.let_pass(f"{label}: settling", phase.settle, told)
        limits = live.links.in_force(limits)
        during = partial(live.let_pass, label, phase.duration, told)
        # The controller can only give advice on a whole phase if it knows the phase.
        asked = marked or (then is not None and then.apply_advice)
        measured.append(live.measure(phase.name, limits, during, asked))
    return measured


def of_link(live: Live) -> str:
    """Returns the live estimates of the last switch, for the terminal."""
    try:
        link = live.links.link(len(live.links.places) - 1)
        recent = link["recent"]
        estimates = link["estimate"]["estimates"]
        loss = recent["loss_rate"]
        lost = "-" if loss is None else f"{100 * loss:.3f} %"
        return (
            f"  utilisation {100 * recent['utilisation']:5.1f} %"
            f"  loss {lost:>8}"
            f"  delay p99 {recent['delay_ms']['p99']:5.1f} ms"
            f"  N_b {estimates['n_b']['value']:.0f}"
        )
    except (ApiError, KeyError, TypeError):
        return ""
