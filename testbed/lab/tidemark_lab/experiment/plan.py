# SPDX-License-Identifier: Apache-2.0
"""An experiment with every quantity worked out: hosts, flows, limits in bytes. Pure.

A plan is independent of the back end: only its execution differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..json_types import JsonObject
from .model import Action, Experiment, Phase
from .quantities import ETHERNET_BYTES, Limit
from .senders import DatagramFlow, Flow, Host, Transfers, senders

FIRST_NODE = 10
# Smallest capacity of a switch's own queue, in packets: it must never be the one that drops.
QUEUE_PACKETS = 8192


@dataclass(frozen=True)
class Limits:
    """Limits of a port; `threshold_bytes` is None if it only drops."""

    action: Action
    limit_bytes: int
    threshold_bytes: int | None = None

    @property
    def acts_at_bytes(self) -> int:
        return self.limit_bytes if self.threshold_bytes is None else self.threshold_bytes

    def document(self) -> JsonObject:
        """Returns the limits in the form of the controller's configuration."""
        out: JsonObject = {"action": self.action, "limit_bytes": self.limit_bytes}
        if self.threshold_bytes is not None:
            out["threshold_bytes"] = self.threshold_bytes
        return out


@dataclass(frozen=True)
class Plan:
    experiment: Experiment
    seed: int
    hosts: tuple[Host, ...]
    flows: tuple[Flow, ...]
    transfers: tuple[Transfers, ...]
    datagrams: tuple[DatagramFlow, ...] = ()

    @classmethod
    def of(cls, experiment: Experiment, seed: int) -> Plan:
        return cls(experiment, seed, *senders(experiment))

    @property
    def frame_bytes(self) -> int:
        """Size of a full packet of the largest MTU, with its Ethernet header."""
        return self.experiment.topology.mtu + ETHERNET_BYTES

    def congestion_controls(self, transport: str, host: Host | None = None) -> set[str]:
        """Congestion controls of flows and transfers; `host`: only of those it sends."""
        own = [f for f in self.flows if host is None or f.host == host]
        sources = [t.source for t in self.transfers if host is None or t.host == host]
        return {s.congestion_control for s in [*own, *sources] if s.transport == transport}

    @property
    def queue_packets(self) -> int:
        """Capacity of a switch's own queue: enough for limits of 4 C·T̄."""
        switches = range(len(self.experiment.topology.switches))
        most_bdp = max(self.bdp_bytes(k) for k in switches)
        return max(QUEUE_PACKETS, round(8 * most_bdp) // self.frame_bytes)

    @property
    def least_limit_bytes(self) -> int:
        """The controller's lower bound on limits: wide, as experiments set limits on purpose."""
        return 2 * self.frame_bytes

    @property
    def most_limit_bytes(self) -> int:
        """The controller's upper bound on limits: half of the queue's capacity."""
        return self.queue_packets * self.frame_bytes // 2

    @property
    def stack_settings(self) -> list[str]:
        """Traffic keys that make the senders' stacks differ from Linux's defaults."""
        begins = any(h.initial_window is not None for h in self.hosts)
        said = {"initial_window": begins, "min_rto": self.experiment.traffic.min_rto is not None}
        return [key for key, there in said.items() if there]

    def limited_by(self, switch: int) -> list[Flow]:
        """Flows that a switch limits, each once, however many steps it is part of."""
        seen: dict[str, Flow] = {}
        for flow in self.flows:
            if flow.bottleneck == switch:
                seen.setdefault(flow.name.partition(".")[0], flow)
        return list(seen.values())

    def n_b(self, switch: int) -> int:
        """Largest number of flows that a switch limits at a time."""
        return len(self.limited_by(switch))

    def bdp_bytes(self, switch: int) -> float:
        """C·T̄ over the flows that the switch limits; if there are none, over all hosts whose data
        pass it."""
        rtts = [f.host.rtt_s for f in self.limited_by(switch)]
        rtts = rtts or [h.rtt_s for h in self.hosts if h.switch <= switch]
        rtts = rtts or [h.rtt_s for h in self.hosts]
        return self.experiment.topology.switches[switch].rate / 8 * float(np.mean(rtts))

    def law(self, switch: int) -> str | None:
        """Queue management of a switch's port, as a command-line argument; None without."""
        described = self.experiment.topology.switches[switch]
        link = self.bdp_bytes(switch), self.n_b(switch), described.rate, self.frame_bytes
        if described.aqm is not None:
            return described.aqm.law(lambda limit: limit.in_bytes(*link))
        if described.name in self.experiment.managed:
            return f"drr:limit={self.limits_of(switch)[0]}B"
        return None

    def limits_of(self, switch: int) -> list[int]:
        """Limits, in bytes, that the phases give a switch: each once, the smallest first."""
        described = self.experiment.topology.switches[switch]
        link = self.bdp_bytes(switch), self.n_b(switch), described.rate, self.frame_bytes
        at, found = described.limit, set()
        for phase in self.experiment.phases:
            own = phase.switches.get(described.name)
            at = (own and own.limit) or phase.limit or at
            found.add(at.in_bytes(*link))
        return sorted(found)

    def first_limits(self) -> list[Limits]:
        """Limits of every switch before the first phase."""
        none = Limits("drop_tail", self.most_limit_bytes)
        return [
            self._limits(k, s.action, s.limit, s.threshold, none)
            for k, s in enumerate(self.experiment.topology.switches)
        ]

    def limits_in(self, phase: Phase, before: list[Limits]) -> list[Limits]:
        """Limits of every switch in a phase; settings that the phase does not give stay."""
        out = []
        for k, switch in enumerate(self.experiment.topology.switches):
            own = phase.switches.get(switch.name)
            limit = (own and own.limit) or phase.limit
            threshold = (own and own.threshold) or phase.threshold
            action = (own and own.action) or phase.action or before[k].action
            if limit is None and threshold is None and action == before[k].action:
                out.append(before[k])
                continue
            out.append(self._limits(k, action, limit, threshold, before[k]))
        return out

    def _limits(
        self,
        switch: int,
        action: Action,
        limit: Limit | None,
        threshold: Limit | None,
        before: Limits,
    ) -> Limits:
        """Fills in None from `before`; far above the queue if an algorithm manages it."""
        if self.law(switch) is not None:
            return Limits("drop_tail", self.most_limit_bytes)
        rate_bps = self.experiment.topology.switches[switch].rate
        link = self.bdp_bytes(switch), self.n_b(switch), rate_bps, self.frame_bytes
        at = before.limit_bytes
        if limit:
            at = min(limit.in_bytes(*link), self.most_limit_bytes)
        if action == "drop_tail":
            return Limits(action, at)
        marks = before.threshold_bytes if before.threshold_bytes is not None else at
        if threshold:
            marks = threshold.in_bytes(*link)
        return Limits(action, at, min(marks, at - self.frame_bytes))

    def limits_at(self, switch: int, acts_at_bytes: int) -> Limits:
        """Limits that act at this size. If the switch marks, this is the threshold, and the limit
        exceeds it by what all flows would add if they doubled at once (as far as the queue allows),
        so that a run shows how far marked flows overshoot by themselves."""
        described = self.experiment.topology.switches[switch]
        if described.action == "drop_tail":
            return Limits("drop_tail", acts_at_bytes)
        most = self.most_limit_bytes
        wanted = 2 * acts_at_bytes + round(self.bdp_bytes(switch))
        return Limits("mark_ce", min(wanted, most), min(acts_at_bytes, most - self.frame_bytes))

    def delay_s(self, switch: int) -> float:
        """One-way delay of the link behind a switch."""
        switches = self.experiment.topology.switches
        said = switches[switch].delay
        if said is not None:
            return said
        last = switch == len(switches) - 1
        return min(h.rtt_s for h in self.hosts) / 2 if last else 0.0

    def host_delay_s(self, host: Host) -> float:
        """Rest of the host's round-trip time, applied on the way back."""
        switches = range(host.switch, len(self.experiment.topology.switches))
        return host.rtt_s - sum(self.delay_s(k) for k in switches)

    def reports_itself(self, switch: int) -> bool:
        """A foreign program may report by later switches, and so with delay."""
        switches = self.experiment.topology.switches
        return switches[switch].program is None or switch == len(switches) - 1

    def kind_at(self, flow: Flow, switch: int) -> str | None:
        """Class of a flow at a switch (BSCL §II); None if it does not pass the switch."""
        if switch < flow.host.switch:
            return None
        if flow.bottleneck is None:
            return flow.kind
        return "lbp" if flow.bottleneck == switch else "rbp"
