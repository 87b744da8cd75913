# SPDX-License-Identifier: Apache-2.0
"""The spec of tidemark-traffic for a plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from ..json_types import JsonObject
from .plan import Plan
from .senders import DatagramFlow, Flow, Host, Transfers
from .sizes import as_traffic
from .traffic import ClosedLoop, OpenLoop

NO_NAMES: Mapping[str, str] = MappingProxyType({})
# Fields of a spec, and the receiver's port.
Carried = tuple[JsonObject, int]
BULK_TCP_PORT, SHORT_TCP_PORT, CLOSED_TCP_PORT, FIRST_WINDOW_TCP_PORT = 5001, 5002, 5003, 5100
# DCTCP needs its receiver's cooperation, so it has its own listener.
DCTCP, DCTCP_PORT = "dctcp", 5004
QUIC_UDP_PORT, DATAGRAM_UDP_PORT = 5005, 5006


@dataclass(frozen=True)
class Endpoint:
    """Address of a socket; `netns` None: the program's own namespace."""

    address: str
    netns: str | None = None

    def document(self) -> JsonObject:
        return {} if self.netns is None else {"netns": self.netns}


class Endpoints(Protocol):
    def receiver(self) -> Endpoint: ...

    def of_host(self, host: Host) -> Endpoint: ...

    def of_flow(self, flow: Flow) -> Endpoint: ...


def window_ports(plan: Plan) -> dict[int, int]:
    """Receive buffer of window-limited flows → port of its listener."""
    windows = sorted({f.window_bytes for f in plan.flows if f.window_bytes is not None})
    return {w: FIRST_WINDOW_TCP_PORT + i for i, w in enumerate(windows)}


def listeners(
    plan: Plan, endpoints: Endpoints, names: Mapping[str, str] = NO_NAMES
) -> list[JsonObject]:
    ports: dict[str, tuple[int, int | None]] = {
        "bulk": (BULK_TCP_PORT, None),
        "short": (SHORT_TCP_PORT, None),
        "closed": (CLOSED_TCP_PORT, None),
        **{f"window-{w}": (port, w) for w, port in window_ports(plan).items()},
    }
    receiver = endpoints.receiver()
    more: list[tuple[str, int, JsonObject]] = []
    if DCTCP in plan.congestion_controls("tcp"):
        control = names.get(DCTCP, DCTCP)
        more.append((DCTCP, DCTCP_PORT, {"congestion_control": control}))
    if plan.congestion_controls("quic"):
        more.append(("quic", QUIC_UDP_PORT, {"transport": "quic"}))
    if plan.datagrams:
        more.append(("udp", DATAGRAM_UDP_PORT, {"transport": "udp"}))
    return [
        {
            "name": name,
            **receiver.document(),
            "address": f"{receiver.address}:{port}",
            **({"receive_buffer_bytes": window} if window else {}),
        }
        for name, (port, window) in ports.items()
    ] + [
        {"name": name, **receiver.document(), "address": f"{receiver.address}:{port}", **keys}
        for name, port, keys in more
    ]


def spec(
    plan: Plan,
    endpoints: Endpoints,
    only: Host | None = None,
    names: Mapping[str, str] = NO_NAMES,
) -> JsonObject:
    """Returns the spec. `only`: this host's traffic. `names`: of controls renamed there."""
    own = [t for t in plan.transfers if only is None or t.host == only]
    users = [
        {
            **_source(endpoints, t, CLOSED_TCP_PORT, names),
            "users": t.users,
            "think_s": t.source.think,
        }
        for t in own
        if isinstance(t.source, ClosedLoop)
    ]
    datagrams = [_datagrams(endpoints, d) for d in plan.datagrams if only in (None, d.host)]
    return {
        "version": 1,
        "seed": plan.seed,
        "listeners": listeners(plan, endpoints, names) if only is None else [],
        "flows": [
            _flow(plan, endpoints, f, names) for f in plan.flows if only is None or f.host == only
        ],
        "poisson": [
            {**_source(endpoints, t, SHORT_TCP_PORT, names), "arrivals_per_s": t.arrivals_per_s}
            for t in own
            if not isinstance(t.source, ClosedLoop)
        ],
        **({"closed_loop": users} if users else {}),
        **({"datagrams": datagrams} if datagrams else {}),
    }


def _datagrams(endpoints: Endpoints, flow: DatagramFlow) -> JsonObject:
    at = endpoints.of_host(flow.host)
    return {
        "name": flow.name,
        **at.document(),
        "source": f"{at.address}:0",
        "destination": f"{endpoints.receiver().address}:{DATAGRAM_UDP_PORT}",
        "rate_bps": flow.rate_bps,
        "packet_bytes": flow.packet_bytes,
        "base_rtt_ms": 1e3 * flow.host.rtt_s,
        "start_s": flow.start_s,
        **({"stop_s": flow.stop_s} if flow.stop_s is not None else {}),
    }


def _carried(sender: Flow | OpenLoop | ClosedLoop, port: int, names: Mapping[str, str]) -> Carried:
    control = sender.congestion_control
    if sender.transport == "quic":
        return {"transport": "quic", "congestion_control": control}, QUIC_UDP_PORT
    port = DCTCP_PORT if control == DCTCP else port
    return {"congestion_control": names.get(control, control)}, port


def _flow(plan: Plan, endpoints: Endpoints, flow: Flow, names: Mapping[str, str]) -> JsonObject:
    at = endpoints.of_flow(flow)
    port = BULK_TCP_PORT if flow.window_bytes is None else window_ports(plan)[flow.window_bytes]
    carried, port = _carried(flow, port, names)
    return {
        "name": flow.name,
        "kind": flow.kind,
        **at.document(),
        "source": f"{at.address}:0",
        "destination": f"{endpoints.receiver().address}:{port}",
        "base_rtt_ms": 1e3 * flow.host.rtt_s,
        **carried,
        "start_s": flow.start_s,
        **({"stop_s": flow.stop_s} if flow.stop_s is not None else {}),
    }


def _source(
    endpoints: Endpoints, transfers: Transfers, port: int, names: Mapping[str, str]
) -> JsonObject:
    source = transfers.source
    carried, port = _carried(source, port, names)
    at = endpoints.of_host(transfers.host)
    return {
        "name": transfers.name,
        **at.document(),
        "source": f"{at.address}:0",
        "destination": f"{endpoints.receiver().address}:{port}",
        **carried,
        "size": as_traffic(source.size),
        "base_rtt_ms": 1e3 * transfers.host.rtt_s,
        "start_s": source.start,
        **({"stop_s": source.stop} if source.stop is not None else {}),
    }
