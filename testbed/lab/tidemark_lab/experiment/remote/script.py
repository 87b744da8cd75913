# SPDX-License-Identifier: Apache-2.0
"""The steps of a plan on remote hosts, in order. Pure: a dry run prints them, a run does them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from ...json_types import JsonObject
from ...preflight import Paths
from .. import live
from ..model import Phase, Targets
from ..plan import Limits
from ..senders import Host
from . import steps
from .configs import Machines
from .model import CollectorThere, SshLine
from .ssh import Line, since
from .steps import Step

COLLECTOR, CONTROLLER, RECEIVER = "collector", "controller", "receiver"
TRAFFIC_PROGRAM, COLLECTOR_PROGRAM = "tidemark-traffic", "tidemark-collector"
# Commands that tell what a run must know of a host before it sends.
LOOK = (
    "uname -sr; cat /proc/sys/net/ipv4/tcp_available_congestion_control /proc/sys/net/ipv4/tcp_ecn"
)
ASKS_FOR_ECN, DOES_NOT_ASK, GRANTS_ECN = ("1",), ("0", "2"), ("1", "2")


@dataclass(frozen=True)
class Script:
    """Generates a run's steps; `token` is in the names of all that the run creates."""

    machines: Machines
    paths: Paths
    run_dir: Path
    token: str
    # URL of the controller.
    url: str
    # Directory of the connections' sockets on this machine; short, because socket paths must be.
    sockets: Path

    @property
    def capture_dir(self) -> Path:
        return self.run_dir / "capture"

    def _line(self, host: Host | None) -> Line:
        """Returns the connection to a host; None: the receiver."""
        machine = self.machines.sender(host) if host else self.machines.lab.receiver
        if machine is None:
            raise ValueError(f"no machine for {host}")
        return self._to(machine, host.name if host else "rx")

    def _to(self, machine: SshLine, name: str) -> Line:
        directory = f"{self.machines.lab.directory.rstrip('/')}/tidemark-{self.token}-{name}"
        return Line(_expanded(machine), self.sockets / name, directory)

    def _collector(self) -> tuple[str, Line, CollectorThere] | None:
        """The existing collector, if any: its name, its connection, and its settings."""
        there = self.machines.lab.collector.there
        if there is None:
            return None
        return f"{there.destination} (collector)", self._to(there, "collector"), there

    def _name(self, host: Host | None) -> str:
        return self.machines.name(host) if host else self.machines.receiver_name

    @property
    def _hosts(self) -> list[Host | None]:
        return [None, *self.machines.plan.hosts]

    def steps(self) -> Iterator[Step]:
        plan = self.machines.plan
        name = plan.experiment.name
        yield from self._reach()
        yield from self._start_here()
        yield from self._start_there()
        yield steps.note([f"{self._api}{live.path(p)}" for p in self.machines.places])
        limits = plan.first_limits()
        yield steps.begin(list(self._first_posts(limits)), plan.experiment.targets)
        yield steps.let_pass(f"{name}: warm-up", plan.experiment.run.warmup)
        for phase in plan.experiment.phases:
            after = limits if phase.apply_advice else plan.limits_in(phase, limits)
            yield steps.set_phase(list(self._phase_posts(phase, limits, after)), phase)
            limits = after
            yield steps.let_pass(f"{name}: {phase.name}: settling", phase.settle)
            yield steps.measure(phase, f"{name}: {phase.name}")
        yield from self._end_there()
        yield steps.restore()
        yield from self._capture()
        if self.machines.lab.controller.config is not None:
            yield steps.end(CONTROLLER)
        for host in self._hosts:
            yield steps.disconnect(self._name(host))
        if collector := self._collector():
            yield steps.disconnect(collector[0])

    def _capture(self) -> Iterator[Step]:
        """Gets the capture: written here, or fetched once it is complete."""
        collector = self._collector()
        if collector is None:
            yield steps.end(COLLECTOR)
            return
        name, line, there = collector
        what = f"{self.machines.plan.experiment.name}: the collector's last files"
        # Waits for rows that wait for their samples, and then for the files with these rows.
        yield steps.let_pass(what, 2.0 + there.rotate)
        copy = since(line.path("begin"), there.capture, line.path("capture"))
        yield steps.call(name, line.call(copy))
        yield steps.call(name, line.get("capture", self.capture_dir))

    def _reach(self) -> Iterator[Step]:
        """Connects to the hosts, describes them, and compares their clocks."""
        lab, plan = self.machines.lab, self.machines.plan
        for host in self._hosts:
            led = None
            if host is not None:
                led = f"127.0.0.1:{self._agent_port(host)}:{lab.collector.grpc}"
            yield steps.connect(self._name(host), self._line(host).connect(led))
        if collector := self._collector():
            name, line, _ = collector
            yield steps.connect(name, line.connect())
            yield steps.call(name, line.call(f"touch {line.path('begin')}"))
        for host in self._hosts:
            ecn: tuple[str, ...]
            if host is not None:
                ecn = ASKS_FOR_ECN if host.ecn else DOES_NOT_ASK
            else:
                ecn = GRANTS_ECN if any(h.ecn for h in plan.hosts) else ()
            controls = self._controls(host) if host else ()
            call = self._line(host).call(LOOK)
            yield steps.look(self._name(host), call, controls, ecn)
        yield self._clocks("before")

    def _clocks(self, when: str) -> Step:
        return steps.ask_clocks(when, self.machines.lab.most_clock_offset)

    def _controls(self, host: Host) -> tuple[str, ...]:
        return tuple(sorted(self.machines.plan.congestion_controls("tcp", host)))

    def _agent_port(self, host: Host) -> int:
        return self.machines.lab.collector.agents_port + self.machines.plan.hosts.index(host)

    def _start_here(self) -> Iterator[Step]:
        lab = self.machines.lab
        if lab.collector.there is None:
            config = self.run_dir / "collector.toml"
            yield steps.write(config, tomli_w.dumps(self.machines.collector(self.capture_dir)))
            program = str(self.paths.binary(COLLECTOR_PROGRAM))
            yield steps.start(COLLECTOR, [program, "run", "--config", str(config)])
        yield steps.await_port(COLLECTOR, lab.collector.grpc)
        if lab.controller.config is not None:
            program = str(self.paths.binary("tidemark-controller"))
            own = str(Path(lab.controller.config).expanduser())
            argv = [program, "run", "--config", own]
            yield steps.start(CONTROLLER, argv, ready="console: http")

    def _start_there(self) -> Iterator[Step]:
        for host in self._hosts:
            yield from self._copy(host)
        argv = [self._program(None, TRAFFIC_PROGRAM), "serve", *self.machines.listening()]
        argv += ["--truth", self._line(None).path("truth.json")]
        receiver = self._line(None).hold(argv)
        yield steps.start(RECEIVER, receiver, self._name(None), ready="ready:")
        for host in self.machines.plan.hosts:
            agent = self._line(host).hold(self._agent(host))
            name = f"agent-{host.name}"
            yield steps.start(name, agent, self._name(host), ready="ready:")
        for host in self.machines.plan.hosts:
            line = self._line(host)
            argv = [self._program(host, TRAFFIC_PROGRAM), "send"]
            argv += ["--spec", line.path("traffic.json"), "--truth", line.path("truth.json")]
            name = f"traffic-{host.name}"
            held = line.hold(argv)
            yield steps.start(name, held, self._name(host), ready="ready:", may_end=True)

    def _copy(self, host: Host | None) -> Iterator[Step]:
        line, lab = self._line(host), self.machines.lab
        if lab.programs is None:
            for program in (TRAFFIC_PROGRAM, COLLECTOR_PROGRAM) if host else (TRAFFIC_PROGRAM,):
                put = line.put(self.paths.binary(program), program)
                yield steps.call(self._name(host), put)
        if host is None:
            return
        if lab.collector.token_file is not None:
            token = Path(lab.collector.token_file).expanduser()
            yield steps.call(self._name(host), line.put(token, "collector.token"))
        file = self.run_dir / f"traffic-{host.name}.json"
        yield steps.write(file, json.dumps(self.machines.traffic(host), indent=1))
        yield steps.call(self._name(host), line.put(file, "traffic.json"))

    def _program(self, host: Host | None, name: str) -> str:
        programs = self.machines.lab.programs
        return self._line(host).path(name) if programs is None else f"{programs}/{name}"

    def _agent(self, host: Host) -> list[str]:
        address = self.machines.of_host(host).address
        argv = [self._program(host, COLLECTOR_PROGRAM), "agent"]
        argv += ["--to", f"127.0.0.1:{self._agent_port(host)}", "--host", host.name]
        argv += ["--address", f"{address}/32"]
        if self.machines.lab.collector.token_file is not None:
            argv += ["--token-file", self._line(host).path("collector.token")]
        return argv

    @property
    def _api(self) -> str:
        return f"{self.url}/api/v1"

    def _first_posts(self, limits: list[Limits]) -> Iterator[tuple[str, JsonObject]]:
        yield f"{self._api}/mode", {"mode": live.FIRST_MODE}
        yield from self._target_posts(self.machines.plan.experiment.targets)
        for place, one in zip(self.machines.places, limits, strict=True):
            path, body = live.limit_request(place, one.document(), live.FIRST)
            yield f"{self._api}{path}", body

    def _target_posts(self, targets: Targets) -> Iterator[tuple[str, JsonObject]]:
        for place in self.machines.places:
            yield f"{self._api}/targets", live.target_request(place, targets)

    def _phase_posts(
        self, phase: Phase, before: list[Limits], after: list[Limits]
    ) -> Iterator[tuple[str, JsonObject]]:
        if phase.targets is not None:
            yield from self._target_posts(phase.targets)
        if phase.mode is not None:
            yield f"{self._api}/mode", {"mode": phase.mode}
        for k, place in enumerate(self.machines.places):
            if phase.apply_advice:
                yield f"{self._api}/advice/apply", live.named(place)
            elif after[k] != before[k]:
                path, body = live.limit_request(place, after[k].document(), live.reason(phase))
                yield f"{self._api}{path}", body

    def _end_there(self) -> Iterator[Step]:
        plan = self.machines.plan
        for host in plan.hosts:
            yield steps.end(f"traffic-{host.name}")
        yield steps.end(RECEIVER)
        for host in plan.hosts:
            yield steps.end(f"agent-{host.name}")
        parts = []
        for one in [*plan.hosts, None]:
            local = self.run_dir / f"truth-{one.name if one else 'rx'}.json"
            yield steps.call(self._name(one), self._line(one).get("truth.json", local))
            parts.append((self._name(one), local))
        yield self._clocks("after")
        yield steps.one_truth(parts, self.run_dir / "truth.json")


def _expanded(machine: SshLine) -> SshLine:
    """Expands `~` in the identity file to this user's home."""
    if machine.identity_file is None:
        return machine
    return machine.model_copy(
        update={"identity_file": str(Path(machine.identity_file).expanduser())}
    )
