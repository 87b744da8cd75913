# SPDX-License-Identifier: Apache-2.0
"""A running lab, whatever its network: programs, time, ending, cleaning."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Protocol

import tomli_w

from . import signals, tracing
from .api import ApiError, Controller
from .errors import LabError
from .json_types import JsonObject
from .limits import acts_at_bytes
from .preflight import Paths, Ports
from .processes import Child, Supervisor
from .progress import Progress
from .state import RunState

START_TIMEOUT_S = 30.0


class Network(Protocol):
    """Namespaces and interfaces of a run."""

    @property
    def run_id(self) -> str: ...

    def build(self, state: RunState) -> None:
        """Makes everything, recording each thing first."""
        ...


class Lab:
    """`clean` may be called at any point, and always is."""

    # Exit codes of programs that end well with another than 0.
    ENDS_WITH: ClassVar[Mapping[str, frozenset[int]]] = {}

    def __init__(
        self, network: Network, spec: JsonObject, ports: Ports, paths: Paths, run_dir: Path
    ):
        self.network = network
        self.spec = spec
        self.ports = ports
        self.paths = paths
        self.run_dir = run_dir
        self.capture_dir = run_dir / "capture"
        self.truth_path = run_dir / "truth.json"
        self.state = RunState.begin(network.run_id, run_dir)
        log_dir = run_dir / "logs"
        log_dir.mkdir()
        self.supervisor = Supervisor(self.state, log_dir)
        self.url = f"http://127.0.0.1:{ports.console}"
        self.controller = Controller(self.url, "")
        self._tracing_before: dict[str, str] | None = None

    def start_network(self) -> None:
        if not tracing.is_mounted():
            self.state.mounted_tracefs = str(tracing.TRACEFS)
            self.state.save()
            tracing.mount()
            if not tracing.has_tcp_probe():
                raise LabError("the kernel has no tracepoint tcp_probe: use Linux 5.10 or later")
        self._tracing_before = tracing.snapshot()
        self.network.build(self.state)

    def run_switch(self, name: str, grpc_port: int, port_arguments: list[str]) -> None:
        argv: list[str | Path] = [
            self.paths.binary("tidemark-switch"),
            "run",
            "--grpc",
            f"127.0.0.1:{grpc_port}",
        ]
        for port in port_arguments:
            argv += ["--port", port]
        # The lab's clockwork: what it delays, every flow sees as delay.
        child = self.supervisor.start(name, argv, real_time=True)
        self.supervisor.wait_for_line(child, r"ready:", START_TIMEOUT_S)

    def run_collector(self, document: JsonObject) -> None:
        config = self.run_dir / "collector.toml"
        config.write_text(tomli_w.dumps(document))
        child = self.supervisor.start(
            "collector", [self.paths.binary("tidemark-collector"), "run", "--config", config]
        )
        self.supervisor.wait_until(
            lambda: _accepts(self.ports.collector), "the collector", START_TIMEOUT_S, child
        )

    def run_controller(self, document: JsonObject) -> Child:
        config = self.run_dir / "controller.toml"
        config.write_text(tomli_w.dumps(document))
        token_file = Path(document["http"]["token_file"])
        # Of a controller before this one.
        token_file.unlink(missing_ok=True)
        child = self.supervisor.start(
            "controller", [self.paths.binary("tidemark-controller"), "run", "--config", config]
        )
        self.supervisor.wait_until(
            lambda: token_file.exists() and token_file.read_text().strip(),
            "the controller's token",
            START_TIMEOUT_S,
            child,
        )
        self.controller = Controller(self.url, token_file.read_text().strip())
        return child

    def start_traffic(self) -> None:
        spec = self.run_dir / "traffic.json"
        spec.write_text(json.dumps(self.spec, indent=1))
        child = self.supervisor.start(
            "traffic",
            [
                self.paths.binary("tidemark-traffic"),
                "run",
                "--spec",
                spec,
                "--truth",
                self.truth_path,
            ],
        )
        self.supervisor.wait_for_line(child, r"ready:", START_TIMEOUT_S)

    def limit_at(self, node: int, port: int) -> int | None:
        """What acts first at a port (the limit, or the threshold where it marks), as the
        controller last read it from the switch; None while unknown."""
        try:
            switches = self.controller.get("/status")["switches"]
        except ApiError:
            return None
        for switch in switches:
            if switch["node"] == node:
                return acts_at_bytes(switch["limits"].get(str(port)) or {})
        return None

    def complete_phase(self, name: str) -> JsonObject:
        """A phase that was ended, when all its reports are in."""

        def complete() -> JsonObject | None:
            phase = self.controller.get(f"/phases/{name}")
            return phase if phase["state"] == "complete" else None

        return self.supervisor.wait_until(complete, f"phase {name} to be complete", 20)

    def finish(self) -> None:
        """Ends the programs in the order that loses nothing: no traffic, then
        nobody who reads from one that has ended. Each must end well."""
        order = ["traffic", "collector", "controller"]
        order += [n for n in self.supervisor.running() if n not in order]
        for name in order:
            if name in self.supervisor.running():
                code = self.supervisor.stop(name)
                if code not in self.ENDS_WITH.get(name, {0}):
                    raise LabError(f"{name} ended with code {code} (see {self.run_dir}/logs)")

    def clean(self) -> list[str]:
        """Removes everything; returns what is left all the same."""
        problems = self.state.clean()
        problems += [p for p in self.state.leftovers() if p not in problems]
        if self._tracing_before is not None and not self.state.mounted_tracefs:
            problems += tracing.differences(self._tracing_before, tracing.snapshot())
        return problems


@contextmanager
def running(session: Lab, progress: Progress | None = None) -> Iterator[Lab]:
    """Whatever happens inside, nothing of the session is left; `progress` is told so."""
    try:
        yield session
    finally:
        with signals.ignored():
            left = session.clean()
        if not left and progress is not None:
            progress.say(
                "removed every namespace, interface and process of the run; tracing as before"
            )
    if left:
        raise LabError("not everything could be removed: " + "; ".join(left))


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.5):
            return True
    except OSError:
        return False
