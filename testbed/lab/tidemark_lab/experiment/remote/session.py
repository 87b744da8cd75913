# SPDX-License-Identifier: Apache-2.0
"""Programs and connections of a run, here and on its hosts.

`end_all` may be called at any point, and always is: it closes every session's standard input, which
ends the programs there and removes the directories.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ... import signals
from ...errors import ChildDied, LabError
from ...processes import end_with_parent
from .clocks import Asked, Offset

START_TIMEOUT_S = 30.0
CALL_TIMEOUT_S = 120.0
END_PATIENCE_S = 20.0
ASKED = 10
STALE_S = 60.0


@dataclass
class Program:
    """`host` None: on this machine. A program on a host ends with its session's input."""

    name: str
    argv: list[str]
    host: str | None
    log: Path
    process: subprocess.Popen[bytes]
    # Whether it may end by itself, with exit code 0.
    may_end: bool = False

    def failed(self, what: str) -> str:
        """Returns host, command, and the end of the log."""
        return said_of(self.host, self.argv, what, self.log.read_text(errors="replace"))


def remove_stale(parent: Path) -> None:
    """Removes sockets of runs that were killed, whose connections are gone."""
    for path in parent.glob("tidemark-" + 6 * "[0-9a-f]"):
        # Skips a run that is just starting; a directory with a socket is not empty, so stays.
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > STALE_S:
                path.rmdir()


def said_of(host: str | None, argv: list[str], what: str, output: str) -> str:
    tail = "\n".join(f"  {line}" for line in output.strip().splitlines()[-15:])
    said = f"; the end of what it said:\n{tail}" if tail else "; it said nothing"
    return f"{host or 'this machine'}: {shlex.join(argv)}: {what}{said}"


def exit_in_words(code: int) -> str:
    if code == 255:
        return "exit code 255 (of ssh: no connection, or it broke)"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


@dataclass
class Session:
    """Programs and connections of one run; they end with this process, even if it is killed."""

    log_dir: Path
    sockets: Path
    programs: dict[str, Program] = field(default_factory=dict)
    keepers: dict[str, Program] = field(default_factory=dict)

    def open(self) -> None:
        self.log_dir.mkdir(exist_ok=True)
        remove_stale(self.sockets.parent)
        self.sockets.mkdir(mode=0o700)

    def start(
        self,
        name: str,
        argv: list[str],
        host: str | None = None,
        ready: str | None = None,
        may_end: bool = False,
    ) -> None:
        log = self.log_dir / f"{name}.log"
        with signals.deferred():
            program = self.programs[name] = self._spawn(name, argv, host, log)
        program.may_end = may_end
        deadline = time.monotonic() + START_TIMEOUT_S
        while ready is not None and ready not in program.log.read_text(errors="replace"):
            self.check()
            if time.monotonic() > deadline:
                waited = f"did not say {ready!r} within {START_TIMEOUT_S:.0f} s"
                raise LabError(program.failed(waited))
            time.sleep(0.05)

    def _spawn(
        self, name: str, argv: list[str], host: str | None, log: Path, answers: bool = False
    ) -> Program:
        with log.open("ab") as output:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if host is None else subprocess.PIPE,
                stdout=subprocess.PIPE if answers else output,
                stderr=output,
                # Ctrl-C goes to the lab, which ends its children in order.
                start_new_session=True,
                env={**os.environ, "NO_COLOR": "1"},
                preexec_fn=end_with_parent,
            )
            return Program(name, argv, host, log, process)

    def connect(self, host: str, argv: list[str]) -> None:
        """Starts the session that keeps the host's directory; waits for the directory."""
        log = self.log_dir / f"ssh-{len(self.keepers) + 1}.log"
        with signals.deferred():
            keeper = self._spawn(f"connection to {host}", argv, host, log, answers=True)
            self.keepers[host] = keeper
        try:
            answer = self._answer(keeper, START_TIMEOUT_S)
        except LabError:
            if keeper.process.poll() is not None:
                # The host never had a directory.
                del self.keepers[host]
                _ended(keeper)
            raise
        if answer != "ready":
            raise LabError(keeper.failed("its directory could not be made"))

    def _answer(self, keeper: Program, timeout_s: float) -> str:
        output = keeper.process.stdout
        if output is None:
            return ""
        if not select.select([output], [], [], timeout_s)[0]:
            raise LabError(keeper.failed(f"no answer within {timeout_s:.0f} s"))
        line = output.readline().decode(errors="replace").strip()
        if not line:
            code = keeper.process.wait(END_PATIENCE_S)
            raise LabError(keeper.failed(f"ended ({exit_in_words(code)})"))
        return line

    def clock(self, host: str) -> Offset:
        """Returns the offset of the host's clock from this machine's."""
        keeper = self.keepers[host]
        asked = []
        for _ in range(ASKED):
            sent_ns = time.time_ns()
            _write(keeper.process.stdin, b"\n")
            said = self._answer(keeper, START_TIMEOUT_S)
            came_ns = time.time_ns()
            if not (said.isdigit() and len(said) == 19):
                raise LabError(f"{host}: `date +%s%N` says {said!r}: GNU date is needed there")
            asked.append(Asked(sent_ns, int(said), came_ns))
        return Offset.of(asked)

    def call(self, host: str, argv: list[str]) -> str:
        """Runs a command to its end; returns its output."""
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=CALL_TIMEOUT_S,
                check=False,
                preexec_fn=end_with_parent,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            what = f"not done within {CALL_TIMEOUT_S:.0f} s"
            raise LabError(said_of(host, argv, what, "")) from error
        if done.returncode != 0:
            what = exit_in_words(done.returncode)
            raise LabError(said_of(host, argv, what, done.stderr))
        return done.stdout

    def check(self) -> None:
        """Raises ChildDied if something has ended that should run."""
        for program in (*self.keepers.values(), *self.programs.values()):
            code = program.process.poll()
            if code is not None and not (program.may_end and code == 0):
                raise ChildDied(program.failed(f"ended ({exit_in_words(code)})"))

    def await_port(self, name: str, address: str) -> None:
        host, _, port = address.rpartition(":")
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            self.check()
            with contextlib.suppress(OSError):
                socket.create_connection((host.strip("[]"), int(port)), timeout=0.5).close()
                return
            if time.monotonic() > deadline:
                what = f"takes no connections at {address}"
                program = self.programs.get(name)
                raise LabError(program.failed(what) if program else f"{name} {what}")
            time.sleep(0.05)

    def end(self, name: str) -> None:
        """Ends a program. Raises LabError if it does not exit successfully."""
        program = self.programs.pop(name)
        code = _ended(program)
        if code is None:
            raise LabError(program.failed(f"did not end within {END_PATIENCE_S:.0f} s"))
        if code != 0:
            raise LabError(program.failed(exit_in_words(code)))

    def disconnect(self, host: str) -> None:
        keeper = self.keepers.pop(host)
        code = _ended(keeper)
        if code != 0:
            what = exit_in_words(code) if code is not None else "did not end"
            raise LabError(keeper.failed(f"{what}; its directory may be left"))

    def end_all(self) -> list[str]:
        """Ends everything that is left, connections last; returns problems with the connections."""
        for program in self.programs.values():
            _ask_to_end(program)
        for program in self.programs.values():
            _ended(program)
        self.programs.clear()
        problems = []
        for host in list(self.keepers):
            try:
                self.disconnect(host)
            except LabError as error:
                problems.append(str(error))
        with contextlib.suppress(OSError):
            for left in self.sockets.iterdir():
                left.unlink()
            self.sockets.rmdir()
        return problems


def _ask_to_end(program: Program) -> None:
    if program.host is None:
        program.process.terminate()
    elif program.process.stdin is not None:
        with contextlib.suppress(OSError):
            program.process.stdin.close()


def _ended(program: Program) -> int | None:
    """Returns the exit code; None if the program had to be killed."""
    _ask_to_end(program)
    try:
        return program.process.wait(END_PATIENCE_S)
    except subprocess.TimeoutExpired:
        program.process.kill()
        program.process.wait()
        return None
    finally:
        if program.process.stdout is not None:
            program.process.stdout.close()


def _write(stream: IO[bytes] | None, line: bytes) -> None:
    """Ignores a closed stream: the missing answer will show that the other end is gone."""
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.write(line)
            stream.flush()
