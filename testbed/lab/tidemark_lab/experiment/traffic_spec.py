# SPDX-License-Identifier: Apache-2.0
"""The spec of tidemark-traffic for a plan. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..json_types import JsonObject
from .plan import Plan
from .senders import Flow, Host, Transfers
from .sizes import as_traffic
from .traffic import ClosedLoop

BULK_TCP_PORT, SHORT_TCP_PORT, CLOSED_TCP_PORT, FIRST_WINDOW_TCP_PORT = 5001, 5002, 5003, 5100


@dataclass(frozen=True)
class Endpoint:
    """Where a socket is; `netns` None: where the program runs."""

    address: str
    netns: str | None = None

    def document(self) -> JsonObject:
        return {} if self.netns is None else {"netns": self.netns}


class Endpoints(Protocol):
    def receiver(self) -> Endpoint: ...

    def of_host(self, host: Host) -> Endpoint: ...

    def of_flow(self, flow: Flow) -> Endpoint: ...


def window_ports(plan: Plan) -> dict[int, int]:
    """A listener for each receive buffer of window-limited flows."""
    windows = sorted({f.window_bytes for f in plan.flows if f.window_bytes is not None})
    return {w: FIRST_WINDOW_TCP_PORT + i for i, w in enumerate(windows)}


def listeners(plan: Plan, endpoints: Endpoints) -> list[JsonObject]:
    ports: dict[str, tuple[int, int | None]] = {
        "bulk": (BULK_TCP_PORT, None),
        "short": (SHORT_TCP_PORT, None),
        "closed": (CLOSED_TCP_PORT, None),
        **{f"window-{w}": (port, w) for w, port in window_ports(plan).items()},
    }
    receiver = endpoints.receiver()
    return [
        {
            "name": name,
            **receiver.document(),
            "address": f"{receiver.address}:{port}",
            **({"receive_buffer_bytes": window} if window else {}),
        }
        for name, (port, window) in ports.items()
    ]


def spec(plan: Plan, endpoints: Endpoints, only: Host | None = None) -> JsonObject:
    """`only`: what that host sends."""
    own = [t for t in plan.transfers if only is None or t.host == only]
    users = [
        {
            **_source(endpoints, t, CLOSED_TCP_PORT),
            "users": t.users,
            "think_s": t.source.think,
        }
        for t in own
        if isinstance(t.source, ClosedLoop)
    ]
    return {
        "version": 1,
        "seed": plan.seed,
        "listeners": listeners(plan, endpoints) if only is None else [],
        "flows": [_flow(plan, endpoints, f) for f in plan.flows if only is None or f.host == only],
        "poisson": [
            {**_source(endpoints, t, SHORT_TCP_PORT), "arrivals_per_s": t.arrivals_per_s}
            for t in own
            if not isinstance(t.source, ClosedLoop)
        ],
        **({"closed_loop": users} if users else {}),
    }


def _flow(plan: Plan, endpoints: Endpoints, flow: Flow) -> JsonObject:
    at = endpoints.of_flow(flow)
    port = BULK_TCP_PORT if flow.window_bytes is None else window_ports(plan)[flow.window_bytes]
    return {
        "name": flow.name,
        "kind": flow.kind,
        **at.document(),
        "source": f"{at.address}:0",
        "destination": f"{endpoints.receiver().address}:{port}",
        "base_rtt_ms": 1e3 * flow.host.rtt_s,
        "congestion_control": flow.congestion_control,
        "start_s": flow.start_s,
        **({"stop_s": flow.stop_s} if flow.stop_s is not None else {}),
    }


def _source(endpoints: Endpoints, transfers: Transfers, port: int) -> JsonObject:
    source = transfers.source
    at = endpoints.of_host(transfers.host)
    return {
        "name": transfers.name,
        **at.document(),
        "source": f"{at.address}:0",
        "destination": f"{endpoints.receiver().address}:{port}",
        "congestion_control": source.congestion_control,
        "size": as_traffic(source.size),
        "base_rtt_ms": 1e3 * transfers.host.rtt_s,
        "start_s": source.start,
        **({"stop_s": source.stop} if source.stop is not None else {}),
    }
