# SPDX-License-Identifier: Apache-2.0
"""A running lab in the hands of an experiment: its phases one after the other, or what a judge
decides while it goes on."""

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

# A label says this much of the link while time passes; empty where there is nothing to say.
Told = Callable[["Live"], str]


@dataclass(frozen=True)
class Live:
    """`begin`, then whatever is to be measured. Its end is the back end's."""

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
        """Starts everything, the first limits in force, and lets the warm-up pass."""
        self.session.start()
        self.session.start_traffic()
        self.warm_up(told)

    def warm_up(self, told: Told) -> None:
        self.let_pass(f"{self.name}: warm-up", self.plan.experiment.run.warmup, told)

    def let_pass(self, label: str, seconds: float, told: Told = lambda _: "") -> None:
        """Lets time pass, says twice a second what is told, notices dead programs."""
        begin = time.monotonic()
        while (elapsed := time.monotonic() - begin) < seconds:
            self.session.supervisor.check()
            head = f"{label} {bar(elapsed, seconds)} {elapsed:4.0f}/{seconds:.0f} s"
            self.progress.show(head + told(self))
            time.sleep(min(0.5, max(0.0, seconds - (time.monotonic() - begin))))

    def set_limit(self, switch: int, acts_at_bytes: int, reason: str) -> Limits:
        """A limit that acts at so many bytes; as much above as it was in the plan where the switch
        marks. Raises ApiError where the controller refuses."""
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
        """Measures while `during` runs. `marked`: it is a phase of the controller's too, whose
        own record is kept as `told`."""
        supervisor = self.session.supervisor
        programs = {n: supervisor.pid(n) for n in supervisor.running()}
        # A switch carries its rate until a thread of it has a whole core; BMv2 has several that
        # work.
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
            # With the switch's times of the controller's phase.
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
        """The controller's record of a phase that has ended, with each switch's link alone."""
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
    """From the start, the phases of the file, one after the other."""
    live.begin(told)
    return after_warm_up(live, told)


def after_warm_up(live: Live, told: Told, marked: bool = False) -> list[MeasuredPhase]:
    """The phases of the file, one after the other."""
    experiment = live.plan.experiment
    limits = live.plan.first_limits()
    measured: list[MeasuredPhase] = []
    for phase, then in zip_longest(experiment.phases, experiment.phases[1:]):
        if phase.apply_advice:
            before = limits
            advice = [told["links"][0]["advice"] for told in measured[-1].told]
            limits = live.links.set_advised(phase, before, advice)
            # The verdict follows when it is known whether the machine kept up.
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
        # Advice on all of the phase is the controller's to give.
        asked = marked or (then is not None and then.apply_advice)
        measured.append(live.measure(phase.name, limits, during, asked))
    return measured


def of_link(live: Live) -> str:
    """Live estimates of the last switch, for the terminal."""
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
