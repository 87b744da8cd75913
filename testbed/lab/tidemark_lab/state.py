# SPDX-License-Identifier: Apache-2.0
"""Records what a run made, where the next run finds it.

Every thing is recorded before it is made, so that a run killed at any moment leaves a record of at
least what it left behind. Cleaning up removes only recorded things, and only ends processes whose
start time is the recorded one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import netns
from .links import delete_link, link_exists
from .machine import stat_fields
from .outcome import write_json
from .tracing import unmount

DIRECTORY = Path("/run/tidemark")
VERSION = 1


@dataclass
class Process:
    """A process, distinguished by its start time from a later one with the same pid."""

    name: str
    pid: int
    start_ticks: int


@dataclass
class RunState:
    run_id: str
    owner: Process
    boot_id: str
    run_dir: str = ""
    namespaces: list[str] = field(default_factory=list)
    # Interfaces in the root namespace.
    interfaces: list[str] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    made_netns_directory: bool = False
    mounted_tracefs: str = ""
    version: int = VERSION

    @classmethod
    def begin(cls, run_id: str, run_dir: Path) -> RunState:
        state = cls(
            run_id=run_id,
            owner=Process("lab", os.getpid(), start_ticks(os.getpid()) or 0),
            boot_id=boot_id(),
            run_dir=str(run_dir),
            made_netns_directory=not netns.DIRECTORY.exists(),
        )
        state.save()
        return state

    @property
    def path(self) -> Path:
        return DIRECTORY / f"lab-{self.run_id}.json"

    def save(self) -> None:
        DIRECTORY.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_json(self.path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> RunState:
        document = json.loads(path.read_text())
        if document.get("version") != VERSION:
            raise ValueError(f"version {document.get('version')}, this program knows {VERSION}")
        document["owner"] = Process(**document["owner"])
        document["processes"] = [Process(**p) for p in document["processes"]]
        return cls(**document)

    def add_namespace(self, name: str) -> None:
        self.namespaces.append(name)
        self.save()

    def add_interface(self, name: str) -> None:
        self.interfaces.append(name)
        self.save()

    def add_process(self, name: str, pid: int) -> None:
        self.processes.append(Process(name, pid, start_ticks(pid) or 0))
        self.save()

    def owner_alive(self) -> bool:
        return self.boot_id == boot_id() and is_alive(self.owner)

    def clean(self) -> list[str]:
        """Removes everything recorded; returns what could not be removed."""
        problems = []
        if self.boot_id == boot_id():
            problems += stop_processes(self.processes)
        things: list[tuple[str, str, Callable[[str], None]]] = [
            *(("interface", name, delete_link) for name in self.interfaces),
            *(("namespace", name, netns.remove) for name in self.namespaces),
        ]
        if self.mounted_tracefs:
            things.append(("tracefs at", self.mounted_tracefs, lambda at: unmount(Path(at))))
        for kind, name, remove in things:
            try:
                remove(name)
            except Exception as error:
                problems.append(f"{kind} {name}: {error}")
        if self.made_netns_directory:
            netns.remove_directory()
        if not problems:
            self.path.unlink(missing_ok=True)
            # Other runs' records may be in the directory.
            with contextlib.suppress(OSError):
                DIRECTORY.rmdir()
        return problems

    def leftovers(self) -> list[str]:
        """Returns the recorded things that still exist."""
        there = netns.names()
        left = [f"namespace {n}" for n in self.namespaces if n in there]
        left += [f"interface {n}" for n in self.interfaces if link_exists(n)]
        left += [f"process {p.name} ({p.pid})" for p in self.processes if is_alive(p)]
        return left


def recorded() -> list[tuple[Path, RunState | None]]:
    """Returns all records; None for one that cannot be read."""
    found: list[tuple[Path, RunState | None]] = []
    for path in sorted(DIRECTORY.glob("lab-*.json")):
        try:
            found.append((path, RunState.load(path)))
        except (ValueError, KeyError, TypeError, OSError):
            found.append((path, None))
    return found


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; None if there is no such process (a zombie
    counts as none)."""
    fields = stat_fields(Path(f"/proc/{pid}/stat"))
    return None if fields is None or fields[0] in ("Z", "X") else int(fields[19])


def is_alive(process: Process) -> bool:
    return process.pid > 0 and start_ticks(process.pid) == process.start_ticks


def stop_processes(processes: list[Process], patience_s: float = 5.0) -> list[str]:
    """Sends SIGTERM, then SIGKILL, to the processes that verifiably are the recorded ones."""
    for sig, patience in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 2.0)):
        alive = [p for p in processes if is_alive(p)]
        for process in alive:
            try:
                os.kill(process.pid, sig)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + patience
        while any(is_alive(p) for p in alive) and time.monotonic() < deadline:
            _reap(alive)
            time.sleep(0.02)
    return [f"process {p.name} ({p.pid}) does not end" for p in processes if is_alive(p)]


def _reap(processes: list[Process]) -> None:
    """Waits for our own children; a former run's belong to init."""
    for process in processes:
        try:
            os.waitpid(process.pid, os.WNOHANG)
        except ChildProcessError:
            continue
