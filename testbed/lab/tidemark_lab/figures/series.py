# SPDX-License-Identifier: Apache-2.0
"""Curves of the figures, computed from arrays. Pure; sizes in packets, times in s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .data import Packets, Sender
from .source import Span

# Points per phase: a figure is too narrow to show more.
INSTANTS = 600
# Assumed round trip if no sender reports one.
UNKNOWN_RTT_S = 0.1


@dataclass(frozen=True)
class Occupancy:
    """Queue occupancy in equal intervals of a phase that have arrivals."""

    time_s: np.ndarray
    low: np.ndarray
    median: np.ndarray
    high: np.ndarray
    drops: np.ndarray


def occupancy(p: Packets) -> Occupancy:
    edges = np.linspace(0, p.span.seconds, INSTANTS + 1)
    cut = np.searchsorted(p.time_s, edges)
    queue = p.queue_bytes / p.packet_bytes
    rows = [
        (
            (edges[i] + edges[i + 1]) / 2,
            part.min(),
            np.median(part),
            part.max(),
            int(p.dropped[cut[i] : cut[i + 1]].sum()),
        )
        for i in range(INSTANTS)
        if (part := queue[cut[i] : cut[i + 1]]).size
    ]
    return Occupancy(*(np.array(column) for column in zip(*rows, strict=True)))


def bdp(p: Packets, capacity_bps: float | None) -> float | None:
    """C·T̄ over the senders that report a round trip."""
    rtt_s = mean_rtt_s(p.senders)
    if capacity_bps is None or rtt_s is None:
        return None
    return capacity_bps / 8 * rtt_s / p.packet_wire_bytes


def mean_rtt_s(senders: Sequence[Sender]) -> float | None:
    known = [s.base_rtt_s for s in senders if np.isfinite(s.base_rtt_s)]
    return float(np.mean(known)) if known else None


def instants(p: Packets) -> np.ndarray:
    step = p.span.seconds / INSTANTS
    return (np.arange(INSTANTS) + 0.5) * step


def samples_in(sender: Sender, span: Span) -> int:
    """Number of samples of a sender in a phase."""
    return int(((sender.time_s >= 0) & (sender.time_s < span.seconds)).sum())


def window(sender: Sender, at: np.ndarray) -> np.ndarray:
    """Congestion window of a sender at these times; NaN outside its samples."""
    found = np.full(at.shape, np.nan)
    there = (at >= sender.time_s[0]) & (at <= sender.time_s[-1])
    found[there] = sender.cwnd[_last(sender, at[there])]
    return found


def _last(sender: Sender, at: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.searchsorted(sender.time_s, at, side="right") - 1
    return found


def windows_sum(p: Packets, at: np.ndarray) -> np.ndarray:
    """W(t), packets sent but not acknowledged (UTB §3), computed like the controller
    (`flow_windows/query.rs`): per sender the unacknowledged packets, at most its congestion window.
    Packets lost or selectively acknowledged are no longer in flight; a recovering sender keeps its
    window at the packets in flight (PRR, RFC 6937)."""
    total = np.zeros(at.shape)
    for sender in p.senders:
        there = (at >= sender.time_s[0]) & (at <= sender.time_s[-1])
        last = _last(sender, at[there])
        in_flight = sender.in_flight_bytes[last] / p.payload_bytes
        total[there] += np.minimum(sender.cwnd[last], in_flight)
    return total


def busy_pipe(p: Packets, capacity_bps: float | None) -> float | None:
    """Packets in flight while the link is busy: C times the senders' round trips, weighted by their
    share of the bytes that left. Equals the BDP for a single round trip. None if capacity or
    windows are unknown."""
    left = ~p.dropped
    total = float(p.wire_bytes[left].sum())
    known = [s for s in p.senders if np.isfinite(s.base_rtt_s)]
    if capacity_bps is None or not known or not total:
        return None
    shares = [float(p.wire_bytes[left & (p.flow == s.flow)].sum()) / total for s in known]
    rtt_s = sum(share * s.base_rtt_s for share, s in zip(shares, known, strict=True))
    return capacity_bps / 8 * rtt_s / p.packet_wire_bytes


def queue_at(p: Packets, at: np.ndarray) -> np.ndarray:
    """The queue met by the last packet before each time; NaN before the first packet."""
    last = np.searchsorted(p.time_s, at, side="right") - 1
    found = p.queue_bytes[np.maximum(last, 0)] / p.packet_bytes
    return np.where(last < 0, np.nan, found)


def histogram(p: Packets) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers of packets, and the share of arrivals that met each."""
    queue = p.queue_bytes / p.packet_bytes
    edges = np.arange(0, np.ceil(queue.max()) + 2)
    counts, _ = np.histogram(queue, bins=edges)
    return edges[:-1], counts / queue.size


def losers(p: Packets, rtt_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Round trips with a drop: their start times, and the number of flows that lose in each."""
    part = (p.time_s[p.dropped] / rtt_s).astype(int)
    pairs = np.unique(np.column_stack((part, p.flow[p.dropped])), axis=0)
    number, count = np.unique(pairs[:, 0], return_counts=True)
    return number * rtt_s, count
