# SPDX-License-Identifier: Apache-2.0
"""An experiment with every quantity worked out: hosts, flows, limits in bytes. Pure.

A plan is the same for every back end: only its execution differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..json_types import JsonObject
from .model import Action, Experiment, Phase
from .quantities import ETHERNET_BYTES, Limit
from .senders import DatagramFlow, Flow, Host, Transfers, senders

FIRST_NODE = 10
# The least that a switch's own queue holds, packets: it must never be the one that drops.
QUEUE_PACKETS = 8192


@dataclass(frozen=True)
class Limits:
    """Limits of a port; `threshold_bytes` is None where it drops only."""

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
        """Of a full packet of the largest MTU, with its Ethernet header."""
        return self.experiment.topology.mtu + ETHERNET_BYTES

    def congestion_controls(self, transport: str, host: Host | None = None) -> set[str]:
        """Of flows and transfers; `host`: of what it sends."""
        own = [f for f in self.flows if host is None or f.host == host]
        sources = [t.source for t in self.transfers if host is None or t.host == host]
        return {s.congestion_control for s in [*own, *sources] if s.transport == transport}

    @property
    def queue_packets(self) -> int:
        """Room of a switch's own queue: for limits of 4 C·T̄."""
        switches = range(len(self.experiment.topology.switches))
        most_bdp = max(self.bdp_bytes(k) for k in switches)
        return max(QUEUE_PACKETS, round(8 * most_bdp) // self.frame_bytes)

    @property
    def least_limit_bytes(self) -> int:
        """The other guard rail: an experiment changes limits on purpose, so it is wide."""
        return 2 * self.frame_bytes

    @property
    def most_limit_bytes(self) -> int:
        """The controller's guard rail: half of what that queue has room for."""
        return self.queue_packets * self.frame_bytes // 2

    @property
    def stack_settings(self) -> list[str]:
        """Keys of the traffic by which senders' stacks differ from Linux."""
        begins = any(h.initial_window is not None for h in self.hosts)
        said = {"initial_window": begins, "min_rto": self.experiment.traffic.min_rto is not None}
        return [key for key, there in said.items() if there]

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

    def law(self, switch: int) -> str | None:
        """Queue management of a switch's port, as its command line has it."""
        described = self.experiment.topology.switches[switch]
        link = self.bdp_bytes(switch), self.n_b(switch), described.rate, self.frame_bytes
        if described.aqm is None:
            return None
        return described.aqm.law(lambda limit: limit.in_bytes(*link))

    def first_limits(self) -> list[Limits]:
        """Of every switch, before the first phase."""
        none = Limits("drop_tail", self.most_limit_bytes)
        return [
            self._limits(k, s.action, s.limit, s.threshold, none)
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
        """With what is None as before; far above the queue where an algorithm manages it."""
        if self.experiment.topology.switches[switch].aqm is not None:
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
        """Limits that act at so many bytes. Where the switch marks, that is the threshold, and the
        limit is above it by what all flows would add if they doubled at once: so a run shows how
        far marked flows overshoot by themselves; as far as the queue allows."""
        described = self.experiment.topology.switches[switch]
        if described.action == "drop_tail":
            return Limits("drop_tail", acts_at_bytes)
        most = self.most_limit_bytes
        wanted = 2 * acts_at_bytes + round(self.bdp_bytes(switch))
        return Limits("mark_ce", min(wanted, most), min(acts_at_bytes, most - self.frame_bytes))

    def delay_s(self, switch: int) -> float:
        """One way, of the link behind a switch."""
        switches = self.experiment.topology.switches
        said = switches[switch].delay
        if said is not None:
            return said
        last = switch == len(switches) - 1
        return min(h.rtt_s for h in self.hosts) / 2 if last else 0.0

    def host_delay_s(self, host: Host) -> float:
        """Rest of its round trip, for the way back."""
        switches = range(host.switch, len(self.experiment.topology.switches))
        return host.rtt_s - sum(self.delay_s(k) for k in switches)

    def reports_itself(self, switch: int) -> bool:
        """A program of others can report by the switches behind it, and so later."""
        switches = self.experiment.topology.switches
        return switches[switch].program is None or switch == len(switches) - 1

    def kind_at(self, flow: Flow, switch: int) -> str | None:
        """Class of a flow at a switch (BSCL §II); None where it does not pass."""
        if switch < flow.host.switch:
            return None
        if flow.bottleneck is None:
            return flow.kind
        return "lbp" if flow.bottleneck == switch else "rbp"
