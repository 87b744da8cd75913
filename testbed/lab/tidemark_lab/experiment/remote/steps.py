# SPDX-License-Identifier: Apache-2.0
"""The things that a run on remote hosts does. Each says itself in words, so that a dry run shows
what a run does, and is done on a run."""

from __future__ import annotations

import json
import os
import shlex
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from ...api import ApiError
from ...errors import LabError
from ...json_types import JsonObject
from ...machine import CpuTime
from ...outcome import write_json
from .. import live
from ..backend import MeasuredPhase, Window
from ..model import Phase, Targets
from . import clocks
from .run import Run
from .session import START_TIMEOUT_S


class Step(ABC):
    @abstractmethod
    def words(self) -> list[str]:
        """A line for each thing that it does."""

    @abstractmethod
    def do(self, run: Run) -> None: ...


@dataclass(frozen=True)
class Write(Step):
    """A file of the run's directory."""

    path: Path
    text: str

    def words(self) -> list[str]:
        return [f"write {self.path} ({len(self.text)} characters)"]

    def do(self, run: Run) -> None:
        self.path.write_text(self.text)


@dataclass(frozen=True)
class Call(Step):
    """A command that runs to its end."""

    host: str
    argv: list[str]

    def words(self) -> list[str]:
        return [shlex.join(self.argv)]

    def do(self, run: Run) -> None:
        run.session.call(self.host, self.argv)


@dataclass(frozen=True)
class Connect(Call):
    """The session that keeps a host's connection and directory."""

    def do(self, run: Run) -> None:
        run.session.connect(self.host, self.argv)


@dataclass(frozen=True)
class Look(Call):
    """A host is asked for its kernel, its congestion controls, and whether it asks for ECN."""

    congestion_controls: tuple[str, ...]
    # Of net.ipv4.tcp_ecn; empty where any will do.
    ecn: tuple[str, ...]

    def do(self, run: Run) -> None:
        lines = run.session.call(self.host, self.argv).splitlines()
        if len(lines) != 3:
            raise LabError(f"{self.host}: is no Linux host: it says {lines}")
        kernel, controls, ecn = lines
        run.hosts[self.host] = {"kernel": kernel, "tcp_ecn": ecn}
        if missing := [c for c in self.congestion_controls if c not in controls.split()]:
            raise LabError(
                f"{self.host}: has no congestion control {missing[0]} ({controls}): modprobe "
                f"tcp_{missing[0]} there"
            )
        if self.ecn and ecn not in self.ecn:
            raise LabError(
                f"{self.host}: net.ipv4.tcp_ecn is {ecn}, the flows need "
                f"{' or '.join(self.ecn)}: set it there (sysctl -w)"
            )


@dataclass(frozen=True)
class Start(Step):
    """A program that runs until it is told to end. `host` None: here."""

    name: str
    argv: list[str]
    host: str | None = None
    # Its log says this when it is there.
    ready: str | None = None
    # A host's flows may all end before the run does.
    may_end: bool = False

    def words(self) -> list[str]:
        until = f" (until it says {self.ready!r})" if self.ready else ""
        return [f"{shlex.join(self.argv)} &{until}"]

    def do(self, run: Run) -> None:
        run.session.start(self.name, self.argv, self.host, self.ready, self.may_end)


@dataclass(frozen=True)
class End(Step):
    """Its end is waited for; its exit code must be 0."""

    name: str

    def words(self) -> list[str]:
        return [f"end {self.name}"]

    def do(self, run: Run) -> None:
        run.session.end(self.name)


@dataclass(frozen=True)
class Clocks(Step):
    """The clock of every host, over the sessions that are there."""

    when: str
    most_s: float

    def words(self) -> list[str]:
        return [f"ask every host for its time, 10 times ({self.when})"]

    def do(self, run: Run) -> None:
        now = {host: run.session.clock(host) for host in run.session.keepers}
        for host, offset in now.items():
            clock = run.hosts.setdefault(host, {}).setdefault("clock", {})
            clock[self.when] = offset.document()
        write_json(run.run_dir / "hosts.json", run.hosts)
        run.offsets = {**now, **run.offsets}
        for host, offset in now.items():
            clocks.check(host, self.when, offset, self.most_s)


@dataclass(frozen=True)
class AwaitPort(Step):
    """A server takes connections."""

    name: str
    address: str

    def words(self) -> list[str]:
        return [f"wait until {self.name} takes connections at {self.address}"]

    def do(self, run: Run) -> None:
        run.session.await_port(self.name, self.address)


@dataclass(frozen=True)
class Note(Step):
    """Limits, targets and mode as they are before the run."""

    paths: tuple[str, ...]

    def words(self) -> list[str]:
        return [f"GET {p}" for p in self.paths]

    def do(self, run: Run) -> None:
        links = run.links
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            run.session.check()
            try:
                found = [links.link(k) for k in range(len(links.places))]
                unknown = [k for k, link in enumerate(found) if not link.get("limit")]
                why = f"it does not know the limit of {self.paths[unknown[0]]}" if unknown else ""
            except ApiError as error:
                unknown, why = [0], str(error)
            if not unknown:
                break
            if time.monotonic() > deadline:
                raise LabError(f"controller at {run.url}: {why}")
            time.sleep(0.2)
        run.mode = links.controller.get("/status")["mode"]
        run.before = [{"limit": link["limit"], "targets": link["targets"]} for link in found]


@dataclass(frozen=True)
class _Posts(Step):
    # As far as they are known beforehand.
    posts: tuple[tuple[str, JsonObject], ...]

    def words(self) -> list[str]:
        return [f"POST {path} {json.dumps(body)}" for path, body in self.posts]


@dataclass(frozen=True)
class Begin(_Posts):
    """The experiment's targets, and the limits before its first phase."""

    targets: Targets

    def do(self, run: Run) -> None:
        run.links.controller.post("/mode", {"mode": live.FIRST_MODE})
        run.links.set_targets(self.targets)
        run.limits = run.machines.plan.first_limits()
        for k, wanted in enumerate(run.limits):
            run.links.set_limits(k, wanted, live.FIRST)


@dataclass(frozen=True)
class SetPhase(_Posts):
    """The settings of a phase."""

    phase: Phase

    def do(self, run: Run) -> None:
        run.limits = run.links.set_phase(self.phase, run.limits)


@dataclass(frozen=True)
class Pass(Step):
    """Time in which nothing is done."""

    label: str
    seconds: float

    def words(self) -> list[str]:
        return [f"let {self.seconds:g} s pass: {self.label}"]

    def do(self, run: Run) -> None:
        run.let_pass(self.label, self.seconds)


@dataclass(frozen=True)
class Measure(Step):
    """A phase, from the switches' clocks at its start to those at its end."""

    phase: Phase
    label: str

    def words(self) -> list[str]:
        return [f"measure for {self.phase.duration:g} s: {self.label}"]

    def do(self, run: Run) -> None:
        run.limits = run.links.in_force(run.limits)
        cpu = CpuTime.now()
        starts = run.links.now()
        run.let_pass(self.label, self.phase.duration)
        ends = run.links.now()
        run.measured.append(
            MeasuredPhase(
                name=self.phase.name,
                limits=run.limits,
                windows=[
                    Window(start[0], end[0], start[1], end[1])
                    for start, end in zip(starts, ends, strict=True)
                ],
                stolen_cpu_fraction=cpu.stolen_fraction_until(CpuTime.now()),
                load_average=os.getloadavg()[0],
                live=run.links.live(),
            )
        )


@dataclass(frozen=True)
class Truth(Step):
    """One truth of what the hosts wrote, in this machine's time."""

    parts: tuple[tuple[str, Path], ...]
    path: Path

    def words(self) -> list[str]:
        return [f"write {self.path} from {len(self.parts)} truths of hosts"]

    def do(self, run: Run) -> None:
        parts = []
        for host, path in self.parts:
            try:
                parts.append((json.loads(path.read_text()), run.offsets[host]))
            except (OSError, ValueError) as error:
                raise LabError(f"{host}: its truth cannot be read: {path}: {error}") from error
        write_json(self.path, clocks.one_truth(run.machines.plan.seed, parts))


@dataclass(frozen=True)
class Restore(Step):
    """Limits, targets and mode are set as they were noted."""

    def words(self) -> list[str]:
        return ["POST limits, targets and mode as they were"]

    def do(self, run: Run) -> None:
        if problems := run.restore():
            raise LabError("; ".join(problems))


@dataclass(frozen=True)
class Disconnect(Step):
    """Ends a host's session, which removes its directory."""

    host: str

    def words(self) -> list[str]:
        return [f"end the session at {self.host}, which removes its directory"]

    def do(self, run: Run) -> None:
        run.session.disconnect(self.host)
