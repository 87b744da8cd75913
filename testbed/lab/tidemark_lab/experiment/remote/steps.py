# SPDX-License-Identifier: Apache-2.0
"""The things that a run on remote hosts does. Each says itself in words, so that a dry run shows
what a run does."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from ...json_types import JsonObject
from ..model import Phase, Targets


@dataclass(frozen=True)
class Write:
    """A file of the run's directory."""

    path: Path
    text: str

    def words(self) -> list[str]:
        return [f"write {self.path} ({len(self.text)} characters)"]


@dataclass(frozen=True)
class Connect:
    """The session that keeps a host's connection and directory."""

    host: str
    argv: list[str]

    def words(self) -> list[str]:
        return [shlex.join(self.argv)]


@dataclass(frozen=True)
class Look:
    """What a host is: its kernel, its congestion controls, whether it asks for ECN."""

    host: str
    argv: list[str]
    congestion_controls: tuple[str, ...]
    # Of net.ipv4.tcp_ecn; empty where any will do.
    ecn: tuple[str, ...]

    def words(self) -> list[str]:
        return [shlex.join(self.argv)]


@dataclass(frozen=True)
class Call:
    """A command that runs to its end."""

    host: str
    argv: list[str]

    def words(self) -> list[str]:
        return [shlex.join(self.argv)]


@dataclass(frozen=True)
class Start:
    """A program that runs until it is told to end. `host` None: here."""

    name: str
    argv: list[str]
    host: str | None = None
    # What its log says when it is there.
    ready: str | None = None
    # A host's flows may all end before the run does.
    may_end: bool = False

    def words(self) -> list[str]:
        until = f" (until it says {self.ready!r})" if self.ready else ""
        return [f"{shlex.join(self.argv)} &{until}"]


@dataclass(frozen=True)
class End:
    """Its end is waited for; its exit code must be 0."""

    name: str

    def words(self) -> list[str]:
        return [f"end {self.name}"]


@dataclass(frozen=True)
class Clocks:
    """The clock of every host, over the sessions that are there."""

    when: str

    def words(self) -> list[str]:
        return [f"ask every host for its time, 10 times ({self.when})"]


@dataclass(frozen=True)
class AwaitPort:
    """A server takes connections."""

    name: str
    address: str

    def words(self) -> list[str]:
        return [f"wait until {self.name} takes connections at {self.address}"]


@dataclass(frozen=True)
class Note:
    """Limits, targets and mode as they are before the run."""

    paths: tuple[str, ...]

    def words(self) -> list[str]:
        return [f"GET {p}" for p in self.paths]


@dataclass(frozen=True)
class Begin:
    """The experiment's targets, and the limits before its first phase."""

    targets: Targets
    posts: tuple[tuple[str, JsonObject], ...]

    def words(self) -> list[str]:
        return [_post(path, body) for path, body in self.posts]


@dataclass(frozen=True)
class Pass:
    """Time in which nothing is done."""

    label: str
    seconds: float

    def words(self) -> list[str]:
        return [f"let {self.seconds:g} s pass: {self.label}"]


@dataclass(frozen=True)
class SetPhase:
    """The settings of a phase. `posts`: as far as they are known beforehand."""

    phase: Phase
    posts: tuple[tuple[str, JsonObject], ...]

    def words(self) -> list[str]:
        return [_post(path, body) for path, body in self.posts]


@dataclass(frozen=True)
class Measure:
    """A phase, from the switches' clocks at its start to those at its end."""

    phase: Phase
    label: str

    def words(self) -> list[str]:
        return [f"measure for {self.phase.duration:g} s: {self.label}"]


@dataclass(frozen=True)
class Truth:
    """One truth of what the hosts wrote, in this machine's time."""

    parts: tuple[tuple[str, Path], ...]
    path: Path

    def words(self) -> list[str]:
        return [f"write {self.path} from {len(self.parts)} truths of hosts"]


@dataclass(frozen=True)
class Restore:
    """What was noted."""

    def words(self) -> list[str]:
        return ["POST limits, targets and mode as they were"]


@dataclass(frozen=True)
class Disconnect:
    """Ends a host's session, which removes its directory."""

    host: str

    def words(self) -> list[str]:
        return [f"end the session at {self.host}, which removes its directory"]


Step = (
    Write
    | Connect
    | Look
    | Call
    | Start
    | End
    | Clocks
    | AwaitPort
    | Note
    | Begin
    | Pass
    | SetPhase
    | Measure
    | Truth
    | Restore
    | Disconnect
)


def _post(path: str, body: JsonObject) -> str:
    return f"POST {path} {json.dumps(body)}"
