# SPDX-License-Identifier: Apache-2.0
"""Actions of a run on remote hosts. Each describes itself, for a dry run, and can be performed."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Sequence
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

# Path and body of requests to the controller.
Posts = list[tuple[str, JsonObject]]


@dataclass(frozen=True)
class Step:
    """A description, one line per action, and a function that performs it."""

    words: list[str]
    do: Callable[[Run], object]
    # Command or requests of the step, as far as they are known beforehand.
    argv: Sequence[str] = ()
    posts: Sequence[tuple[str, JsonObject]] = ()


def write(path: Path, text: str) -> Step:
    """Writes a file in the run directory."""
    words = [f"write {path} ({len(text)} characters)"]
    return Step(words, lambda _: path.write_text(text))


def call(host: str, argv: list[str]) -> Step:
    """Runs a command to its end."""
    return Step([shlex.join(argv)], lambda run: run.session.call(host, argv), argv)


def connect(host: str, argv: list[str]) -> Step:
    """Starts the session that keeps a host's connection and directory."""
    return Step([shlex.join(argv)], lambda run: run.session.connect(host, argv), argv)


def look(
    host: str, argv: list[str], congestion_controls: tuple[str, ...], ecn: tuple[str, ...]
) -> Step:
    """Asks a host for its kernel, its congestion controls, and whether it requests ECN; `ecn`:
    accepted values of net.ipv4.tcp_ecn, empty if any will do."""

    def do(run: Run) -> None:
        lines = run.session.call(host, argv).splitlines()
        if len(lines) != 3:
            raise LabError(f"{host}: is not a Linux host: it says {lines}")
        kernel, controls, has_ecn = lines
        run.hosts[host] = {"kernel": kernel, "tcp_ecn": has_ecn}
        if missing := [c for c in congestion_controls if c not in controls.split()]:
            raise LabError(
                f"{host}: has no congestion control {missing[0]} ({controls}): modprobe "
                f"tcp_{missing[0]} there"
            )
        if ecn and has_ecn not in ecn:
            raise LabError(
                f"{host}: net.ipv4.tcp_ecn is {has_ecn}, the flows need "
                f"{' or '.join(ecn)}: set it there (sysctl -w)"
            )

    return Step([shlex.join(argv)], do, argv)


def start(
    name: str,
    argv: list[str],
    host: str | None = None,
    ready: str | None = None,
    may_end: bool = False,
) -> Step:
    """Starts a program that runs until told to end. `host` None: here; `ready`: log text that shows
    it is ready; `may_end`: it may end early, since a host's flows may end before the run does."""
    until = f" (until it says {ready!r})" if ready else ""
    return Step(
        [f"{shlex.join(argv)} &{until}"],
        lambda run: run.session.start(name, argv, host, ready, may_end),
        argv,
    )


def end(name: str) -> Step:
    """Ends a program and waits for it; its exit code must be 0."""
    return Step([f"end {name}"], lambda run: run.session.end(name))


def ask_clocks(when: str, most_s: float) -> Step:
    """Reads the clock of every host, over the existing sessions."""

    def do(run: Run) -> None:
        now = {host: run.session.clock(host) for host in run.session.keepers}
        for host, offset in now.items():
            clock = run.hosts.setdefault(host, {}).setdefault("clock", {})
            clock[when] = offset.document()
        write_json(run.run_dir / "hosts.json", run.hosts)
        run.offsets = {**now, **run.offsets}
        for host, offset in now.items():
            clocks.check(host, when, offset, most_s)

    return Step([f"ask every host for its time, 10 times ({when})"], do)


def await_port(name: str, address: str) -> Step:
    """Waits until a server accepts connections."""
    words = [f"wait until {name} takes connections at {address}"]
    return Step(words, lambda run: run.session.await_port(name, address))


def note(paths: list[str]) -> Step:
    """Saves limits, targets and mode before the run."""

    def do(run: Run) -> None:
        links = run.links
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            run.session.check()
            try:
                found = [links.link(k) for k in range(len(links.places))]
                unknown = [k for k, link in enumerate(found) if not link.get("limit")]
                why = f"it does not know the limit of {paths[unknown[0]]}" if unknown else ""
            except ApiError as error:
                unknown, why = [0], str(error)
            if not unknown:
                break
            if time.monotonic() > deadline:
                raise LabError(f"controller at {run.url}: {why}")
            time.sleep(0.2)
        run.mode = links.controller.get("/status")["mode"]
        run.before = [{"limit": link["limit"], "targets": link["targets"]} for link in found]

    return Step([f"GET {p}" for p in paths], do)


def _posts(posts: Posts, do: Callable[[Run], object]) -> Step:
    words = [f"POST {path} {json.dumps(body)}" for path, body in posts]
    return Step(words, do, posts=posts)


def begin(posts: Posts, targets: Targets) -> Step:
    """Sets the experiment's targets, and the limits before its first phase."""

    def do(run: Run) -> None:
        run.links.controller.post("/mode", {"mode": live.FIRST_MODE})
        run.links.set_targets(targets)
        run.limits = run.machines.plan.first_limits()
        for k, wanted in enumerate(run.limits):
            run.links.set_limits(k, wanted, live.FIRST)

    return _posts(posts, do)


def set_phase(posts: Posts, phase: Phase) -> Step:
    """Applies the settings of a phase."""

    def do(run: Run) -> None:
        if phase.apply_advice:
            run.limits = run.links.apply_advice(phase, run.limits)
        else:
            run.limits = run.links.set_phase(phase, run.limits)

    return _posts(posts, do)


def let_pass(label: str, seconds: float) -> Step:
    """Waits."""
    words = [f"let {seconds:g} s pass: {label}"]
    return Step(words, lambda run: run.let_pass(label, seconds))


def measure(phase: Phase, label: str) -> Step:
    """Measures a phase, between the switches' clocks at its start and at its end."""

    def do(run: Run) -> None:
        run.limits = run.links.in_force(run.limits)
        cpu = CpuTime.now()
        starts = run.links.now()
        run.let_pass(label, phase.duration)
        ends = run.links.now()
        run.measured.append(
            MeasuredPhase(
                name=phase.name,
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

    return Step([f"measure for {phase.duration:g} s: {label}"], do)


def one_truth(of_hosts: list[tuple[str, Path]], to: Path) -> Step:
    """Merges the hosts' truth files, in this machine's time."""

    def do(run: Run) -> None:
        parts = []
        for host, path in of_hosts:
            try:
                parts.append((json.loads(path.read_text()), run.offsets[host]))
            except (OSError, ValueError) as error:
                raise LabError(f"{host}: its truth cannot be read: {path}: {error}") from error
        write_json(to, clocks.one_truth(run.machines.plan.seed, parts))

    return Step([f"write {to} from {len(of_hosts)} truths of hosts"], do)


def restore() -> Step:
    """Restores the saved limits, targets and mode."""

    def do(run: Run) -> None:
        if problems := run.restore():
            raise LabError("; ".join(problems))

    return Step(["POST limits, targets and mode as they were"], do)


def disconnect(host: str) -> Step:
    """Ends a host's session, which removes its directory."""
    words = [f"end the session at {host}, which removes its directory"]
    return Step(words, lambda run: run.session.disconnect(host))
