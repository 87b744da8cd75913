# SPDX-License-Identifier: Apache-2.0
"""An experiment with every quantity worked out: hosts, flows, limits in bytes. Pure.

The same for every back end: what differs is how it is carried out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..json_types import JsonObject
from .model import Action, Experiment, Phase
from .quantities import FRAME_BYTES, Limit
from .sizes import mean_bytes
from .traffic import ClosedLoop, Datagrams, OpenLoop, Persistent, Remote

# Flows that a step adds start within this time.
STEP_SPREAD_S = 0.5
FIRST_NODE = 10
# The switch's own queue, packets: deeper than any limit.
QUEUE_PACKETS = 8192
MOST_LIMIT_BYTES = QUEUE_PACKETS * FRAME_BYTES // 2


@dataclass(frozen=True)
class Host:
    """One sender: a round trip of a group, with or without ECN."""

    name: str
    group: str
    # Index of the switch where it enters.
    switch: int
    rtt_s: float
    ecn: bool


@dataclass(frozen=True)
class Flow:
    """One persistent flow, in one span of time that it is there."""

    name: str
    kind: str
    host: Host
    congestion_control: str
    window_bytes: int | None
    remote: Remote | None
    # Index of the switch that limits it; None where none does.
    bottleneck: int | None
    start_s: float
    stop_s: float | None


@dataclass(frozen=True)
class Transfers:
    """One host's part of an open-loop source, or of the users of a closed loop."""

    name: str
    host: Host
    source: OpenLoop | ClosedLoop
    # Of an open-loop source.
    arrivals_per_s: float
    # Of a closed loop.
    users: int


@dataclass(frozen=True)
class DatagramFlow:
    """One UDP flow with Poisson packets."""

    name: str
    host: Host
    # With IP headers.
    rate_bps: float
    packet_bytes: int
    start_s: float
    stop_s: float | None


@dataclass(frozen=True)
class Limits:
    """What a port does; `threshold_bytes` is None where it drops only."""

    action: Action
    limit_bytes: int
    threshold_bytes: int | None = None

    @property
    def acts_at_bytes(self) -> int:
        return self.limit_bytes if self.threshold_bytes is None else self.threshold_bytes

    def document(self) -> JsonObject:
        """As the controller's configuration has it."""
        out: JsonObject = {"action": self.action, "limit_bytes": self.limit_bytes}
        if self.threshold_bytes is not None:
            out["threshold_bytes"] = self.threshold_bytes
        return out


@dataclass(frozen=True)
class Plan:
    """What is to be carried out."""

    experiment: Experiment
    seed: int
    hosts: tuple[Host, ...]
    flows: tuple[Flow, ...]
    transfers: tuple[Transfers, ...]
    datagrams: tuple[DatagramFlow, ...] = ()

    @classmethod
    def of(cls, experiment: Experiment, seed: int) -> Plan:
        hosts: dict[tuple[str, float, bool], Host] = {}
        flows: list[Flow] = []
        for group in experiment.traffic.persistent:
            flows += _persistent(experiment, group, _hosts(experiment, group, hosts))
        transfers: list[Transfers] = []
        loops: list[OpenLoop | ClosedLoop] = [
            *experiment.traffic.open_loop,
            *experiment.traffic.closed_loop,
        ]
        for source in loops:
            transfers += _transfers(experiment, source, _hosts(experiment, source, hosts))
        datagrams: list[DatagramFlow] = []
        for udp in experiment.traffic.datagrams:
            datagrams += _datagrams(udp, _hosts(experiment, udp, hosts))
        return cls(
            experiment,
            seed,
            tuple(hosts.values()),
            tuple(flows),
            tuple(transfers),
            tuple(datagrams),
        )

    def limited_by(self, switch: int) -> list[Flow]:
        """Every flow once, whatever steps it is there in."""
        seen: dict[str, Flow] = {}
        for flow in self.flows:
            if flow.bottleneck == switch:
                seen.setdefault(flow.name.partition(".")[0], flow)
        return list(seen.values())

    def n_b(self, switch: int) -> int:
        """The most flows that a switch limits at a time."""
        return len(self.limited_by(switch))

    def bdp_bytes(self, switch: int) -> float:
        """C·T̄ over the flows that it limits; over all hosts whose data pass where there are
        none."""
        rtts = [f.host.rtt_s for f in self.limited_by(switch)]
        rtts = rtts or [h.rtt_s for h in self.hosts if h.switch <= switch]
        rtts = rtts or [h.rtt_s for h in self.hosts]
        return self.experiment.topology.switches[switch].rate / 8 * float(np.mean(rtts))

    def first_limits(self) -> list[Limits]:
        """Of every switch, before the first phase."""
        return [
            self._limits(k, s.action, s.limit, s.threshold)
            for k, s in enumerate(self.experiment.topology.switches)
        ]

    def limits_in(self, phase: Phase, before: list[Limits]) -> list[Limits]:
        """Of every switch in a phase; what it does not name stays."""
        out = []
        for k, switch in enumerate(self.experiment.topology.switches):
            own = phase.switches.get(switch.name)
            limit = (own and own.limit) or phase.limit
            threshold = (own and own.threshold) or phase.threshold
            action = (own and own.action) or phase.action or before[k].action
            if limit is None and threshold is None and action == before[k].action:
                out.append(before[k])
                continue
            limits = self._limits(k, action, limit, threshold)
            out.append(_kept(limits, before[k], limit, threshold))
        return out

    def _limits(
        self, switch: int, action: Action, limit: Limit | None, threshold: Limit | None
    ) -> Limits:
        bdp, n_b = self.bdp_bytes(switch), self.n_b(switch)
        at = min(limit.in_bytes(bdp, n_b), MOST_LIMIT_BYTES) if limit else MOST_LIMIT_BYTES
        if action == "drop_tail":
            return Limits(action, at)
        marks = threshold.in_bytes(bdp, n_b) if threshold else at
        return Limits(action, at, min(marks, at - FRAME_BYTES))

    def delay_s(self, switch: int) -> float:
        """One way, of the link behind a switch."""
        switches = self.experiment.topology.switches
        said = switches[switch].delay
        if said is not None:
            return said
        last = switch == len(switches) - 1
        return min(h.rtt_s for h in self.hosts) / 2 if last else 0.0

    def host_delay_s(self, host: Host) -> float:
        """What is left of its round trip for the way back."""
        switches = range(host.switch, len(self.experiment.topology.switches))
        return host.rtt_s - sum(self.delay_s(k) for k in switches)

    def kind_at(self, flow: Flow, switch: int) -> str | None:
        """What a flow is at a switch (BSCL §II); None where it does not pass."""
        if switch < flow.host.switch:
            return None
        if flow.bottleneck is None:
            return flow.kind
        return "lbp" if flow.bottleneck == switch else "rbp"


def _kept(new: Limits, before: Limits, limit: Limit | None, threshold: Limit | None) -> Limits:
    """With what the phase does not say taken from before."""
    limit_bytes = new.limit_bytes if limit else before.limit_bytes
    if new.action == "drop_tail":
        return Limits(new.action, limit_bytes)
    marks = new.threshold_bytes if threshold else before.threshold_bytes
    marks = marks if marks is not None else limit_bytes
    return Limits(new.action, limit_bytes, min(marks, limit_bytes - FRAME_BYTES))


def _hosts(
    experiment: Experiment,
    group: Persistent | OpenLoop | ClosedLoop | Datagrams,
    made: dict[tuple[str, float, bool], Host],
) -> list[Host]:
    names = [s.name for s in experiment.topology.switches]
    found = []
    for name in group.hosts:
        hosts = next(h for h in experiment.topology.hosts if h.name == name)
        switch = names.index(hosts.switch) if hosts.switch else 0
        for rtt in hosts.rtts:
            ecn = not isinstance(group, Datagrams) and group.ecn
            key = (name, rtt, ecn)
            if key not in made:
                made[key] = Host(f"h{len(made) + 1}", name, switch, rtt, ecn)
            found.append(made[key])
    return found


def _datagrams(group: Datagrams, hosts: list[Host]) -> list[DatagramFlow]:
    return [
        DatagramFlow(
            f"{group.name}-{i + 1}",
            hosts[i % len(hosts)],
            group.rate / group.count,
            group.packet,
            group.start,
            group.stop,
        )
        for i in range(group.count)
    ]


def _persistent(experiment: Experiment, group: Persistent, hosts: list[Host]) -> list[Flow]:
    names = [s.name for s in experiment.topology.switches]
    out = []
    for i in range(group.most):
        host = hosts[i % len(hosts)]
        # Every round trip sees every congestion control.
        controls = group.congestion_control
        control = controls[(i + i // len(hosts)) % len(controls)]
        bottleneck = None
        if group.kind == "lbp":
            bottleneck = names.index(group.bottleneck) if group.bottleneck else len(names) - 1
        for number, (start_s, stop_s) in enumerate(_spans(group, i)):
            out.append(
                Flow(
                    name=f"{group.name}-{i + 1}" + (f".{number + 1}" if number else ""),
                    kind=group.kind,
                    host=host,
                    congestion_control=control,
                    window_bytes=group.window,
                    remote=group.remote,
                    bottleneck=bottleneck,
                    start_s=round(start_s, 4),
                    stop_s=stop_s,
                )
            )
    return out


def _spans(group: Persistent, i: int) -> list[tuple[float, float | None]]:
    """When flow i is there."""
    if group.steps is None:
        return [(group.start + i * group.spread / max(group.most, 1), group.stop)]
    spans: list[tuple[float, float | None]] = []
    count_before = 0
    for step in group.steps:
        at = group.start + step.at
        if step.count > i >= count_before:
            place = (i - count_before) / (step.count - count_before)
            spans.append((at + place * STEP_SPREAD_S, group.stop))
        elif step.count <= i < count_before:
            spans[-1] = (spans[-1][0], at)
        count_before = step.count
    return spans


def _transfers(
    experiment: Experiment, source: OpenLoop | ClosedLoop, hosts: list[Host]
) -> list[Transfers]:
    if isinstance(source, ClosedLoop):
        shares = [len(range(k, source.users, len(hosts))) for k in range(len(hosts))]
        return [
            Transfers(f"{source.name}-{h.name}", h, source, 0.0, users)
            for h, users in zip(hosts, shares, strict=True)
            if users
        ]
    rate = experiment.topology.switches[min(h.switch for h in hosts)].rate
    whole = source.arrivals_per_s
    if whole is None:
        whole = (source.load or 0.0) * rate / 8 / mean_bytes(source.size)
    return [Transfers(f"{source.name}-{h.name}", h, source, whole / len(hosts), 0) for h in hosts]
