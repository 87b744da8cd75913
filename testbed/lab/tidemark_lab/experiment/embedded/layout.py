# SPDX-License-Identifier: Apache-2.0
"""Names, addresses and ports of everything that a plan needs. Pure."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...addresses import ACCESS_NETWORK, LINK_PREFIX_LENGTH, NETWORK, REPORT_NETWORK
from ...wiring import PREFIX, Access, End, Shape
from ..model import Program
from ..plan import FIRST_NODE, Plan
from ..senders import Host

RECEIVER_ADDRESS = str(NETWORK[250])
RECEIVER_MAC = "02:74:6d:00:ff:01"
MOST_HOSTS = 200
MOST_ACCESS = 60
# Bytes that foreign programs may add to a packet on its way.
ROOM_FOR_OTHERS = 500


@dataclass(frozen=True)
class ReportLink:
    collector_interface: str
    collector_address: str
    collector_mac: str
    switch_address: str
    switch_mac: str


@dataclass(frozen=True)
class Layout:
    plan: Plan
    run_id: str

    @property
    def switches(self) -> range:
        return range(len(self.plan.experiment.topology.switches))

    def switch_namespace(self, switch: int) -> str:
        return f"{PREFIX}{self.run_id}-s{switch + 1}"

    def namespace(self, name: str) -> str:
        return f"{PREFIX}{self.run_id}-{name}"

    @property
    def receiver_namespace(self) -> str:
        return self.namespace("rx")

    def hosts_at(self, switch: int) -> list[Host]:
        return [h for h in self.plan.hosts if h.switch == switch]

    def host_port(self, host: Host) -> int:
        return self.hosts_at(host.switch).index(host) + 1

    def back_port(self, switch: int) -> int:
        """Port towards the previous switch; the first switch has none."""
        return len(self.hosts_at(switch)) + 1

    def out_port(self, switch: int) -> int:
        """The bottleneck port: towards the next switch, or the receiver."""
        return len(self.hosts_at(switch)) + (2 if switch else 1)

    def report_port(self, switch: int) -> int:
        return self.out_port(switch) + 1

    def end(self, switch: int, port: int) -> End:
        return End(self.switch_namespace(switch), f"p{port}")

    def host_end(self, host: Host) -> End:
        """The switch's end of a host's link."""
        return self.end(host.switch, self.host_port(host))

    def node(self, switch: int) -> int:
        return FIRST_NODE + switch

    def program(self, switch: int) -> Program | None:
        """The switch's program, if it is not Tidemark's."""
        return self.plan.experiment.topology.switches[switch].program

    @property
    def own_switches(self) -> list[int]:
        """Switches with Tidemark's program."""
        return [k for k in self.switches if self.program(k) is None]

    @property
    def mtu_between_switches(self) -> int:
        mtu = self.plan.experiment.topology.mtu
        return mtu if len(self.own_switches) == len(self.switches) else mtu + ROOM_FOR_OTHERS

    def _number(self, host: Host) -> int:
        return self.plan.hosts.index(host)

    def address(self, host: Host) -> str:
        return str(NETWORK[11 + self._number(host)])

    def mac(self, host: Host) -> str:
        return f"02:74:6d:00:00:{self._number(host) + 1:02x}"

    def report_link(self, switch: int) -> ReportLink:
        first = REPORT_NETWORK[4 * switch]
        return ReportLink(
            collector_interface=f"{PREFIX}{self.run_id}-rep{switch + 1}",
            collector_address=str(first + 1),
            collector_mac=f"02:74:6d:00:{switch + 1:02x}:02",
            switch_address=str(first + 2),
            switch_mac=f"02:74:6d:00:{switch + 1:02x}:01",
        )

    @cached_property
    def access(self) -> dict[str, Access]:
        """Flow name → the host behind a host, for each flow with its own slow link."""
        found: dict[str, Access] = {}
        for flow in self.plan.flows:
            if flow.remote is None:
                continue
            n = len(found)
            gateway = self.namespace(flow.host.name)
            network = ipaddress.ip_network((int(ACCESS_NETWORK[4 * n]), LINK_PREFIX_LENGTH))
            found[flow.name] = Access(
                namespace=self.namespace(f"a{n + 1}"),
                address=str(network[2]),
                gateway_namespace=gateway,
                gateway_host_address=self.address(flow.host),
                gateway_address=str(network[1]),
                network=str(network),
                shape=Shape(round(flow.remote.rate), flow.remote.burst, flow.remote.queue),
                number=sum(a.gateway_namespace == gateway for a in found.values()),
            )
        return found

    def switch_ports(self, switch: int) -> list[str]:
        """Returns the `--port` arguments of tidemark-switch."""
        room = f"queue={self.plan.queue_packets}p"

        def port(number: int, *more: str, queue: str = room) -> str:
            return ",".join([f"{number}={self.end(switch, number)}", queue, *more])

        ports = [
            port(self.host_port(h), f"delay={_us(self.plan.host_delay_s(h))}us")
            for h in self.hosts_at(switch)
        ]
        if switch > 0:
            ports.append(port(self.back_port(switch)))
        rate = round(self.plan.experiment.topology.switches[switch].rate)
        delay = f"delay={_us(self.plan.delay_s(switch))}us"
        queue = room
        if self.program(switch) is not None:
            limit_bytes = self.plan.first_limits()[switch].limit_bytes
            queue = f"queue={max(1, limit_bytes // self.plan.frame_bytes)}p"
        ports.append(port(self.out_port(switch), delay, f"rate={rate}bit", queue=queue))
        ports.append(port(self.report_port(switch)))
        return ports

    def aqm(self, switch: int) -> list[str | Path]:
        """Returns tidemark-switch's arguments for queue management at the bottleneck."""
        law = self.plan.law(switch)
        return ["--aqm", f"{self.out_port(switch)}={law}"] if law else []

    def forward(self, switch: int) -> list[dict[str, object]]:
        """Returns the port by which a switch reaches each host."""
        table: list[dict[str, object]] = [{"mac": RECEIVER_MAC, "port": self.out_port(switch)}]
        for host in self.plan.hosts:
            if host.switch == switch:
                port = self.host_port(host)
            else:
                port = self.back_port(switch) if host.switch < switch else self.out_port(switch)
            table.append({"mac": self.mac(host), "port": port})
        return table

    def flood_ports(self, switch: int) -> list[int]:
        """All ports but the report port."""
        return list(range(1, self.report_port(switch)))


def _us(seconds: float) -> int:
    return round(seconds * 1e6)
