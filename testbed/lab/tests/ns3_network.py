# SPDX-License-Identifier: Apache-2.0
"""Traffic for tests of the scenario in testbed/ns3."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from tidemark_lab.experiment.ns3_scenario import line, tcp_record
from tidemark_lab.experiment.sizes import SEGMENT_BYTES
from tidemark_lab.json_types import JsonObject

PACKET_BITS = 12_000
PACKET_BYTES = 1500
# Long flows start within this time.
SPREAD_S = 3.0
RBP_QUEUE_PACKETS = 4
# Congestion control of short flows and of flows that are not bottlenecked.
OTHERS = "LinuxReno"
UDP_TUPLES = 20
SHORT_MEAN_PACKETS = 14.0
# Beyond any threshold: with marks, the size of the queue itself.
MARKING_ROOM_PACKETS = 4000


@dataclass(frozen=True)
class Network:
    """The flows over the bottleneck."""

    capacity_bps: float
    rtts_s: tuple[float, ...]
    # Number of bottlenecked flows by congestion control, in ns-3's names.
    lbp: dict[str, int] = field(default_factory=dict)
    ecn: bool = False
    rbp: int = 0
    rbp_bps: float = 100e3
    wl: int = 0
    wl_bps: float = 200e3
    short_share: float = 0.0
    udp_share: float = 0.0

    @property
    def n_b(self) -> int:
        return sum(self.lbp.values())

    def flows(self, seconds: float, seed: int) -> list[JsonObject]:
        """Returns every flow of a run, numbered from 0."""
        rng = np.random.default_rng(seed)
        ids = count()
        return [*self._long(rng, ids), *self._udp(ids), *self._short(rng, ids, seconds)]

    def _long(self, rng: np.random.Generator, ids: Any) -> list[JsonObject]:
        controls = [cc for cc, flows in self.lbp.items() for _ in range(flows)]
        # Every congestion control is used with every round trip.
        controls = [str(cc) for cc in np.random.default_rng(len(controls)).permutation(controls)]
        out = []
        for kind, number in (("lbp", self.n_b), ("rbp", self.rbp), ("wl", self.wl)):
            for i in range(number):
                rtt = self.rtts_s[i * len(self.rtts_s) // number]
                window = max(1, round(self.wl_bps * rtt / PACKET_BITS)) if kind == "wl" else 0
                out.append(
                    tcp_record(
                        next(ids),
                        kind,
                        controls[i] if kind == "lbp" else OTHERS,
                        rtt,
                        float(rng.uniform(0, SPREAD_S)),
                        ecn=int(self.ecn),
                        window_packets=window,
                        access_bps=self.rbp_bps if kind == "rbp" else 0,
                        access_packets=RBP_QUEUE_PACKETS if kind == "rbp" else 0,
                    )
                )
        return out

    def _udp(self, ids: Any) -> list[JsonObject]:
        if not self.udp_share:
            return []
        return [
            {
                "record": "udp",
                "id": next(ids),
                "kind": "udp",
                "rtt_s": self.rtts_s[0],
                "start_s": 0,
                "stop_s": 0,
                "rate_bps": self.udp_share * self.capacity_bps / UDP_TUPLES,
                "ip_bytes": PACKET_BYTES,
            }
            for _ in range(UDP_TUPLES)
        ]

    def _short(self, rng: np.random.Generator, ids: Any, seconds: float) -> list[JsonObject]:
        if not self.short_share:
            return []
        per_s = self.short_share * self.capacity_bps / PACKET_BITS / SHORT_MEAN_PACKETS
        starts = np.cumsum(rng.exponential(1 / per_s, round(2 * per_s * seconds) + 20))
        return [
            tcp_record(
                next(ids),
                "short",
                OTHERS,
                float(rng.choice(self.rtts_s)),
                float(start),
                ecn=int(self.ecn),
                bytes=max(1, round(rng.exponential(SHORT_MEAN_PACKETS))) * SEGMENT_BYTES,
            )
            for start in starts[starts < seconds]
        ]


def scenario_text(
    network: Network, limit_packets: int, seconds: float, warmup_s: float, seed: int
) -> str:
    """Returns the scenario file. With ECN the limit is the threshold: from there on packets are
    marked, or refused if they cannot be, as by the P4 program's `mark_ce`; far above it, all are
    refused."""
    mark = limit_packets if network.ecn else 0
    drop = MARKING_ROOM_PACKETS if network.ecn else limit_packets
    records = [
        {
            "record": "link",
            "capacity_bps": network.capacity_bps,
            "limit_packets": drop,
            "mark_packets": mark,
        },
        {
            "record": "run",
            "seconds": seconds,
            "warmup_s": warmup_s,
            "seed": seed,
            "jitter_packets": 1,
        },
        *network.flows(seconds, seed),
    ]
    return "".join(line(r) for r in records)
