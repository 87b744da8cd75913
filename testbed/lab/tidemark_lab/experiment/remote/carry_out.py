# SPDX-License-Identifier: Apache-2.0
"""Carries out the steps of a run, and puts back what it changed."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import singledispatchmethod
from pathlib import Path

from ...api import ApiError, Controller
from ...errors import LabError
from ...json_types import JsonObject
from ...limits import request
from ...machine import CpuTime, load_average
from ...outcome import write_json
from ...progress import Progress
from .. import live
from ..backend import MeasuredPhase, Window
from ..live import Links
from ..plan import Limits
from . import clocks, steps
from .clocks import Offset
from .script import Script
from .session import START_TIMEOUT_S, Session


@dataclass
class Run:
    """`clear` may be called at any point, and always is."""

    script: Script
    session: Session
    progress: Progress
    measured: list[MeasuredPhase] = field(default_factory=list)
    # Of each host, by its name: what it is, and its clock; kept in hosts.json.
    hosts: JsonObject = field(default_factory=dict)
    offsets: dict[str, Offset] = field(default_factory=dict)
    # What the ports were before; None once it is so again.
    before: list[JsonObject] | None = None
    mode: str | None = None
    limits: list[Limits] = field(default_factory=list)
    _links: Links | None = None

    @property
    def links(self) -> Links:
        if self._links is None:
            machines = self.script.machines
            file = Path(machines.lab.controller.token_file).expanduser()
            try:
                token = file.read_text().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise LabError(f"remote.controller.token_file: {file}: {error}") from error
            controller = Controller(self.script.url, token)
            check = self.session.check
            self._links = Links(machines.plan, machines.places, controller, check)
        return self._links

    def do(self, step: steps.Step) -> None:
        """With its words in the log, before it is done."""
        with (self.session.log_dir / "steps.log").open("a") as log:
            log.writelines(f"{line}\n" for line in step.words())
        self.progress.show(f"{self.script.machines.plan.experiment.name}: {step.words()[0][:60]}")
        self._do(step)

    @singledispatchmethod
    def _do(self, step: steps.Step) -> None:
        raise NotImplementedError(type(step).__name__)

    @_do.register
    def _(self, step: steps.Write) -> None:
        step.path.write_text(step.text)

    @_do.register
    def _(self, step: steps.Connect) -> None:
        self.session.connect(step.host, step.argv)

    @_do.register
    def _(self, step: steps.Look) -> None:
        lines = self.session.call(step.host, step.argv).splitlines()
        if len(lines) != 3:
            raise LabError(f"{step.host}: is no Linux host: it says {lines}")
        kernel, controls, ecn = lines
        self.hosts[step.host] = {"kernel": kernel, "tcp_ecn": ecn}
        if missing := [c for c in step.congestion_controls if c not in controls.split()]:
            raise LabError(
                f"{step.host}: has no congestion control {missing[0]} ({controls}): modprobe "
                f"tcp_{missing[0]} there"
            )
        if step.ecn and ecn not in step.ecn:
            raise LabError(
                f"{step.host}: net.ipv4.tcp_ecn is {ecn}, the flows need "
                f"{' or '.join(step.ecn)}: set it there (sysctl -w)"
            )

    @_do.register
    def _(self, step: steps.Call) -> None:
        self.session.call(step.host, step.argv)

    @_do.register
    def _(self, step: steps.Start) -> None:
        self.session.start(step.name, step.argv, step.host, step.ready, step.may_end)

    @_do.register
    def _(self, step: steps.End) -> None:
        self.session.end(step.name)

    @_do.register
    def _(self, step: steps.AwaitPort) -> None:
        self.session.await_port(step.name, step.address)

    @_do.register
    def _(self, step: steps.Clocks) -> None:
        most_s = self.script.machines.lab.most_clock_offset
        now = {host: self.session.clock(host) for host in self.session.keepers}
        for host, offset in now.items():
            clock = self.hosts.setdefault(host, {}).setdefault("clock", {})
            clock[step.when] = offset.document()
        write_json(self.script.run_dir / "hosts.json", self.hosts)
        self.offsets = {**now, **self.offsets}
        for host, offset in now.items():
            clocks.check(host, step.when, offset, most_s)

    @_do.register
    def _(self, step: steps.Note) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            self.session.check()
            try:
                found = [self.links.link(k) for k in range(len(self.links.places))]
                unknown = [k for k, link in enumerate(found) if not link.get("limit")]
                why = f"it does not know the limit of {step.paths[unknown[0]]}" if unknown else ""
            except ApiError as error:
                unknown, why = [0], str(error)
            if not unknown:
                break
            if time.monotonic() > deadline:
                raise LabError(f"controller at {self.script.url}: {why}")
            time.sleep(0.2)
        self.mode = self.links.controller.get("/status")["mode"]
        self.before = [{"limit": link["limit"], "targets": link["targets"]} for link in found]

    @_do.register
    def _(self, step: steps.Begin) -> None:
        self.links.controller.post("/mode", {"mode": live.FIRST_MODE})
        self.links.set_targets(step.targets)
        self.limits = self.script.machines.plan.first_limits()
        for k, wanted in enumerate(self.limits):
            self.links.set_limits(k, wanted, live.FIRST)

    @_do.register
    def _(self, step: steps.Pass) -> None:
        self._let_pass(step.label, step.seconds)

    def _let_pass(self, label: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.session.check()
            self.progress.show(f"{label}, {left:.0f} s")
            time.sleep(min(0.5, left))

    @_do.register
    def _(self, step: steps.SetPhase) -> None:
        self.limits = self.links.set_phase(step.phase, self.limits)

    @_do.register
    def _(self, step: steps.Measure) -> None:
        self.limits = self.links.in_force(self.limits)
        cpu = CpuTime.now()
        starts = self.links.now()
        self._let_pass(step.label, step.phase.duration)
        ends = self.links.now()
        self.measured.append(
            MeasuredPhase(
                name=step.phase.name,
                limits=self.limits,
                windows=[
                    Window(start[0], end[0], start[1], end[1])
                    for start, end in zip(starts, ends, strict=True)
                ],
                stolen_cpu_fraction=cpu.stolen_fraction_until(CpuTime.now()),
                load_average=load_average(),
                live=self.links.live(),
            )
        )

    @_do.register
    def _(self, step: steps.Truth) -> None:
        parts = []
        for host, path in step.parts:
            try:
                parts.append((json.loads(path.read_text()), self.offsets[host]))
            except (OSError, ValueError) as error:
                raise LabError(f"{host}: its truth cannot be read: {path}: {error}") from error
        seed = self.script.machines.plan.seed
        write_json(step.path, clocks.one_truth(seed, parts))

    @_do.register
    def _(self, step: steps.Restore) -> None:
        if problems := self._restore():
            raise LabError("; ".join(problems))

    @_do.register
    def _(self, step: steps.Disconnect) -> None:
        self.session.disconnect(step.host)

    def _restore(self) -> list[str]:
        """Each by itself: what cannot be put back keeps nothing else from it."""
        before, self.before = self.before, None
        problems = []
        if before is None or self.mode is None:
            return []
        controller = self.links.controller
        # The mode first: a controller in auto mode would go on.
        posts: list[tuple[str, JsonObject]] = [("/mode", {"mode": self.mode})]
        for place, was in zip(self.links.places, before, strict=True):
            why = "experiment, as it was before"
            body = {**request(was["limit"]), "reason": why}
            posts.append((f"{live.path(place)}/limit", body))
            posts.append(("/targets", {**live.named(place), **was["targets"]}))
        for path, body in posts:
            try:
                controller.post(path, body)
            except ApiError as error:
                problems.append(f"{path} is not as it was before ({body}): {error}")
        return problems

    def clear(self) -> list[str]:
        """After the last step, or what is left of it after a failure."""
        return [*self._restore(), *self.session.end_all()]
