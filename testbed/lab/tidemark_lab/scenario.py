# SPDX-License-Identifier: Apache-2.0
"""What a run consists of: hosts, delays, capacity and flows. Pure data.

The switch adds the delay of the port that a frame leaves by, so the base
round-trip time of a sender is the delay of its own port (acknowledgements)
plus that of the receiver's port (data).
"""

from __future__ import annotations

import ipaddress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .experiment import as_scenario
from .json_types import JsonObject

NETWORK = ipaddress.ip_network("198.18.0.0/24")
# Hosts behind senders, /30 each.
ACCESS_NETWORK = ipaddress.ip_network("198.18.1.0/24")
# The report link is the only one that the root namespace sees.
COLLECTOR_ADDRESS = "198.18.255.1"
SWITCH_REPORT_ADDRESS = "198.18.255.2"
REPORT_PREFIX_LENGTH = 30
REPORT_UDP_PORT = 32766
# Of a full segment, with its Ethernet header.
FRAME_BYTES = 1514

BULK_TCP_PORT = 5001
SHORT_TCP_PORT = 5002
WINDOW_TCP_PORT = 5003


@dataclass(frozen=True)
class Host:
    """An end host: one namespace with one interface on a port of the switch."""

    name: str
    address: str
    mac: str
    port: int
    delay_ms: float


@dataclass(frozen=True)
class AccessHost:
    """Sends the remotely bottlenecked flows of a sender: a host behind it, whose
    packets the sender forwards through a slow, short queue.

    A shaper at the socket's own interface would not do: TCP small queues keep a
    sender from overrunning it, so nothing is ever lost and the window never
    shrinks. What is forwarded is out of the socket's sight, as on a real path.
    """

    name: str
    gateway: Host
    address: str
    gateway_address: str
    prefix_length: int = 30

    @property
    def network(self) -> str:
        interface = ipaddress.ip_interface(f"{self.address}/{self.prefix_length}")
        return str(interface.network)


def _said(name: str) -> Any:
    """What testbed/experiments/demo.toml says."""
    return as_scenario.values(as_scenario.named("demo"))[name]


def _demo(name: str) -> Any:
    return field(default_factory=lambda: _said(name))


@dataclass(frozen=True)
class Scenario:
    """What is not given is as in the demo; every number can be changed for other runs."""

    base_rtts_ms: tuple[float, ...] = _demo("base_rtts_ms")
    capacity_bps: int = _demo("capacity_bps")
    lbp_flows: int = _demo("lbp_flows")
    congestion_controls: tuple[str, ...] = _demo("congestion_controls")
    # Sender (from 0) of each remotely bottlenecked and window-limited flow.
    rbp_senders: tuple[int, ...] = _demo("rbp_senders")
    rbp_rate_bps: int = _demo("rbp_rate_bps")
    rbp_burst_bytes: int = _demo("rbp_burst_bytes")
    rbp_queue_bytes: int = _demo("rbp_queue_bytes")
    wl_senders: tuple[int, ...] = _demo("wl_senders")
    wl_receive_buffer_bytes: int = _demo("wl_receive_buffer_bytes")
    short_share: float = _demo("short_share")
    short_mean_bytes: int = _demo("short_mean_bytes")
    short_max_bytes: int = _demo("short_max_bytes")
    # Every flow asks for ECN, and the bottleneck marks where it would drop (RFC 3168).
    ecn: bool = False
    # The hosts' TCP leaves segmentation and checksums to their interfaces, as the kernel has it.
    offloads: bool = _demo("offloads")
    seed: int = 1
    node_id: int = 10
    # The traffic manager's own queue must be deeper than any limit.
    queue_depth_packets: int = 8192
    # All long flows have started after this long.
    start_spread_s: float = _demo("start_spread_s")
    targets: dict[str, float] = field(default_factory=lambda: _said("targets"))

    def __post_init__(self) -> None:
        if not self.base_rtts_ms or min(self.base_rtts_ms) <= 0:
            raise ValueError("base_rtts_ms: give at least one, each above 0")
        for name, senders in (("rbp_senders", self.rbp_senders), ("wl_senders", self.wl_senders)):
            if any(not 0 <= s < len(self.base_rtts_ms) for s in senders):
                raise ValueError(f"{name}: {senders} is not within the senders")
        if not 0 <= self.short_share < 1:
            raise ValueError("short_share: a fraction of the capacity, below 1")

    @property
    def receiver_delay_ms(self) -> float:
        """Half of the smallest round trip; the rest is on the senders' ports."""
        return min(self.base_rtts_ms) / 2

    @property
    def senders(self) -> list[Host]:
        return [
            Host(
                name=f"h{i + 1}",
                address=str(NETWORK[11 + i]),
                mac=f"02:74:6d:00:00:{i + 1:02x}",
                port=i + 1,
                delay_ms=rtt - self.receiver_delay_ms,
            )
            for i, rtt in enumerate(self.base_rtts_ms)
        ]

    @property
    def receiver(self) -> Host:
        port = len(self.base_rtts_ms) + 1
        return Host(
            name="rx",
            address=str(NETWORK[100]),
            mac=f"02:74:6d:00:00:{port:02x}",
            port=port,
            delay_ms=self.receiver_delay_ms,
        )

    @property
    def hosts(self) -> list[Host]:
        return [*self.senders, self.receiver]

    @property
    def access_hosts(self) -> list[AccessHost]:
        """One for each sender that has remotely bottlenecked flows."""
        return [
            AccessHost(
                name=f"h{i + 1}a",
                gateway=self.senders[i],
                address=str(ACCESS_NETWORK[4 * i + 2]),
                gateway_address=str(ACCESS_NETWORK[4 * i + 1]),
            )
            for i in sorted(set(self.rbp_senders))
        ]

    @property
    def report_port(self) -> int:
        return self.receiver.port + 1

    @property
    def bottleneck_port(self) -> int:
        return self.receiver.port

    @property
    def mean_rtt_ms(self) -> float:
        return sum(self.base_rtts_ms) / len(self.base_rtts_ms)

    @property
    def limit_action(self) -> str:
        """What happens to packets that meet the limit, as the switch calls it."""
        return "mark_ce" if self.ecn else "drop_tail"

    @property
    def bdp_limit_bytes(self) -> int:
        """C·T̄, the textbook's buffer."""
        return round(self.capacity_bps / 8 * self.mean_rtt_ms / 1000)

    def with_room(self) -> Scenario:
        """The same, the switch's own queue deep enough for limits of 4 C·T̄."""
        least = 8 * self.bdp_limit_bytes // FRAME_BYTES
        return replace(self, queue_depth_packets=max(self.queue_depth_packets, least))

    @property
    def max_limit_bytes(self) -> int:
        """The controller's: half of what the queue of the switch has room for."""
        return self.queue_depth_packets * FRAME_BYTES // 2

    def limit_of(self, acts_at_bytes: int) -> JsonObject:
        """A limit of the bottleneck that acts at so many bytes, as the controller's
        interface has it. Where it marks, that is the threshold, and the limit is above
        it by what all flows would add if they doubled at once: so a run shows how far
        marked flows overshoot by themselves; as far as the queue allows."""
        if self.ecn:
            wanted_bytes = 2 * acts_at_bytes + self.bdp_limit_bytes
            return {
                "action": self.limit_action,
                "threshold_bytes": min(acts_at_bytes, self.max_limit_bytes - FRAME_BYTES),
                "limit_bytes": min(wanted_bytes, self.max_limit_bytes),
            }
        return {"action": self.limit_action, "limit_bytes": acts_at_bytes}

    @property
    def limit(self) -> JsonObject:
        """The limit that a run starts with."""
        return self.limit_of(self.bdp_limit_bytes)

    def lbp_sender(self, index: int) -> int:
        return index % len(self.base_rtts_ms)

    def lbp_congestion_control(self, index: int) -> str:
        """Alternates along the senders and from one round of them to the next,
        so that every round-trip time sees every kind."""
        shift = index // len(self.base_rtts_ms)
        return self.congestion_controls[(index + shift) % len(self.congestion_controls)]

    def as_config(self) -> JsonObject:
        """For summary.json."""
        out = asdict(self)
        out["bdp_limit_bytes"] = self.bdp_limit_bytes
        out["mean_rtt_ms"] = self.mean_rtt_ms
        return out


def harmonic_mean(values: list[float]) -> float | None:
    """Tₑ of base round-trip times; None without flows."""
    if not values:
        return None
    return len(values) / sum(1 / v for v in values)
