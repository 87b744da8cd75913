# SPDX-License-Identifier: Apache-2.0
"""Starts, watches and ends the programs of a run."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import netns, signals
from .errors import ChildDied, LabError
from .state import RunState

# A program that does not serve after this long never will.
START_TIMEOUT_S = 30.0
_PR_SET_PDEATHSIG = 1
_REAL_TIME_PRIORITY = 10
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent() -> None:
    """Makes the child get SIGTERM when the lab dies, even by SIGKILL."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def run_within(argv: list[str], most_cpu_s: float) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end. Raises LabError once it has used this much CPU time, which, unlike
    elapsed time, does not depend on other load."""
    soft_s = math.ceil(most_cpu_s)
    hard_s = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard_s != resource.RLIM_INFINITY:
        soft_s = min(soft_s, hard_s)

    def in_child() -> None:
        # If it outlived the lab, it would write where the next run does.
        end_with_parent()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (soft_s, hard_s))

    done = subprocess.run(argv, capture_output=True, text=True, check=False, preexec_fn=in_child)
    if done.returncode == -signal.SIGXCPU:
        raise LabError(f"did not end within {soft_s} s of CPU time")
    return done


def _run_first() -> None:
    """Gives the child real-time priority (round-robin), or the next best if a container forbids it
    (the run is then less exact on a busy machine)."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_REAL_TIME_PRIORITY))
    except OSError:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, -15)


@dataclass
class Child:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def last_lines(self, count: int = 15) -> str:
        text = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in text[-count:])


class Supervisor:
    """The programs of a run, each with its own log."""

    def __init__(self, state: RunState, log_dir: Path):
        self._state = state
        self._log_dir = log_dir
        self._children: dict[str, Child] = {}

    def start(
        self,
        name: str,
        argv: list[str | Path],
        real_time: bool = False,
        namespace: str | None = None,
    ) -> Child:
        """Starts a program. `real_time`: before all other processes whenever it can run.
        `namespace`: network namespace; None: the lab's."""

        def in_child() -> None:
            end_with_parent()
            if real_time:
                _run_first()
            if namespace is not None:
                netns.enter(namespace)

        log = self._log_dir / f"{name}.log"
        with log.open("ab") as output, signals.deferred():
            process = subprocess.Popen(
                [str(a) for a in argv],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C goes to the lab, which ends its children in order.
                start_new_session=True,
                env={**os.environ, "NO_COLOR": "1"},
                preexec_fn=in_child,
            )
            child = Child(name, process, log)
            self._children[name] = child
            self._state.add_process(name, process.pid)
        return child

    def check(self) -> None:
        """Raises ChildDied if a program has ended that should run."""
        for child in self._children.values():
            code = child.process.poll()
            if code is not None:
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                raise ChildDied(
                    f"{child.name} ended ({how}); the end of {child.log}:\n{child.last_lines()}"
                )

    def wait_for_line(self, child: Child, pattern: str, timeout_s: float = 20.0) -> str:
        """Returns the first matching line of the program's log."""
        expression = re.compile(pattern)

        def found() -> str | None:
            for line in child.log.read_text(errors="replace").splitlines():
                if expression.search(line):
                    return line
            return None

        return self.wait_until(found, f"{child.name} to say {pattern!r}", timeout_s, child)

    def wait_until(
        self,
        condition: Callable[[], object],
        what: str,
        timeout_s: float,
        child: Child | None = None,
    ) -> Any:
        """Waits for a true value and returns it; watches the programs meanwhile."""
        deadline = time.monotonic() + timeout_s
        while True:
            self.check()
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                tail = f"; the end of {child.log}:\n{child.last_lines()}" if child else ""
                raise LabError(f"waited {timeout_s:.0f} s in vain for {what}{tail}")
            time.sleep(0.05)

    def stop(self, name: str, patience_s: float = 15.0) -> int:
        """Sends SIGTERM, and SIGKILL after the timeout; returns the exit code."""
        child = self._children.pop(name)
        if child.process.poll() is None:
            child.process.terminate()
        try:
            return child.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()
            raise LabError(
                f"{name} did not end within {patience_s:.0f} s of SIGTERM and was killed"
            ) from None

    def running(self) -> list[str]:
        return list(self._children)

    def pid(self, name: str) -> int:
        return self._children[name].process.pid
