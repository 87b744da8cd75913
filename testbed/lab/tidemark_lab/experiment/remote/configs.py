# SPDX-License-Identifier: Apache-2.0
"""Configurations of the collector here and the traffic there; maps hosts to machines. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ...json_types import JsonObject
from ..backend import Place
from ..plan import Plan
from ..senders import Flow, Host
from ..traffic_spec import Endpoint, listeners, spec
from .model import RemoteLab, SenderHost

# Step between the seeds of two hosts, so that each host's sources are drawn independently.
SEED_STEP = 2**32


@dataclass(frozen=True)
class Machines:
    """Machines for a plan, from the hosts in its file."""

    plan: Plan
    lab: RemoteLab

    def sender(self, host: Host) -> SenderHost | None:
        for machine in self.lab.senders:
            if machine.hosts == host.group and (machine.rtt is None or machine.rtt == host.rtt_s):
                return machine
        return None

    def name(self, host: Host) -> str:
        machine = self.sender(host)
        return f"{machine.destination if machine else '?'} ({host.name})"

    @property
    def receiver_name(self) -> str:
        return f"{self.lab.receiver.destination} (rx)"

    def place(self, switch: int) -> Place:
        name = self.plan.experiment.topology.switches[switch].name
        there = next(s for s in self.lab.switches if s.name == name)
        return Place(there.node, there.port)

    @property
    def places(self) -> list[Place]:
        return [self.place(k) for k in range(len(self.plan.experiment.topology.switches))]

    def receiver(self) -> Endpoint:
        return Endpoint(str(self.lab.receiver.address))

    def of_host(self, host: Host) -> Endpoint:
        machine = self.sender(host)
        return Endpoint(str(machine.address) if machine else "0.0.0.0")

    def of_flow(self, flow: Flow) -> Endpoint:
        return self.of_host(flow.host)

    def traffic(self, host: Host) -> JsonObject:
        """Returns the traffic that a host sends."""
        number = self.plan.hosts.index(host)
        seeded = replace(self.plan, seed=self.plan.seed + number * SEED_STEP)
        return spec(seeded, self, host)

    def listening(self) -> list[str]:
        """Returns the arguments of `tidemark-traffic serve`."""
        out = []
        for one in listeners(self.plan, self):
            room = one.get("receive_buffer_bytes")
            more = ",quic" if one.get("transport") == "quic" else ""
            more += f",rcvbuf={room}" if room else ""
            more += f",control={one['congestion_control']}" if "congestion_control" in one else ""
            out += ["--listen", f"{one['address']}{more}"]
        return out

    def collector(self, capture_dir: Path) -> JsonObject:
        lab = self.lab
        nodes: JsonObject = {}
        for switch in self.plan.experiment.topology.switches:
            there = next(s for s in lab.switches if s.name == switch.name)
            node = nodes.setdefault(
                str(there.node), {"name": switch.name, **there.node_settings, "ports": {}}
            )
            node["ports"][str(there.port)] = {
                "name": switch.name,
                "capacity_bps": round(switch.rate),
                **there.port_settings,
            }
        longest_rtt_ms = 1e3 * max(h.rtt_s for h in self.plan.hosts)
        grpc: JsonObject = {"listen": lab.collector.grpc}
        if lab.collector.token_file is not None:
            grpc["token_file"] = str(Path(lab.collector.token_file).expanduser().absolute())
        return {
            "listen": list(lab.collector.listen),
            "grpc": grpc,
            "http": {"listen": lab.collector.http},
            "capture": {"dir": str(capture_dir)},
            "agents": {"accept": True},
            "pipeline": {"join_wait_ms": max(500, round(3 * longest_rtt_ms))},
            "nodes": nodes,
        }
