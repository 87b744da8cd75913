# SPDX-License-Identifier: Apache-2.0
"""Command lines of ssh and scp, and scripts for the hosts. Pure.

Nothing outlives its session. Whatever a host keeps running reads its standard input: when that
ends, even because the command was killed or the connection broke, the program ends and the
directory is removed.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from .model import SshLine

# Asks nothing, never waits for ever, and uses one connection per host.
ALWAYS = (
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ExitOnForwardFailure=yes",
)


@dataclass(frozen=True)
class Line:
    """One host's connection, and its directory for this run."""

    host: SshLine
    # Socket of the connection that sessions share, on this machine.
    socket: Path
    directory: str

    def _options(self) -> list[str]:
        out = []
        for option in (*self.host.options, *ALWAYS, f"ControlPath={self.socket}"):
            out += ["-o", option]
        if self.host.port is not None:
            out += ["-o", f"Port={self.host.port}"]
        if self.host.identity_file is not None:
            out += ["-o", f"IdentityFile={self.host.identity_file}", "-o", "IdentitiesOnly=yes"]
        return out

    def connect(self, forward: str | None = None) -> list[str]:
        """Starts the session that keeps the directory. `forward`: a port there, led here."""
        led = ["-R", forward] if forward else []
        options = ["-o", "ControlMaster=yes", *self._options(), *led]
        return ["ssh", *options, self.host.destination, _sh(keeper(self.directory))]

    def call(self, command: str) -> list[str]:
        """Runs a command to its end."""
        options = ["-o", "ControlMaster=no", *self._options()]
        return ["ssh", *options, self.host.destination, _sh(command)]

    def hold(self, argv: list[str]) -> list[str]:
        """Runs a program that ends when the session's standard input does."""
        return self.call(holder(argv))

    def put(self, local: Path, name: str) -> list[str]:
        return [*self._scp(), str(local), f"{self._scp_host()}:{self.path(name)}"]

    def get(self, name: str, local: Path) -> list[str]:
        """Copies a file, or a directory with its content."""
        return [*self._scp(), "-r", f"{self._scp_host()}:{self.path(name)}", str(local)]

    def _scp(self) -> list[str]:
        return ["scp", "-q", "-p", "-o", "ControlMaster=no", *self._options()]

    def _scp_host(self) -> str:
        """Puts an IPv6 address in brackets."""
        user, at, name = self.host.destination.rpartition("@")
        return f"{user}{at}[{name}]" if ":" in name else self.host.destination

    def path(self, name: str) -> str:
        return f"{self.directory}/{name}"


def keeper(directory: str) -> str:
    """Makes the directory, prints `ready`, answers every line with the time, and finally removes
    the directory, trying twice because programs that still write there end at the same time."""
    there = shlex.quote(directory)
    return (
        f"umask 077; mkdir {there} || exit 1; echo ready; "
        "while read -r line; do date +%s%N; done; "
        f"rm -rf {there} 2>/dev/null || {{ sleep 5; rm -rf {there}; }}"
    )


def since(mark: str, capture: str, into: str) -> str:
    """Copies the files that a collector has written since the file `mark` was made."""
    mark, capture, into = map(shlex.quote, (mark, capture, into))
    return (
        f"mkdir {into} && cp {capture}/capture.json {into}/ && "
        f"find {capture}/ -maxdepth 1 -name '*.parquet' -newer {mark} -exec cp {{}} {into}/ ';'"
    )


def holder(argv: list[str]) -> str:
    """Runs a program until standard input ends; returns its exit code."""
    return (
        f"exec 3<&0; {shlex.join(argv)} </dev/null 3<&- & p=$!; "
        "{ cat <&3; kill -TERM $p; } >/dev/null 2>&1 & w=$!; "
        "wait $p; c=$?; kill $w 2>/dev/null; exit $c"
    )


def _sh(script: str) -> str:
    """Makes the script independent of the user's shell."""
    return f"exec sh -c {shlex.quote(script)}"
