# SPDX-License-Identifier: Apache-2.0
"""Packets and senders' windows of a port in a phase, as arrays; times are s from its start."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .source import Port, Span, in_port

# `limit_bytes` of an unlimited queue.
UNLIMITED = 2**32 - 1
POSTCARDS = (
    *("ingress_ns", "egress_ns", "flow_id", "occupancy_bytes", "limit_bytes"),
    *("ip_bytes", "wire_overhead_bytes", "payload_bytes", "dropped"),
)
SAMPLES = ("time_ns", "flow_id", "cwnd_segments", "snd_nxt", "snd_una", "base_rtt_us")
# Sequence numbers wrap at this value.
SEQUENCE = 1 << 32


@dataclass(frozen=True)
class Sender:
    """Samples of one sender, from the whole capture."""

    flow: int
    time_s: np.ndarray
    cwnd: np.ndarray
    # Bytes sent but not acknowledged.
    in_flight_bytes: np.ndarray
    base_rtt_s: float


@dataclass(frozen=True)
class Packets:
    """Packets in the order of their arrival; sizes in bytes."""

    span: Span
    time_s: np.ndarray
    flow: np.ndarray
    queue_bytes: np.ndarray
    # Queueing delay; NaN for dropped packets.
    delay_ms: np.ndarray
    # NaN if the queue is unlimited.
    limit_bytes: np.ndarray
    wire_bytes: np.ndarray
    dropped: np.ndarray
    # Sizes of a full packet: in the queue, on the wire, and its payload.
    packet_bytes: float
    packet_wire_bytes: float
    payload_bytes: float
    senders: list[Sender] = field(default_factory=list)

    @property
    def buffer(self) -> float | None:
        """The limit in packets: its median in the phase; None if it never acts."""
        if self.span.managed:
            return None
        known = self.limit_bytes[~np.isnan(self.limit_bytes)]
        return float(np.median(known)) / self.packet_bytes if known.size else None


def read(port: Port, span: Span) -> Packets | None:
    """Reads a phase's packets; None if there are none."""
    table = pq.read_table(
        sorted(port.capture.glob("postcards-*.parquet")),
        columns=list(POSTCARDS),
        filters=in_port(port)
        & (pc.field("ingress_ns") >= span.start_ns)
        & (pc.field("ingress_ns") < span.end_ns),
    ).sort_by("ingress_ns")
    if table.num_rows == 0:
        return None
    ip_bytes = table["ip_bytes"].to_numpy().astype(float)
    overhead = table["wire_overhead_bytes"].to_numpy().astype(float)
    limit = table["limit_bytes"].to_numpy().astype(float)
    limit[(limit <= 0) | (limit >= UNLIMITED)] = np.nan
    dropped = table["dropped"].to_numpy(zero_copy_only=False)
    time_s = _seconds(table["ingress_ns"], span)
    left_s = _seconds(pc.fill_null(table["egress_ns"], 0), span)
    largest = int(np.argmax(ip_bytes))
    return Packets(
        span=span,
        time_s=time_s,
        flow=table["flow_id"].to_numpy(),
        queue_bytes=table["occupancy_bytes"].to_numpy().astype(float),
        delay_ms=np.where(dropped, np.nan, 1e3 * (left_s - time_s)),
        limit_bytes=limit,
        wire_bytes=ip_bytes + overhead,
        dropped=dropped,
        packet_bytes=float(ip_bytes[largest]) + port.queue_overhead_bytes,
        packet_wire_bytes=float(ip_bytes[largest] + overhead[largest]),
        payload_bytes=float(table["payload_bytes"][largest].as_py()),
        senders=_senders(port, span),
    )


def _seconds(column: object, span: Span) -> np.ndarray:
    at: np.ndarray = column.to_numpy().astype(np.int64)  # type: ignore[attr-defined]
    return (at - span.start_ns) / 1e9


def _senders(port: Port, span: Span) -> list[Sender]:
    """Returns the senders with a sample in the phase."""
    files = sorted(port.capture.glob("tcp_probe-*.parquet"))
    if not files:
        return []
    table = pq.read_table(files, columns=list(SAMPLES), filters=in_port(port)).sort_by(
        [("flow_id", "ascending"), ("time_ns", "ascending")]
    )
    flow = table["flow_id"].to_numpy()
    time_s = _seconds(table["time_ns"], span)
    cwnd = table["cwnd_segments"].to_numpy().astype(float)
    sent = table["snd_nxt"].to_numpy().astype(np.int64)
    in_flight = (sent - table["snd_una"].to_numpy().astype(np.int64)) % SEQUENCE
    base = pc.fill_null(table["base_rtt_us"], 0).to_numpy().astype(float) / 1e6
    out = []
    begins = [int(b) for b in np.flatnonzero(np.diff(flow, prepend=flow[:1] + 1))]
    for begin, end in zip(begins, [*begins[1:], flow.size], strict=True):
        own = slice(begin, end)
        at = time_s[own]
        if not ((at >= 0) & (at < span.seconds)).any():
            continue
        known = base[own][base[own] > 0]
        middle = float(np.median(known)) if known.size else float("nan")
        out.append(Sender(int(flow[begin]), at, cwnd[own], in_flight[own].astype(float), middle))
    return out
