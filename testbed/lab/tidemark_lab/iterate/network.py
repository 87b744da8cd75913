# SPDX-License-Identifier: Apache-2.0
"""The flows of a simulated traffic, as the scenario in testbed/ns3 reads them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from ..json_types import JsonObject

PACKET_BITS = 12_000
PACKET_BYTES = 1500
SEGMENT_BYTES = 1448
# Long flows start within this time.
SPREAD_S = 3.0
RBP_QUEUE_PACKETS = 4
# Shape of heavy-tailed sizes: a finite mean, and no variance.
PARETO_SHAPE = 1.5
# BSCL §VII: 18 round trips whose harmonic mean is about 60 ms, s. The short ones come first.
# fmt: off
BSCL_RTTS_S = (
    0.020, 0.022, 0.024, 0.027, 0.031, 0.037, 0.050, 0.092, 0.145,
    0.205, 0.260, 0.305, 0.350, 0.395, 0.440, 0.475, 0.498, 0.530,
)
# fmt: on
# Beyond any threshold: with marks, this is where the queue itself ends.
MARKING_ROOM_PACKETS = 4000


@dataclass(frozen=True)
class Network:
    """Who sends what over the bottleneck."""

    capacity_bps: float = 50e6
    rtts_s: tuple[float, ...] = BSCL_RTTS_S
    # How many bottlenecked flows of each congestion control, by ns-3's name.
    lbp: dict[str, int] = field(default_factory=dict)
    # Of the flows that are not bottlenecked, and of short ones.
    other_cc: str = "LinuxReno"
    ecn: bool = False
    rbp: int = 0
    rbp_bps: float = 100e3
    wl: int = 0
    wl_bps: float = 200e3
    short_share: float = 0.0
    short_mean_packets: float = 14.0
    heavy_tailed: bool = False
    udp_share: float = 0.0
    udp_tuples: int = 20

    @property
    def mean_rtt_s(self) -> float:
        """Of the bottlenecked flows; of all round trips where there are none."""
        rtts = [f["rtt_s"] for f in self._long(np.random.default_rng(1), count())]
        return float(np.mean(rtts[: self.n_b] or self.rtts_s))

    @property
    def n_b(self) -> int:
        return sum(self.lbp.values())

    def flows(self, seconds: float, seed: int) -> list[JsonObject]:
        """Every flow of a run, numbered from 0."""
        rng = np.random.default_rng(seed)
        ids = count()
        return [*self._long(rng, ids), *self._udp(ids), *self._short(rng, ids, seconds)]

    def _long(self, rng: np.random.Generator, ids: Any) -> list[JsonObject]:
        controls = [cc for cc, flows in self.lbp.items() for _ in range(flows)]
        # Every round trip sees every congestion control.
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
                        controls[i] if kind == "lbp" else self.other_cc,
                        rtt,
                        float(rng.uniform(0, SPREAD_S)),
                        ecn=self.ecn,
                        window_packets=window,
                        access_bps=self.rbp_bps if kind == "rbp" else 0,
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
                "rate_bps": self.udp_share * self.capacity_bps / self.udp_tuples,
                "ip_bytes": PACKET_BYTES,
            }
            for _ in range(self.udp_tuples)
        ]

    def _short(self, rng: np.random.Generator, ids: Any, seconds: float) -> list[JsonObject]:
        if not self.short_share:
            return []
        per_s = self.short_share * self.capacity_bps / PACKET_BITS / self.short_mean_packets
        starts = np.cumsum(rng.exponential(1 / per_s, round(2 * per_s * seconds) + 20))
        return [
            tcp_record(
                next(ids),
                "short",
                self.other_cc,
                float(rng.choice(self.rtts_s)),
                float(start),
                ecn=self.ecn,
                size_bytes=self._size(rng) * SEGMENT_BYTES,
            )
            for start in starts[starts < seconds]
        ]

    def _size(self, rng: np.random.Generator) -> int:
        """Packets of a short flow, at least 1."""
        mean = self.short_mean_packets
        if self.heavy_tailed:
            least = mean * (PARETO_SHAPE - 1) / PARETO_SHAPE
            return max(1, round(least * (1 + rng.pareto(PARETO_SHAPE))))
        return max(1, round(rng.exponential(mean)))


def tcp_record(
    number: int,
    kind: str,
    cc: str,
    rtt_s: float,
    start_s: float,
    *,
    ecn: bool,
    size_bytes: int = 0,
    window_packets: int = 0,
    access_bps: float = 0,
) -> JsonObject:
    return {
        "record": "tcp",
        "id": number,
        "kind": kind,
        "cc": cc,
        "rtt_s": rtt_s,
        "start_s": start_s,
        "stop_s": 0,
        "bytes": size_bytes,
        "window_packets": window_packets,
        "ecn": int(ecn),
        "access_bps": access_bps,
        "access_packets": RBP_QUEUE_PACKETS if access_bps else 0,
    }


def scenario_text(
    network: Network,
    limit_packets: int,
    seconds: float,
    warmup_s: float,
    seed: int,
    above_packets: int | None = None,
) -> str:
    """The scenario file. With ECN the limit is the threshold: packets are marked from there
    on, and refused where they cannot be, as the P4 program's `mark_ce` does; all are refused
    at `above_packets` (None: far above)."""
    mark = limit_packets if network.ecn else 0
    drop = limit_packets
    if network.ecn:
        drop = above_packets or max(MARKING_ROOM_PACKETS, 2 * limit_packets)
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


def line(record: JsonObject) -> str:
    fields = (f"{k}={v:.9g}" if isinstance(v, float) else f"{k}={v}" for k, v in record.items())
    return " ".join([record["record"], *list(fields)[1:]]) + "\n"
