# SPDX-License-Identifier: Apache-2.0
"""Senders of an experiment: its groups as single hosts, flows and sources. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Experiment
from .quantities import MTU
from .sizes import mean_bytes
from .traffic import ClosedLoop, Datagrams, OpenLoop, Persistent, Remote

# Flows added by a step start within this time.
STEP_SPREAD_S = 0.5


@dataclass(frozen=True)
class Host:
    """One sender: a round trip of a group, with or without ECN, and its flows' initial window."""

    name: str
    group: str
    # Index of the switch that it connects to.
    switch: int
    rtt_s: float
    ecn: bool
    # Packets; None: its stack's default.
    initial_window: int | None = None
    # MTU of its links: bytes of an IP packet.
    mtu: int = MTU


@dataclass(frozen=True)
class Flow:
    """One persistent flow, in one of the time spans in which it runs."""

    name: str
    kind: str
    host: Host
    transport: str
    congestion_control: str
    window_bytes: int | None
    remote: Remote | None
    # Index of the switch that limits it; None if none does.
    bottleneck: int | None
    start_s: float
    stop_s: float | None


@dataclass(frozen=True)
class Transfers:
    """One host's part of an open-loop source, or of a closed loop's users."""

    name: str
    host: Host
    source: OpenLoop | ClosedLoop
    # Rate of an open-loop source.
    arrivals_per_s: float
    # Number of users of a closed loop.
    users: int


@dataclass(frozen=True)
class DatagramFlow:
    name: str
    host: Host
    # Includes IP headers.
    rate_bps: float
    packet_bytes: int
    start_s: float
    stop_s: float | None


# Group, round trip, ECN, initial window: flows with equal keys share a host.
HostKey = tuple[str, float, bool, int | None]


def senders(
    experiment: Experiment,
) -> tuple[tuple[Host, ...], tuple[Flow, ...], tuple[Transfers, ...], tuple[DatagramFlow, ...]]:
    made: dict[HostKey, Host] = {}
    traffic = experiment.traffic
    flows = [
        f
        for g in traffic.persistent
        for f in _persistent(experiment, g, _hosts(experiment, g, made))
    ]
    loops: list[OpenLoop | ClosedLoop] = [*traffic.open_loop, *traffic.closed_loop]
    transfers = [
        t
        for source in loops
        for t in _transfers(experiment, source, _hosts(experiment, source, made))
    ]
    datagrams = [d for g in traffic.datagrams for d in _datagrams(g, _hosts(experiment, g, made))]
    return tuple(made.values()), tuple(flows), tuple(transfers), tuple(datagrams)


def _hosts(
    experiment: Experiment,
    group: Persistent | OpenLoop | ClosedLoop | Datagrams,
    made: dict[HostKey, Host],
) -> list[Host]:
    names = [s.name for s in experiment.topology.switches]
    found = []
    for name in group.hosts:
        hosts = next(h for h in experiment.topology.hosts if h.name == name)
        switch = names.index(hosts.switch) if hosts.switch else 0
        for rtt in hosts.rtts:
            # Datagrams have neither ECN nor an initial window.
            ecn, begins = getattr(group, "ecn", False), getattr(group, "initial_window", None)
            key = (name, rtt, ecn, begins)
            if key not in made:
                mtu = hosts.mtu or experiment.topology.mtu
                made[key] = Host(f"h{len(made) + 1}", name, switch, rtt, ecn, begins, mtu)
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
        turn, at = divmod(i, len(hosts))
        host = hosts[at]
        # Every congestion control is used with every round trip: each turn begins with the next.
        controls = group.congestion_control
        control = controls[(at + turn) % len(controls)]
        bottleneck = None
        if group.kind == "lbp":
            bottleneck = names.index(group.bottleneck) if group.bottleneck else len(names) - 1
        for number, (start_s, stop_s) in enumerate(_spans(group, i)):
            out.append(
                Flow(
                    name=f"{group.name}-{i + 1}" + (f".{number + 1}" if number else ""),
                    kind=group.kind,
                    host=host,
                    transport=group.transport,
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
