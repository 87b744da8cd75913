# SPDX-License-Identifier: Apache-2.0
"""Model of EXPERIMENT.toml: network, traffic, phases, repetitions, grid."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from .aqm import Management
from .quantities import ETHERNET_BYTES, MTU, Fraction, Limit, Rate, Seconds, Strict
from .remote.model import RemoteLab
from .traffic import NAME, Datagrams, Group, Persistent, Traffic, one_or_more

# IPv4's smallest MTU (RFC 791), and that of jumbo frames.
LEAST_MTU, MOST_MTU = 576, 9000
# A datagram of 1200 bytes (RFC 9000 14) plus headers.
QUIC_MTU = 1228
BACK_ENDS = ("embedded", "ns3", "bmv2", "remote")
JUDGES = ("demo", "steps", "sweep", "trial", "iterate")
Action = Literal["drop_tail", "mark_ce"]
Scheduling = Literal["fifo", "fair"]


class LimitSettings(Strict):
    """Limit of one switch's port."""

    limit: Limit | None = Field(default=None, description="occupancy from which packets drop")
    threshold: Limit | None = Field(
        default=None, description="occupancy from which packets are marked CE; only with `mark_ce`"
    )
    action: Action | None = Field(default=None, description="drop, or mark from the threshold on")


class Program(Strict):
    """A program in place of Tidemark's. A limit is then the depth of the switch's own queue, in
    packets, for all phases. The run's `switch-N-ports.json` has the counts of each port."""

    file: str = Field(
        description="JSON of p4c for BMv2, with its P4Info in the same folder: a path from the "
        "experiment's file, or the name of a program of the lab"
    )
    entries: list[str] = Field(
        default=[],
        description="files of `tidemark-switch run --entries`, by path from the experiment's "
        "file; `$` in JSON names values of the lab (docs/how-to/int-md.md)",
    )
    node: dict[str, Any] = Field(
        default={}, description="keys of the collector's `[nodes.N]`: units of clock and queue"
    )


class Switch(Strict):
    """A switch and its port towards the next switch or the receiver."""

    name: str = Field(pattern=NAME, description="name for hosts, flows and phases")
    rate: Rate = Field(description="rate of the port, with preamble, FCS and gap of each frame")
    delay: Seconds | None = Field(
        default=None,
        description="one-way delay of the link, part of the round trip; default: none, on the "
        "last link half of the shortest round trip (not ns3)",
    )
    limit: Limit = Field(default=Limit(1.0, "bdp"), description="limit until a phase sets another")
    threshold: Limit | None = Field(default=None, description="threshold for `mark_ce`")
    action: Action = Field(default="drop_tail", description="drop, or mark from the threshold on")
    scheduling: Scheduling = Field(
        default="fifo",
        description="`fair`: deficit round robin over flows, drops from the longest (ns3, and "
        "embedded with one limit for all phases)",
    )
    aqm: Management = Field(default=None, description="queue management, below (embedded)")
    program: Program | None = Field(default=None, description="in place of Tidemark's (embedded)")

    @model_validator(mode="after")
    def _consistent(self) -> Switch:
        if self.program is not None and self.action != "drop_tail":
            raise ValueError("program: Tidemark's own marks, others only drop")
        if self.program is not None and self.aqm is not None:
            raise ValueError("aqm: Tidemark's own program reports its drops, others do not")
        if self.scheduling == "fair" and (self.aqm is not None or self.action != "drop_tail"):
            raise ValueError("scheduling: a fair queue drops, and has no aqm: take aqm fq_codel")
        if (self.threshold is not None) != (self.action == "mark_ce"):
            raise ValueError("threshold and action mark_ce belong together")
        return self


class Hosts(Strict):
    """Sending hosts, one for each round trip."""

    name: str = Field(pattern=NAME, description="name of the group")
    switch: str | None = Field(default=None, description="switch they connect to; default: first")
    rtts: Annotated[
        list[Seconds],
        BeforeValidator(one_or_more, json_schema_input_type=Seconds | list[Seconds]),
    ] = Field(
        min_length=1,
        max_length=40,
        description="base round trip of each, to the receiver; at least `2ms`",
    )
    mtu: int | None = Field(
        default=None,
        ge=LEAST_MTU,
        le=MOST_MTU,
        description="MTU of their links, if below the topology's (embedded)",
    )

    @model_validator(mode="after")
    def _positive(self) -> Hosts:
        if min(self.rtts) < 0.002:
            raise ValueError("rtts: at least 2ms each")
        return self


class Topology(Strict):
    """A row of 1 to 4 switches, with one receiver behind the last."""

    switches: list[Switch] = Field(min_length=1, max_length=4, description="in order")
    hosts: list[Hosts] = Field(min_length=1, description="sending hosts")
    mtu: int = Field(
        default=MTU,
        ge=LEAST_MTU,
        le=MOST_MTU,
        description="largest IP packet on every link, bytes (embedded)",
    )
    offloads: bool = Field(
        default=True,
        description="hosts leave segmentation and checksums to their interfaces, and the switch "
        "cuts their super-frames; false: only whole packets (embedded)",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Topology:
        for names in ([s.name for s in self.switches], [h.name for h in self.hosts]):
            if twice := sorted({n for n in names if names.count(n) > 1}):
                raise ValueError(f"the name {twice[0]} is used twice")
        known = {s.name for s in self.switches}
        for hosts in self.hosts:
            if hosts.switch is not None and hosts.switch not in known:
                raise ValueError(f"hosts {hosts.name}: there is no switch {hosts.switch}")
            if hosts.mtu is not None and hosts.mtu > self.mtu:
                raise ValueError(f"hosts {hosts.name}: mtu is above the topology's, {self.mtu}")
        return self


class Targets(Strict):
    """Targets of the controller."""

    utilisation: Fraction = Field(default=0.98, description="least utilisation")
    loss: Fraction | None = Field(default=0.01, description="largest share of lost packets")
    delay: Seconds | None = Field(default=None, description="largest queueing delay")
    confidence: Fraction = Field(default=0.9, ge=0.5, le=0.99, description="chance of meeting each")
    margin: Fraction = Field(default=0.0, lt=1, description="how far inside the bounds to aim")


class Phase(Strict):
    """A measured time of constant settings. Phases follow each other."""

    name: str = Field(pattern=NAME, description="name in the table")
    settle: Seconds = Field(default=5.0, description="time before the measurement")
    duration: Seconds = Field(description="time of the measurement, at least `1s`")
    limit: Limit | None = Field(default=None, description="for every switch; default: unchanged")
    threshold: Limit | None = Field(default=None, description="for every switch")
    action: Action | None = Field(default=None, description="for every switch")
    switches: dict[str, LimitSettings] = Field(default={}, description="single switches, by name")
    mode: Literal["confirm", "recommend", "auto"] | None = Field(
        default=None, description="mode of the controller from here on (not ns3)"
    )
    targets: Targets | None = Field(default=None, description="targets from here on (not ns3)")
    apply_advice: bool = Field(
        default=False, description="applies the advice on the previous phase first (not ns3)"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Phase:
        if self.duration < 1:
            raise ValueError("duration: at least 1s")
        if self.apply_advice and (self.limit or self.threshold or self.switches):
            raise ValueError("apply_advice: the limits are the controller's")
        return self


class Run(Strict):
    """Repetitions, seed and back end."""

    back_end: Literal["embedded", "ns3", "bmv2", "remote"] = Field(
        default="embedded", description="`--back-end` overrides it"
    )
    warmup: Seconds = Field(default=6.0, description="time before the first phase")
    repetitions: int = Field(default=1, ge=1, le=1000, description="runs of each point of the grid")
    seed: int = Field(
        default=1, ge=0, le=2**31, description="seed of the first run; later ones count up"
    )


class Full(Strict):
    """The long form, taken with `--full`; other keys are those of the short form."""

    warmup: Seconds | None = Field(default=None, description="time before the first phase")
    repetitions: int | None = Field(default=None, ge=1, le=1000, description="runs of each point")
    settle: Seconds | None = Field(default=None, description="for every phase")
    duration: Seconds | None = Field(default=None, description="for every phase")
    captures: bool = Field(default=True, description="keeps the packets; false: only the rows")
    phases: list[Phase] = Field(default=[], description="further phases, after the others")
    grid: dict[str, list[Any]] = Field(default={}, description="axes in place of the short form's")


class Experiment(Strict):
    """Top level of EXPERIMENT.toml."""

    version: Literal[1] = Field(description="version of this format")
    name: str = Field(pattern=NAME, description="name of the experiment")
    about: str = Field(default="", max_length=400, description="one sentence")
    judge: Literal["demo", "steps", "sweep", "trial", "iterate"] | None = Field(
        default=None, description="judge of the rows in `run`; default: none"
    )
    run: Run = Field(default=Run(), description="repetitions, seed, back end")
    topology: Topology = Field(description="switches and hosts")
    traffic: Traffic = Field(description="groups of flows")
    phases: list[Phase] = Field(min_length=1, description="measured phases, in order")
    targets: Targets = Field(default=Targets(), description="targets at the start")
    controller: dict[str, Any] = Field(
        default={}, description="keys of the controller's configuration (embedded, bmv2)"
    )
    remote: RemoteLab | None = Field(default=None, description="machines of the back end `remote`")
    grid: dict[str, list[Any]] = Field(default={}, description="values of parameters, by path")
    full: Full | None = Field(default=None, description="long form of the experiment")

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        hosts = {h.name for h in self.topology.hosts}
        switches = [s.name for s in self.topology.switches]
        for kind in ("persistent", "open_loop", "closed_loop", "datagrams"):
            for group in getattr(self.traffic, kind):
                if unknown := [h for h in group.hosts if h not in hosts]:
                    raise ValueError(f"traffic {group.name}: there are no hosts {unknown[0]}")
                self._check_mtu(group)
        for group in self.traffic.persistent:
            self._check_bottleneck(group, switches)
        names = [p.name for p in self.phases]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"phases: the name {twice[0]} is used twice")
        for phase in self.phases:
            if unknown := [s for s in phase.switches if s not in switches]:
                raise ValueError(f"phase {phase.name}: there is no switch {unknown[0]}")
        if self.phases[0].apply_advice:
            raise ValueError(f"phase {names[0]}: there is no advice before the first phase")
        for phase in self.phases:
            if self.managed and (phase.apply_advice or phase.mode == "auto"):
                raise ValueError(
                    f"phase {phase.name}: the controller does not know of aqm, its advice means "
                    "nothing there: leave out apply_advice and mode auto"
                )
        return self

    def _check_mtu(self, group: Group) -> None:
        hosts = [h for h in self.topology.hosts if h.name in group.hosts]
        mtus = [h.mtu or self.topology.mtu for h in hosts]
        if isinstance(group, Datagrams):
            if group.packet > min(mtus):
                raise ValueError(f"traffic {group.name}: packet is above the mtu of its hosts")
            return
        if group.transport == "quic" and min(mtus) < QUIC_MTU:
            raise ValueError(
                f"traffic {group.name}: QUIC needs an mtu of {QUIC_MTU} (RFC 9000), its hosts have "
                f"{min(mtus)}"
            )
        remote = group.remote if isinstance(group, Persistent) else None
        if remote is not None and min(remote.burst, remote.queue) < max(mtus) + ETHERNET_BYTES:
            raise ValueError(
                f"traffic {group.name}: remote: burst and queue have no room for a packet of "
                f"{max(mtus)} bytes"
            )

    def _check_bottleneck(self, group: Persistent, switches: list[str]) -> None:
        for name in group.hosts:
            passed = self.path_of(name)
            if group.bottleneck is not None and group.bottleneck not in passed:
                raise ValueError(f"traffic {group.name}: does not pass {group.bottleneck}")
            if group.kind == "lbp" and group.bottleneck is None and len(passed) > 1:
                raise ValueError(
                    f"traffic {group.name}: passes {' and '.join(passed)}: say which is its "
                    "bottleneck"
                )

    def path_of(self, hosts: str) -> list[str]:
        """Switches that data from these hosts pass."""
        names = [s.name for s in self.topology.switches]
        enters = next(h.switch for h in self.topology.hosts if h.name == hosts)
        return names if enters is None else names[names.index(enters) :]

    @property
    def managed(self) -> list[str]:
        """Switches with queue management: theirs, or a fair queue on real TCP."""
        fair = self.run.back_end == "embedded"
        switches = self.topology.switches
        return [s.name for s in switches if s.aqm or (fair and s.scheduling == "fair")]

    @property
    def seconds(self) -> float:
        """Duration of a whole run."""
        return self.run.warmup + sum(p.settle + p.duration for p in self.phases)
