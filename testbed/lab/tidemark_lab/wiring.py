# SPDX-License-Identifier: Apache-2.0
"""Links between namespaces: hosts, hosts behind hosts, switches, the report link."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from pyroute2 import IPRoute

from . import kernel, netns
from .addresses import LINK_PREFIX_LENGTH
from .state import RunState

PREFIX = "tm-"
HOST_INTERFACE = "eth0"
PREFIX_LENGTH = 24
MTU = 1500
ACCESS_INTERFACE = "acc"
_ROOT_HANDLE = 0x0001_0000
_SHAPED_CLASS = 0x0001_0010
_LEAF_HANDLE = 0x0020_0000
_ETH_P_IP = 0x0800
_IP_SOURCE_OFFSET = 12
# Number of this route metric in linux/rtnetlink.h.
RTAX_RTO_MIN = 13


@dataclass(frozen=True)
class End:
    """One end of a link: an interface in a namespace."""

    namespace: str
    interface: str

    def __str__(self) -> str:
        """Formats the end like tidemark-switch does."""
        return f"{self.interface}@{self.namespace}"


@dataclass(frozen=True)
class Shape:
    """A token bucket with a short queue."""

    rate_bps: int
    burst_bytes: int
    queue_bytes: int


def host_sysctls(ecn: bool) -> dict[str, str]:
    return kernel.NO_IPV6 | kernel.HOST_SYSCTLS | (kernel.ECN if ecn else kernel.NO_ECN)


def make_switch_namespace(state: RunState, name: str) -> None:
    make_namespace(state, name)
    with netns.entered(name):
        kernel.set_sysctls(kernel.NO_IPV6)


def make_namespace(state: RunState, name: str) -> None:
    """Makes a namespace, which is recorded first."""
    state.add_namespace(name)
    netns.create(name)


def connect_host(
    namespace: str, address: str, mac: str, end: End, ecn: bool, offloads: bool, mtu: int = MTU
) -> None:
    """Makes a host with one interface, connected to a port of the switch.

    offloads: its TCP leaves segmentation and checksums to the interface, the kernel's default;
    without, each frame on the link is one whole packet.
    """
    with netns.entered(namespace):
        kernel.set_sysctls(host_sysctls(ecn))
    with IPRoute(netns=namespace) as ipr:
        connect(ipr, HOST_INTERFACE, end, mac)
        _raise_end(ipr, namespace, HOST_INTERFACE, address, PREFIX_LENGTH, offloads, mtu)
        raise_loopback(ipr)
    raise_switch_end(end, offloads, mtu)


def connect(ipr: IPRoute, interface: str, other: End, mac: str | None = None) -> None:
    """Links an interface of this namespace to another end."""
    peer = {"ifname": other.interface, "net_ns_fd": other.namespace}
    address = {} if mac is None else {"address": mac}
    ipr.link("add", ifname=interface, kind="veth", peer=peer, **address)


def set_route(
    namespace: str, destination: str, initial_window: int | None, min_rto_s: float | None
) -> None:
    """Sets a route for TCP flows from a namespace to an address: their initial window in packets,
    and their smallest RTO; None: the kernel's own, 10 (RFC 6928) and 200 ms."""
    metrics: dict[str, int] = {}
    if initial_window is not None:
        metrics["initcwnd"] = initial_window
    if min_rto_s is not None:
        # The kernel uses a route's value only if it is locked.
        metrics |= {"lock": 1 << RTAX_RTO_MIN, "rto_min": round(1e3 * min_rto_s)}
    if not metrics:
        return
    with IPRoute(netns=namespace) as ipr:
        (route,) = ipr.route("get", dst=destination)
        way = {"oif": route.get_attr("RTA_OIF")}
        if gateway := route.get_attr("RTA_GATEWAY"):
            way["gateway"] = gateway
        ipr.route("add", dst=f"{destination}/32", metrics=metrics, **way)


def connect_switches(one: End, other: End, offloads: bool, mtu: int = MTU) -> None:
    with IPRoute(netns=one.namespace) as ipr:
        connect(ipr, one.interface, other)
    raise_switch_end(one, offloads, mtu)
    raise_switch_end(other, offloads, mtu)


def raise_switch_end(end: End, offloads: bool, mtu: int = MTU) -> None:
    if not offloads:
        with netns.entered(end.namespace):
            kernel.disable_offloads(end.interface)
    with IPRoute(netns=end.namespace) as ipr:
        index = ipr.link_lookup(ifname=end.interface)[0]
        ipr.link("set", index=index, mtu=mtu, state="up")


@dataclass(frozen=True)
class Access:
    """A host behind a host, which shapes and forwards its packets."""

    namespace: str
    address: str
    gateway_namespace: str
    # The gateway's address on the switch's network, and that towards the host behind it.
    gateway_host_address: str
    gateway_address: str
    network: str
    shape: Shape
    # Index, from 0, among the hosts behind this gateway.
    number: int = 0

    @property
    def gateway_interface(self) -> str:
        return f"{ACCESS_INTERFACE}{self.number or ''}"


def connect_access(
    access: Access, receiver_namespace: str, ecn: bool, offloads: bool, mtu: int
) -> None:
    inner, gateway = access.namespace, access.gateway_namespace
    with netns.entered(inner):
        kernel.set_sysctls(host_sysctls(ecn))
    with netns.entered(gateway):
        kernel.set_sysctls({"net.ipv4.ip_forward": "1"})
    outer = End(gateway, access.gateway_interface)
    with IPRoute(netns=inner) as ipr:
        connect(ipr, HOST_INTERFACE, outer)
        own = access.address, LINK_PREFIX_LENGTH, offloads, mtu
        _raise_end(ipr, inner, HOST_INTERFACE, *own)
        raise_loopback(ipr)
    with IPRoute(netns=gateway) as ipr:
        own = access.gateway_address, LINK_PREFIX_LENGTH, offloads, mtu
        _raise_end(ipr, gateway, outer.interface, *own)
        index = ipr.link_lookup(ifname=HOST_INTERFACE)[0]
        shape(ipr, index, access.address, access.shape, access.number)
    with IPRoute(netns=inner) as ipr:
        ipr.route("add", dst="default", gateway=access.gateway_address)
    with IPRoute(netns=receiver_namespace) as ipr:
        ipr.route("add", dst=access.network, gateway=access.gateway_host_address)


def connect_root(
    state: RunState, interface: str, address: str, end: End, mac: str | None = None
) -> None:
    """Makes a link between a switch and the root namespace; recorded before it is made."""
    state.add_interface(interface)
    with IPRoute() as ipr:
        connect(ipr, interface, end, mac)
        kernel.set_sysctls({f"net.ipv6.conf.{interface}.disable_ipv6": "1"})
        set_up(ipr, interface, address, LINK_PREFIX_LENGTH)


def _raise_end(
    ipr: IPRoute,
    namespace: str,
    interface: str,
    address: str,
    prefix: int,
    offloads: bool,
    mtu: int,
) -> None:
    index = ipr.link_lookup(ifname=interface)[0]
    ipr.link("set", index=index, mtu=mtu)
    if not offloads:
        # TCP then builds no frames for the interface to split.
        ipr.link("set", index=index, gso_max_segs=1, gso_max_size=mtu)
        with netns.entered(namespace):
            kernel.disable_offloads(interface)
    set_up(ipr, interface, address, prefix)


def set_up(ipr: IPRoute, interface: str, address: str, prefix_length: int) -> None:
    index = ipr.link_lookup(ifname=interface)[0]
    ipr.addr("add", index=index, address=address, prefixlen=prefix_length)
    ipr.link("set", index=index, state="up")


def raise_loopback(ipr: IPRoute) -> None:
    ipr.link("set", index=ipr.link_lookup(ifname="lo")[0], state="up")


def shape(ipr: IPRoute, index: int, source: str, bucket: Shape, number: int = 0) -> None:
    """Adds a token bucket with a short queue for packets from one source address. HTB only
    classifies: its class is far faster than the token bucket, and everything else bypasses it
    (default class 0). `number`: index of the source on this interface, from 0."""
    if number == 0:
        ipr.tc("add", "htb", index=index, handle=_ROOT_HANDLE, default=0)
    ipr.tc(
        "add-class",
        "htb",
        index=index,
        handle=_SHAPED_CLASS + number,
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
        handle=_LEAF_HANDLE + (number << 16),
        parent=_SHAPED_CLASS + number,
        rate=f"{bucket.rate_bps}bit",
        burst=bucket.burst_bytes,
        limit=bucket.queue_bytes,
    )
    address = int(ipaddress.ip_address(source))
    ipr.tc(
        "add-filter",
        "u32",
        index=index,
        parent=_ROOT_HANDLE,
        prio=1 + number,
        protocol=_ETH_P_IP,
        target=_SHAPED_CLASS + number,
        keys=[f"0x{address:08x}/0xffffffff+{_IP_SOURCE_OFFSET}"],
    )
