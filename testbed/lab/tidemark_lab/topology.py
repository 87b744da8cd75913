# SPDX-License-Identifier: Apache-2.0
"""The lab's network: hosts around a switch, each in a namespace of its own.

The switch's ends of all links are in one more namespace, where nothing but the
switch's packet sockets uses them. The report link ends in the root namespace.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from pyroute2 import IPRoute

from . import kernel, netns
from .scenario import (
    COLLECTOR_ADDRESS,
    REPORT_PREFIX_LENGTH,
    AccessHost,
    Host,
    Scenario,
)
from .state import RunState

PREFIX = "tm-"
HOST_INTERFACE = "eth0"
PREFIX_LENGTH = 24
REPORT_SWITCH_MAC = "02:74:6d:00:01:01"
REPORT_COLLECTOR_MAC = "02:74:6d:00:01:02"
ACCESS_INTERFACE = "acc"
_ROOT_HANDLE = 0x0001_0000
_SHAPED_CLASS = 0x0001_0010
_LEAF_HANDLE = 0x0020_0000
_ETH_P_IP = 0x0800
_IP_SOURCE_OFFSET = 12


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

    def _end(self, port: int) -> str:
        return f"{self.switch_interface(port)}@{self.switch_namespace}"

    def _port(self, host: Host, *more: str) -> str:
        delay = f"delay={round(host.delay_ms * 1000)}us"
        return ",".join([f"{host.port}={self._end(host.port)}", delay, *more])

    def build(self, state: RunState) -> None:
        """Makes everything, recording each thing first."""
        for name in (self.switch_namespace, *self.namespace_of.values()):
            state.add_namespace(name)
            netns.create(name)
        with netns.entered(self.switch_namespace):
            kernel.set_sysctls(kernel.NO_IPV6)
        for host in self.scenario.hosts:
            self._connect(host)
        for access in self.scenario.access_hosts:
            self._connect_access(access)
        self._connect_collector(state)

    def _host_sysctls(self) -> dict[str, str]:
        ecn = kernel.ECN if self.scenario.ecn else kernel.NO_ECN
        return kernel.NO_IPV6 | kernel.HOST_SYSCTLS | ecn

    def _connect(self, host: Host) -> None:
        namespace = self.namespace_of[host.name]
        with netns.entered(namespace):
            kernel.set_sysctls(self._host_sysctls())
        end = self.switch_interface(host.port)
        with IPRoute(netns=namespace) as ipr:
            ipr.link(
                "add",
                ifname=HOST_INTERFACE,
                kind="veth",
                address=host.mac,
                peer={"ifname": end, "net_ns_fd": self.switch_namespace},
            )
            index = ipr.link_lookup(ifname=HOST_INTERFACE)[0]
            # TCP builds no frames for the interface to split.
            ipr.link("set", index=index, gso_max_segs=1, gso_max_size=1500)
            ipr.addr("add", index=index, address=host.address, prefixlen=PREFIX_LENGTH)
            self._raise_loopback(ipr)
            with netns.entered(namespace):
                kernel.disable_offloads(HOST_INTERFACE)
            ipr.link("set", index=index, state="up")
        self._raise_switch_end(end)

    def _raise_switch_end(self, interface: str) -> None:
        with netns.entered(self.switch_namespace):
            kernel.disable_offloads(interface)
        with IPRoute(netns=self.switch_namespace) as ipr:
            ipr.link("set", index=ipr.link_lookup(ifname=interface)[0], state="up")

    def _connect_access(self, access: AccessHost) -> None:
        """A host behind a sender; the sender forwards for it, slowly."""
        s = self.scenario
        inner = self.namespace_of[access.name]
        gateway = self.namespace_of[access.gateway.name]
        with netns.entered(inner):
            kernel.set_sysctls(self._host_sysctls())
        with netns.entered(gateway):
            kernel.set_sysctls({"net.ipv4.ip_forward": "1"})
        with IPRoute(netns=inner) as ipr:
            ipr.link(
                "add",
                ifname=HOST_INTERFACE,
                kind="veth",
                peer={"ifname": ACCESS_INTERFACE, "net_ns_fd": gateway},
            )
            self._raise_access_end(ipr, inner, HOST_INTERFACE, access.address, access)
            self._raise_loopback(ipr)
        with IPRoute(netns=gateway) as ipr:
            self._raise_access_end(ipr, gateway, ACCESS_INTERFACE, access.gateway_address, access)
            index = ipr.link_lookup(ifname=HOST_INTERFACE)[0]
            shape(
                ipr,
                index,
                access.address,
                s.rbp_rate_bps,
                s.rbp_burst_bytes,
                s.rbp_queue_bytes,
            )
        with IPRoute(netns=inner) as ipr:
            ipr.route("add", dst="default", gateway=access.gateway_address)
        with IPRoute(netns=self.namespace_of[s.receiver.name]) as ipr:
            ipr.route("add", dst=access.network, gateway=access.gateway.address)

    @staticmethod
    def _raise_access_end(
        ipr: IPRoute, namespace: str, interface: str, address: str, access: AccessHost
    ) -> None:
        index = ipr.link_lookup(ifname=interface)[0]
        ipr.link("set", index=index, gso_max_segs=1, gso_max_size=1500)
        ipr.addr("add", index=index, address=address, prefixlen=access.prefix_length)
        with netns.entered(namespace):
            kernel.disable_offloads(interface)
        ipr.link("set", index=index, state="up")

    @staticmethod
    def _raise_loopback(ipr: IPRoute) -> None:
        ipr.link("set", index=ipr.link_lookup(ifname="lo")[0], state="up")

    def _connect_collector(self, state: RunState) -> None:
        state.add_interface(self.report_interface)
        end = self.switch_interface(self.scenario.report_port)
        with IPRoute() as ipr:
            ipr.link(
                "add",
                ifname=self.report_interface,
                kind="veth",
                address=REPORT_COLLECTOR_MAC,
                peer={"ifname": end, "net_ns_fd": self.switch_namespace},
            )
            index = ipr.link_lookup(ifname=self.report_interface)[0]
            kernel.set_sysctls({f"net.ipv6.conf.{self.report_interface}.disable_ipv6": "1"})
            ipr.addr("add", index=index, address=COLLECTOR_ADDRESS, prefixlen=REPORT_PREFIX_LENGTH)
            ipr.link("set", index=index, state="up")
        self._raise_switch_end(end)


def shape(
    ipr: IPRoute, index: int, source: str, rate_bps: int, burst_bytes: int, queue_bytes: int
) -> None:
    """A token bucket with a short queue for the packets of one source address.
    HTB only tells them apart: its class is far faster than the token bucket, and
    everything else passes it directly (default class 0)."""
    ipr.tc("add", "htb", index=index, handle=_ROOT_HANDLE, default=0)
    ipr.tc(
        "add-class",
        "htb",
        index=index,
        handle=_SHAPED_CLASS,
        parent=_ROOT_HANDLE,
        rate="10gbit",
        ceil="10gbit",
        burst=200_000,
        cburst=200_000,
        quantum=60_000,
    )
    ipr.tc(
        "add",
        "tbf",
        index=index,
        handle=_LEAF_HANDLE,
        parent=_SHAPED_CLASS,
        rate=f"{rate_bps}bit",
        burst=burst_bytes,
        limit=queue_bytes,
    )
    address = int(ipaddress.ip_address(source))
    ipr.tc(
        "add-filter",
        "u32",
        index=index,
        parent=_ROOT_HANDLE,
        prio=1,
        protocol=_ETH_P_IP,
        target=_SHAPED_CLASS,
        keys=[f"0x{address:08x}/0xffffffff+{_IP_SOURCE_OFFSET}"],
    )
