# SPDX-License-Identifier: Apache-2.0
"""Running programs of a plan: starting and ending them, and removing everything that was made."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import tomli_w

from ... import controls, signals, tracing
from ...api import ApiError, Controller
from ...errors import LabError
from ...json_types import JsonObject
from ...limits import acts_at_bytes
from ...preflight import Paths, Ports
from ...processes import START_TIMEOUT_S, Child, Supervisor
from ...progress import Progress
from ...state import RunState
from ..backend import Place
from ..live import Links
from ..plan import Plan
from . import configs, network, programs
from .layout import Layout


class PlanSession:
    """`start`, then the phases, then `finish`; always `clean`, which may be called at any point."""

    LAYOUT: ClassVar[type[Layout]] = Layout
    # Successful exit codes of programs, if not just 0.
    ENDS_WITH: ClassVar[Mapping[str, frozenset[int]]] = {}

    def __init__(self, plan: Plan, ports: Ports, paths: Paths, run_dir: Path):
        self.plan = plan
        self.layout = self.LAYOUT(plan, secrets.token_hex(2))
        # Control → the name by which flows ask for it.
        self.names = controls.names(plan.congestion_controls("tcp"))
        self.registered = controls.Registered()
        self.spec = configs.traffic(self.layout, self.names)
        self.ports = ports
        self.paths = paths
        self.run_dir = run_dir
        self.capture_dir = run_dir / "capture"
        self.state = RunState.begin(self.layout.run_id, run_dir)
        log_dir = run_dir / "logs"
        log_dir.mkdir()
        self.supervisor = Supervisor(self.state, log_dir)
        self.url = f"http://127.0.0.1:{ports.console}"
        self.controller = Controller(self.url, "")
        self._tracing_before: dict[str, str] | None = None

    def start(self) -> None:
        """Starts everything but the traffic."""
        self.start_network()
        self.start_switches()
        self.start_collector()
        child = self.start_controller()
        for k in self.layout.own_switches:
            self._wait_for_limit(k, child)

    def start_network(self) -> None:
        if not tracing.is_mounted():
            self.state.mounted_tracefs = str(tracing.TRACEFS)
            self.state.save()
            tracing.mount()
            if not tracing.has_tcp_probe():
                raise LabError("the kernel has no tracepoint tcp_probe: use Linux 5.10 or later")
        self._tracing_before = tracing.snapshot()
        self.build_network()

    def build_network(self) -> None:
        network.build(self.layout, self.state)

    def start_switches(self) -> None:
        for k in self.layout.switches:
            port, name = configs.grpc_port(self.ports, k), f"switch-{k + 1}"
            arguments = self.layout.aqm(k)
            if self.layout.program(k) is not None:
                arguments += programs.arguments(self.layout, k, self.paths, self.run_dir)
            self.run_switch(name, port, self.layout.switch_ports(k), arguments)

    def run_switch(
        self,
        name: str,
        grpc_port: int,
        port_arguments: list[str],
        arguments: Sequence[str | Path] = (),
    ) -> None:
        argv: list[str | Path] = [self.paths.binary("tidemark-switch"), "run", *arguments]
        argv += ["--grpc", f"127.0.0.1:{grpc_port}"]
        for port in port_arguments:
            argv += ["--port", port]
        # If a switch runs late, every flow sees that as delay.
        child = self.supervisor.start(name, argv, real_time=True)
        self.supervisor.wait_for_line(child, r"ready:", START_TIMEOUT_S)

    def start_collector(self, document: JsonObject | None = None) -> None:
        """Starts the collector, by default with the plan's configuration."""
        made = configs.collector(self.layout, self.ports, self.capture_dir)
        child = self._configured("collector", document or made)
        self.supervisor.wait_until(
            lambda: _accepts(self.ports.collector), "the collector", START_TIMEOUT_S, child
        )

    def start_controller(self) -> Child:
        document = self.controller_document()
        token_file = Path(document["http"]["token_file"])
        # Left by an earlier controller.
        token_file.unlink(missing_ok=True)
        child = self._configured("controller", document)
        self.supervisor.wait_until(
            lambda: token_file.exists() and token_file.read_text().strip(),
            "the controller's token",
            START_TIMEOUT_S,
            child,
        )
        self.controller = Controller(self.url, token_file.read_text().strip())
        return child

    def controller_document(self) -> JsonObject:
        return configs.controller(self.layout, self.ports, self.paths, self.run_dir)

    def _configured(self, name: str, document: JsonObject) -> Child:
        config = self.run_dir / f"{name}.toml"
        config.write_text(tomli_w.dumps(document))
        program = self.paths.binary(f"tidemark-{name}")
        return self.supervisor.start(name, [program, "run", "--config", config])

    def start_traffic(self) -> None:
        self.registered.add(self.names.values(), self.run_dir / "controls")
        spec = self.run_dir / "traffic.json"
        spec.write_text(json.dumps(self.spec, indent=1))
        argv: list[str | Path] = [self.paths.binary("tidemark-traffic"), "run", "--spec", spec]
        argv += ["--truth", self.run_dir / "truth.json"]
        child = self.supervisor.start("traffic", argv)
        self.supervisor.wait_for_line(child, r"ready:", START_TIMEOUT_S)

    def _wait_for_limit(self, switch: int, child: Child) -> None:
        wanted = self.plan.first_limits()[switch].acts_at_bytes
        self.supervisor.wait_until(
            lambda: self.limit_bytes(switch) == wanted,
            f"the controller to set the limit of switch {switch + 1}",
            START_TIMEOUT_S,
            child,
        )

    @property
    def links(self) -> Links:
        """The links at the controller, once it runs."""
        layout = self.layout
        places = [Place(layout.node(k), layout.out_port(k)) for k in layout.switches]
        return Links(self.plan, places, self.controller, self.supervisor.check)

    def limit_bytes(self, switch: int) -> int | None:
        """Occupancy at which a switch acts first (the limit, or the threshold if it marks), as the
        controller last read it from the switch; None while unknown."""
        node, port = self.layout.node(switch), str(self.layout.out_port(switch))
        try:
            switches = self.controller.get("/status")["switches"]
        except ApiError:
            return None
        limits = [s["limits"].get(port) for s in switches if s["node"] == node]
        return acts_at_bytes(limits[0]) if limits else None

    def complete_phase(self, name: str) -> JsonObject:
        """Returns a phase that has ended, once all its reports have arrived."""

        def complete() -> JsonObject | None:
            phase = self.controller.get(f"/phases/{name}")
            return phase if phase["state"] == "complete" else None

        return self.supervisor.wait_until(complete, f"phase {name} to be complete", 20)

    def finish(self) -> None:
        """Ends the programs in an order that loses nothing: the traffic first, and the collector
        before the switches whose reports it reads. Each must exit successfully."""
        for k in self.layout.switches:
            if self.layout.program(k) is not None:
                port = configs.grpc_port(self.ports, k)
                programs.keep_counters(k, port, self.paths, self.run_dir)
        order = ["traffic", "collector", "controller"]
        order += [n for n in self.supervisor.running() if n not in order]
        for name in order:
            if name in self.supervisor.running():
                code = self.supervisor.stop(name)
                if code not in self.ENDS_WITH.get(name, {0}):
                    raise LabError(f"{name} ended with code {code} (see {self.run_dir}/logs)")

    def clean(self) -> list[str]:
        """Removes everything; returns what could not be removed."""
        problems = self.state.clean()
        # No process has a socket with the controls any more.
        problems += self.registered.remove()
        problems += [p for p in self.state.leftovers() if p not in problems]
        if self._tracing_before is not None and not self.state.mounted_tracefs:
            problems += tracing.differences(self._tracing_before, tracing.snapshot())
        return problems


@contextmanager
def running(session: PlanSession, progress: Progress | None = None) -> Iterator[PlanSession]:
    """Runs the block and always cleans up the session; `progress` shows that it does."""
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
