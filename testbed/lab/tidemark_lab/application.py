# SPDX-License-Identifier: Apache-2.0
"""A phase as applications see it: measured transfers, and models of a page load and a call. Pure.

Sources, assumptions and limits: docs/how-to/experiments.md. Unknown is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .json_types import JsonObject
from .trial.outcome import quantile

# Name, fraction, and least number of transfers: with fewer, none is expected above the percentile.
PERCENTILES = (("p50", 0.5, 2), ("p95", 0.95, 20), ("p99", 0.99, 100))

# Medians of desktop pages, HTTP Archive, October 2024 (Web Almanac 2024, Page Weight): 2652 KB.
PAGE_BYTES = 2652 * 1024
PAGE_OBJECTS = 71
# Connections to one host at a time with HTTP/1.1: default of Chrome, Firefox and Safari.
PAGE_CONNECTIONS = 6
# A transfer counts as like a page's object if its size is within this factor of the mean object's.
SIZE_FACTOR = 2.0
# Fewer transfers like a page's objects than this give no mean.
LEAST_TRANSFERS = 20

# G.107 with all its default values (clause 7.7), before delay and loss.
R_DEFAULT = 93.2
# G.113 Appendix I: G.711 with concealment of lost packets by its own Appendix I.
G711_IE = 0.0
G711_BPL = 25.1
# Burst ratio of random loss (G.107 clause 7.5): losses are independent.
RANDOM_BURST_R = 1.0
# Audio per packet: the default of RFC 3551, 4.2. The sender waits until a packet is full.
VOICE_PACKET_MS = 20.0
# Fraction of packets that arrive too late for each delay that the playout buffer may be set to.
PLAYOUT_LATE = {"max": 0.0, "p99": 0.01}


@dataclass(frozen=True)
class Transfers:
    """Short flows of a phase that began and ended in it."""

    size_bytes: list[int]
    # Time from connect to the receiver's close, per transfer.
    completion_ms: list[float]
    # Transfers that began in the phase but did not end in it.
    not_completed: int


def view(
    transfers: Transfers | None,
    base_rtt_ms: float | None,
    delay_ms: JsonObject,
    loss_rate: float | None,
) -> JsonObject:
    """Returns `application` of a phase in summary.json. `transfers` is None while they are unknown;
    `delay_ms` has quantiles of the queueing delay."""
    return {
        "transfers": completion(transfers),
        "page": page(transfers),
        "voice": voice(base_rtt_ms, delay_ms, loss_rate),
    }


def completion(transfers: Transfers | None) -> JsonObject:
    """Returns the transfers' number and mean size, and percentiles of their completion time."""
    if transfers is None:
        return {
            **dict.fromkeys(("completed", "not_completed", "mean_bytes")),
            "completion_ms": {name: None for name, _, _ in PERCENTILES},
        }
    sizes, times = transfers.size_bytes, transfers.completion_ms
    return {
        "completed": len(times),
        "not_completed": transfers.not_completed,
        "mean_bytes": float(np.mean(sizes)) if sizes else None,
        "completion_ms": {
            name: quantile(times, fraction) if len(times) >= least else None
            for name, fraction, least in PERCENTILES
        },
    }


def page(transfers: Transfers | None) -> JsonObject:
    """Models the median page's load from the mean completion time of transfers of similar size."""
    known = transfers or Transfers([], [], 0)
    object_bytes = PAGE_BYTES / PAGE_OBJECTS
    times = [
        time
        for size, time in zip(known.size_bytes, known.completion_ms, strict=True)
        if object_bytes / SIZE_FACTOR <= size <= object_bytes * SIZE_FACTOR
    ]
    enough = len(times) >= LEAST_TRANSFERS
    object_ms = float(np.mean(times)) if enough else None
    return {
        "like_objects": None if transfers is None else len(times),
        "object_ms": object_ms,
        "load_ms": None if object_ms is None else page_load_ms(object_ms),
    }


def page_load_ms(
    object_ms: float, objects: int = PAGE_OBJECTS, connections: int = PAGE_CONNECTIONS
) -> float:
    """Kurose and Ross, Computer Networking, chapter 3 (TCP delay modeling), non-persistent HTTP
    with X parallel connections: the base object, then M others in M/X rounds. A measured object
    time stands for a round (2 RTT, transmission, slow start's stalls)."""
    return (1 + (objects - 1) / connections) * object_ms


def voice(base_rtt_ms: float | None, delay_ms: JsonObject, loss_rate: float | None) -> JsonObject:
    """Models a G.711 call with the E-model. The playout buffer is set to the largest queueing delay
    or to its 99th percentile, beyond which packets are lost, whichever rates higher."""
    calls: list[JsonObject] = []
    if base_rtt_ms is not None and loss_rate is not None:
        for playout, late in PLAYOUT_LATE.items():
            if (queueing_ms := delay_ms.get(playout)) is not None:
                mouth_to_ear_ms = VOICE_PACKET_MS + base_rtt_ms / 2 + queueing_ms
                lost = loss_rate + (1 - loss_rate) * late
                r = rating(mouth_to_ear_ms, lost)
                calls.append(
                    {
                        "playout": playout,
                        "mouth_to_ear_ms": mouth_to_ear_ms,
                        "loss_rate": lost,
                        "r": r,
                        "mos": mos(r),
                    }
                )
    unknown = dict.fromkeys(("playout", "mouth_to_ear_ms", "loss_rate", "r", "mos"))
    return max(calls, key=lambda call: float(call["r"]), default=unknown)


def rating(mouth_to_ear_ms: float, loss_rate: float) -> float:
    """R of ITU-T G.107, equation 7-1, with default values for all but delay and loss."""
    return R_DEFAULT - delay_impairment(mouth_to_ear_ms) - loss_impairment(loss_rate)


def delay_impairment(mouth_to_ear_ms: float) -> float:
    """Id of G.107 without echo, in the simplified form of Cole and Rosenbluth (Voice over IP
    Performance Monitoring, ACM CCR 31(2), 2001)."""
    return 0.024 * mouth_to_ear_ms + 0.11 * max(0.0, mouth_to_ear_ms - 177.3)


def loss_impairment(
    loss_rate: float,
    ie: float = G711_IE,
    bpl: float = G711_BPL,
    burst_r: float = RANDOM_BURST_R,
) -> float:
    """Ie,eff of G.107, clause 7.5, where loss is a percentage."""
    loss_percent = 100 * loss_rate
    return ie + (95 - ie) * loss_percent / (loss_percent / burst_r + bpl)


def mos(r: float) -> float:
    """MOS of a conversation, G.107 Annex B. Its cubic is below 1, the scale's end, to R = 6.5."""
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    return max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)
