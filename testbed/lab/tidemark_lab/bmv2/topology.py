# SPDX-License-Identifier: Apache-2.0
"""The lab's network around BMv2.

BMv2 delays nothing by itself, and its rate is a port's. So a `tidemark-switch`
stands between the senders and it as the long path, without a rate and without
reports: it has the delays that the embedded switch of other runs has.

    h1..hN ── path ── trunk ── BMv2 ── rx
                                └ reports, management

BMv2 runs in the namespace of its ports, so its Thrift service, which listens on
every address, is reachable from nowhere else; its P4Runtime server listens on a
link of its own to the root namespace.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyroute2 import IPRoute

from .. import kernel, wiring
from ..scenario import COLLECTOR_ADDRESS, REPORT_PREFIX_LENGTH
from ..state import RunState
from ..topology import PREFIX, REPORT_COLLECTOR_MAC, Topology
from ..wiring import End

# BMv2's port towards the senders.
TRUNK_PORT = 1
MANAGEMENT_NETWORK = "198.18.255.4/30"
CONTROLLER_ADDRESS = "198.18.255.5"
SWITCH_ADDRESS = "198.18.255.6"
_PREFIX_LENGTH = 30
_MANAGEMENT_INTERFACE = "mgmt"


@dataclass(frozen=True)
class Bmv2Topology(Topology):
    """Names of everything that a run on BMv2 makes."""

    @property
    def path_namespace(self) -> str:
        """Of the long path's ends of links."""
        return f"{PREFIX}{self.run_id}-path"

    @property
    def management_interface(self) -> str:
        """The controller's end; at most 15 characters."""
        return f"{PREFIX}{self.run_id}-mgm"

    @property
    def path_trunk_port(self) -> int:
        """In the receiver's place, and with its delay."""
        return self.scenario.receiver.port

    def bmv2_interfaces(self) -> dict[int, str]:
        s = self.scenario
        return {p: self.switch_interface(p) for p in (TRUNK_PORT, s.receiver.port, s.report_port)}

    def path_ports(self) -> list[str]:
        """`--port` arguments of the tidemark-switch that is the path."""
        s = self.scenario
        return [
            f"{port}={self._path_end(port)},delay={round(delay_ms * 1000)}us,"
            f"queue={s.queue_depth_packets}p,gro=off"
            for port, delay_ms in (
                *((h.port, h.delay_ms) for h in s.senders),
                (self.path_trunk_port, s.receiver_delay_ms),
            )
        ]

    def _path_end(self, port: int) -> End:
        return End(self.path_namespace, self.switch_interface(port))

    def build(self, state: RunState) -> None:
        s = self.scenario
        wiring.make_switch_namespace(state, self.switch_namespace)
        wiring.make_switch_namespace(state, self.path_namespace)
        for name in self.namespace_of.values():
            wiring.make_namespace(state, name)
        for host in s.senders:
            wiring.connect_host(
                self.namespace_of[host.name],
                host.address,
                host.mac,
                self._path_end(host.port),
                s.ecn,
                s.offloads,
            )
        wiring.connect_switches(
            self._path_end(self.path_trunk_port), self._end(TRUNK_PORT), s.offloads
        )
        receiver = s.receiver
        namespace = self.namespace_of[receiver.name]
        end = self._end(receiver.port)
        wiring.connect_host(namespace, receiver.address, receiver.mac, end, s.ecn, s.offloads)
        for access in s.access_hosts:
            wiring.connect_access(self._access(access), namespace, s.ecn, s.offloads)
        wiring.connect_collector(
            state,
            self.report_interface,
            COLLECTOR_ADDRESS,
            REPORT_PREFIX_LENGTH,
            REPORT_COLLECTOR_MAC,
            self._end(s.report_port),
            s.offloads,
        )
        connect_management(state, self.management_interface, self.switch_namespace)


def connect_management(state: RunState, interface: str, switch_namespace: str) -> None:
    """`interface`: the controller's end."""
    state.add_interface(interface)
    with IPRoute() as ipr:
        ipr.link(
            "add",
            ifname=interface,
            kind="veth",
            peer={"ifname": _MANAGEMENT_INTERFACE, "net_ns_fd": switch_namespace},
        )
        kernel.set_sysctls({f"net.ipv6.conf.{interface}.disable_ipv6": "1"})
        wiring.set_up(ipr, interface, CONTROLLER_ADDRESS, _PREFIX_LENGTH)
    with IPRoute(netns=switch_namespace) as ipr:
        wiring.set_up(ipr, _MANAGEMENT_INTERFACE, SWITCH_ADDRESS, _PREFIX_LENGTH)
        wiring.raise_loopback(ipr)
