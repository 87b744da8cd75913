# SPDX-License-Identifier: Apache-2.0
"""The spec of tidemark-traffic for a scenario, and reading its truth."""

from __future__ import annotations

import json
from pathlib import Path

from .json_types import JsonObject
from .scenario import (
    BULK_TCP_PORT,
    SHORT_TCP_PORT,
    WINDOW_TCP_PORT,
    AccessHost,
    Host,
    Scenario,
    harmonic_mean,
)


def make_spec(scenario: Scenario, namespace_of: dict[str, str]) -> JsonObject:
    """`namespace_of`: host name to network namespace."""
    receiver = scenario.receiver
    flows = []

    behind = {a.gateway.name: a for a in scenario.access_hosts}

    def add(name: str, kind: str, sender: int, port: int, **more: object) -> None:
        host: Host | AccessHost = scenario.senders[sender]
        if kind == "rbp":
            host = behind[host.name]
        flows.append(
            {
                "name": name,
                "kind": kind,
                **_from_to(host, receiver, port, namespace_of),
                "base_rtt_ms": scenario.base_rtts_ms[sender],
                **more,
            }
        )

    for i in range(scenario.lbp_flows):
        add(
            f"lbp-{i + 1}",
            "lbp",
            scenario.lbp_sender(i),
            BULK_TCP_PORT,
            congestion_control=scenario.lbp_congestion_control(i),
            start_s=_spread(i, scenario.lbp_flows, scenario.start_spread_s),
        )
    for i, sender in enumerate(scenario.rbp_senders):
        add(
            f"rbp-{i + 1}",
            "rbp",
            sender,
            BULK_TCP_PORT,
            congestion_control=scenario.congestion_controls[i % len(scenario.congestion_controls)],
            start_s=_spread(i, len(scenario.rbp_senders), scenario.start_spread_s),
        )
    for i, sender in enumerate(scenario.wl_senders):
        add(
            f"wl-{i + 1}",
            "wl",
            sender,
            WINDOW_TCP_PORT,
            congestion_control="cubic",
            start_s=_spread(i, len(scenario.wl_senders), scenario.start_spread_s),
        )
    return {
        "version": 1,
        "seed": scenario.seed,
        "listeners": [
            _listener("bulk", BULK_TCP_PORT, receiver, namespace_of),
            _listener("short", SHORT_TCP_PORT, receiver, namespace_of),
            {
                **_listener("window", WINDOW_TCP_PORT, receiver, namespace_of),
                "receive_buffer_bytes": scenario.wl_receive_buffer_bytes,
            },
        ],
        "flows": flows,
        "poisson": [
            {
                "name": f"short-{host.name}",
                **_from_to(host, receiver, SHORT_TCP_PORT, namespace_of),
                "congestion_control": "cubic",
                "arrivals_per_s": short_arrivals_per_s(scenario) / len(scenario.senders),
                "size": {
                    "distribution": "exponential",
                    "mean_bytes": scenario.short_mean_bytes,
                    "max_bytes": scenario.short_max_bytes,
                },
                "base_rtt_ms": rtt,
            }
            for host, rtt in zip(scenario.senders, scenario.base_rtts_ms, strict=True)
            if scenario.short_share > 0
        ],
    }


def short_arrivals_per_s(scenario: Scenario) -> float:
    """Rate at which short flows of the mean size make up their share."""
    return scenario.short_share * scenario.capacity_bps / 8 / scenario.short_mean_bytes


def _from_to(
    host: Host | AccessHost, receiver: Host, port: int, namespace_of: dict[str, str]
) -> JsonObject:
    return {
        "netns": namespace_of[host.name],
        "source": f"{host.address}:0",
        "destination": f"{receiver.address}:{port}",
    }


def _listener(name: str, port: int, receiver: Host, namespace_of: dict[str, str]) -> JsonObject:
    return {
        "name": name,
        "netns": namespace_of[receiver.name],
        "address": f"{receiver.address}:{port}",
    }


def _spread(index: int, count: int, seconds: float) -> float:
    return round(index * seconds / max(count, 1), 3)


# Of a time, at either end. Where a phase is to end as its flows do, one is late by milliseconds.
MOST_MISSING = 0.01


class Truth:
    """What tidemark-traffic wrote."""

    def __init__(self, document: JsonObject):
        self.document = document
        self.flows: list[JsonObject] = document["flows"]

    @classmethod
    def read(cls, path: Path) -> Truth:
        return cls(json.loads(path.read_text()))

    def during(self, kind: str, start_unix_ns: int, end_unix_ns: int) -> list[JsonObject]:
        """Flows of a kind that were there from start to end, but for MOST_MISSING."""
        missing_ns = MOST_MISSING * (end_unix_ns - start_unix_ns)
        return [
            f
            for f in self.flows
            if f["kind"] == kind
            and f["error"] is None
            and f["start"]["unix_ns"] <= start_unix_ns + missing_ns
            and f["stop"]["unix_ns"] >= end_unix_ns - missing_ns
        ]

    def phase(self, start_unix_ns: int, end_unix_ns: int) -> JsonObject:
        """N_b and Tₑ of a time, and how many flows of the other kinds there were."""
        lbp = self.during("lbp", start_unix_ns, end_unix_ns)
        t_e = harmonic_mean([f["base_rtt_ms"] for f in lbp if f["base_rtt_ms"]])
        shorts = [
            f
            for f in self.flows
            if f["kind"] == "short"
            and f["start"]["unix_ns"] < end_unix_ns
            and f["stop"]["unix_ns"] > start_unix_ns
        ]
        return {
            "n_b": len(lbp),
            "t_e_ms": t_e,
            "rbp": len(self.during("rbp", start_unix_ns, end_unix_ns)),
            "wl": len(self.during("wl", start_unix_ns, end_unix_ns)),
            "short": len(shorts),
        }


def planned_truth(spec: JsonObject) -> JsonObject:
    """The same from the spec, for a run whose traffic has not ended yet."""
    lbp = [f for f in spec["flows"] if f["kind"] == "lbp"]
    return {
        "n_b": len(lbp),
        "t_e_ms": harmonic_mean([f["base_rtt_ms"] for f in lbp]),
        "rbp": sum(f["kind"] == "rbp" for f in spec["flows"]),
        "wl": sum(f["kind"] == "wl" for f in spec["flows"]),
    }
