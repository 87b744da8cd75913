# SPDX-License-Identifier: Apache-2.0
"""The lab's network: hosts around a switch, each in a namespace of its own.

The switch's ends of all links are in one more namespace, where nothing but the
switch's packet sockets uses them. The report link ends in the root namespace.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import wiring
from .scenario import (
    COLLECTOR_ADDRESS,
    REPORT_PREFIX_LENGTH,
    AccessHost,
    Host,
    Scenario,
)
from .state import RunState
from .wiring import HOST_INTERFACE, PREFIX, Access, End, Shape, shape

__all__ = ["HOST_INTERFACE", "PREFIX", "Topology", "shape"]

REPORT_SWITCH_MAC = "02:74:6d:00:01:01"
REPORT_COLLECTOR_MAC = "02:74:6d:00:01:02"


@dataclass(frozen=True)
class Topology:
    """Names of everything that a run makes."""

    scenario: Scenario
    run_id: str

    @property
    def switch_namespace(self) -> str:
        return f"{PREFIX}{self.run_id}-sw"

    @property
    def namespace_of(self) -> dict[str, str]:
        names = [h.name for h in self.scenario.hosts]
        names += [h.name for h in self.scenario.access_hosts]
        return {name: f"{PREFIX}{self.run_id}-{name}" for name in names}

    @property
    def report_interface(self) -> str:
        """The collector's end; at most 15 characters."""
        return f"{PREFIX}{self.run_id}-rep"

    def switch_interface(self, port: int) -> str:
        return f"p{port}"

    def switch_ports(self) -> list[str]:
        """`--port` arguments of tidemark-switch."""
        s = self.scenario
        queue = f"queue={s.queue_depth_packets}p"
        ports = [self._port(h, queue) for h in s.senders]
        ports.append(self._port(s.receiver, queue, f"rate={s.capacity_bps}bit"))
        ports.append(f"{s.report_port}={self._end(s.report_port)},{queue}")
        return ports

    def _end(self, port: int) -> End:
        return End(self.switch_namespace, self.switch_interface(port))

    def _port(self, host: Host, *more: str) -> str:
        delay = f"delay={round(host.delay_ms * 1000)}us"
        return ",".join([f"{host.port}={self._end(host.port)}", delay, *more])

    def build(self, state: RunState) -> None:
        """Makes everything, recording each thing first."""
        s = self.scenario
        wiring.make_switch_namespace(state, self.switch_namespace)
        for name in self.namespace_of.values():
            wiring.make_namespace(state, name)
        for host in self.scenario.hosts:
            end = self._end(host.port)
            namespace = self.namespace_of[host.name]
            wiring.connect_host(namespace, host.address, host.mac, end, s.ecn, s.offloads)
        for access in self.scenario.access_hosts:
            receiver = self.namespace_of[self.scenario.receiver.name]
            wiring.connect_access(self._access(access), receiver, s.ecn, s.offloads)
        wiring.connect_collector(
            state,
            self.report_interface,
            COLLECTOR_ADDRESS,
            REPORT_PREFIX_LENGTH,
            REPORT_COLLECTOR_MAC,
            self._end(s.report_port),
            s.offloads,
        )

    def _access(self, access: AccessHost) -> Access:
        s = self.scenario
        return Access(
            namespace=self.namespace_of[access.name],
            address=access.address,
            gateway_namespace=self.namespace_of[access.gateway.name],
            gateway_host_address=access.gateway.address,
            gateway_address=access.gateway_address,
            network=access.network,
            prefix_length=access.prefix_length,
            shape=Shape(s.rbp_rate_bps, s.rbp_burst_bytes, s.rbp_queue_bytes),
        )
