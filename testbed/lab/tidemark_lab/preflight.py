# SPDX-License-Identifier: Apache-2.0
"""Checks everything that can be known to fail before anything is set up."""

from __future__ import annotations

import argparse
import errno
import os
import socket
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from . import kernel_check, netns, places, tracing
from .addresses import REPORT_NETWORK, REPORT_UDP_PORT
from .errors import PreflightError
from .links import addresses_within
from .state import DIRECTORY as RECORDS
from .state import recorded

BINARIES = ("tidemark-switch", "tidemark-collector", "tidemark-controller", "tidemark-traffic")
PACKAGES = "tidemark-collector, tidemark-controller and tidemark-switch"
P4_FILES = ("tidemark.json", "tidemark.p4info.txtpb")


@dataclass(frozen=True)
class Ports:
    """TCP ports on loopback; `metrics` is the collector's."""

    console: int = 8080
    switch: int = 9559
    collector: int = 9560
    metrics: int = 9561

    def by_option(self) -> dict[str, int]:
        return {f"--{name}-port": number for name, number in asdict(self).items()}

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        for option, value in cls().by_option().items():
            parser.add_argument(option, type=int, default=value, metavar="PORT")

    @classmethod
    def of(cls, options: argparse.Namespace) -> Ports:
        return cls(*(getattr(options, f"{field.name}_port") for field in fields(cls)))


@dataclass(frozen=True)
class Paths:
    bin_dir: Path
    p4_dir: Path

    @classmethod
    def find(cls) -> Paths:
        return cls(bin_dir=places.programs(), p4_dir=places.P4)

    def binary(self, name: str) -> Path:
        return self.bin_dir / name


def run(ports: Ports, paths: Paths, out: Path) -> list[str]:
    """Checks everything and removes what killed runs have left. Returns notes for the user. Raises
    PreflightError at the first problem."""
    check_platform()
    check_root()
    check_files(paths)
    check_run_directories()
    notes = clean_stale()
    check_ports(ports)
    check_addresses(str(REPORT_NETWORK), "the report links")
    kernel_check.check()
    notes += check_tracefs()
    check_out(out)
    return notes


def check_platform() -> None:
    if sys.platform != "linux":
        raise PreflightError(
            "the lab needs Linux (network namespaces, tcp_probe)", "run it on a Linux machine"
        )


def check_root() -> None:
    if os.geteuid() != 0:
        raise PreflightError(
            "the lab needs root (network namespaces, packet sockets, tracepoints)",
            places.remedy("run: sudo --preserve-env=PATH make demo", "run it with sudo"),
        )


def check_programs(paths: Paths, names: Iterable[str]) -> None:
    for name in names:
        if not os.access(paths.binary(name), os.X_OK):
            raise PreflightError(
                f"{name} is not at {paths.bin_dir}",
                places.remedy(
                    "run: make build (or set TIDEMARK_BIN_DIR to where the programs are)",
                    f"install the packages {PACKAGES}",
                ),
            )


def check_files(paths: Paths) -> None:
    check_programs(paths, BINARIES)
    for name in P4_FILES:
        if not (paths.p4_dir / name).is_file():
            raise PreflightError(
                f"the compiled P4 program {name} is not at {paths.p4_dir}",
                places.remedy("run: make p4", "install the package tidemark-switch"),
            )


def check_run_directories() -> None:
    """Checks the directories that name namespaces and record runs."""
    for directory in (netns.DIRECTORY, RECORDS):
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=directory, prefix=".tidemark-check-"):
                pass
        except OSError as error:
            raise PreflightError(
                f"cannot write to {directory}: {error.strerror}",
                "mount /run writable (in a container: run it privileged)",
            ) from error


def clean_stale() -> list[str]:
    """Removes leftovers of former runs that were killed."""
    notes = []
    for path, state in recorded():
        if state is None:
            raise PreflightError(
                f"the record of a former run, {path}, cannot be read",
                f"remove its namespaces (tm-*) by hand, then: rm {path}",
            )
        if state.owner_alive():
            raise PreflightError(
                f"another run of the lab is active (process {state.owner.pid})",
                f"wait for it or end it: kill -INT {state.owner.pid}",
            )
        count = len(state.leftovers())
        problems = state.clean()
        if problems:
            raise PreflightError(
                f"a former run ({state.run_id}) left {problems[0]}, which cannot be removed",
                "remove it by hand and try again",
            )
        notes.append(f"removed what run {state.run_id} had left ({count} things)")
    return notes


def check_ports(ports: Ports) -> None:
    numbers = list(ports.by_option().values())
    if len(set(numbers)) != len(numbers):
        raise PreflightError(f"ports {numbers} are not distinct", "choose different ones")
    for option, number in ports.by_option().items():
        if not 0 < number < 65536:
            raise PreflightError(f"{option} {number} is not a port", "choose one of 1 to 65535")
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # Like servers do: a former run's connections in TIME_WAIT do not matter.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _bind(probe, ("127.0.0.1", number), f"TCP port {number}", f"{option} PORT")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Only a socket bound to every address can conflict.
        _bind(
            probe, ("127.66.84.77", REPORT_UDP_PORT), f"UDP port {REPORT_UDP_PORT} (reports)", None
        )


def _bind(probe: socket.socket, address: tuple[str, int], what: str, option: str | None) -> None:
    try:
        probe.bind(address)
        if probe.type == socket.SOCK_STREAM:
            probe.listen(1)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        remedy = f"stop what listens there (ss -lnp '( sport = :{address[1]} )')"
        if option:
            remedy += f" or choose another: {option}"
        raise PreflightError(f"{what} is in use", remedy) from error


def check_addresses(network: str, what: str) -> None:
    if found := addresses_within(network):
        interface, address = found[0]
        raise PreflightError(
            f"address {address} of {what} is already on interface {interface}",
            "remove it there for the time of the run",
        )


def check_tracefs() -> list[str]:
    if not tracing.is_mounted():
        if not tracing.can_mount():
            raise PreflightError(
                f"no tracefs at {tracing.TRACEFS}, and it cannot be mounted there",
                "use a kernel with CONFIG_FTRACE and events; in a container, mount the "
                f"host's: -v {tracing.TRACEFS}:{tracing.TRACEFS}",
            )
        return [f"tracefs is not mounted: mounting it at {tracing.TRACEFS} for the run"]
    if not tracing.has_tcp_probe():
        raise PreflightError(
            f"the kernel has no tracepoint tcp_probe ({tracing.TRACEFS / tracing.PROBE})",
            "use Linux 5.10 or later with CONFIG_FTRACE",
        )
    return []


def check_out(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PreflightError(f"cannot make {out}: {error.strerror}", "choose --out DIR") from error
    if not os.access(out, os.W_OK):
        raise PreflightError(f"cannot write to {out}", "choose --out DIR")
