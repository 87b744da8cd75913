# SPDX-License-Identifier: Apache-2.0
"""Telemetry reports 2.0 as the P4 program sends them, true or forged."""

from __future__ import annotations

import hmac
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

NODE, PORT = 10, 1
MTU_BYTES = 1500
_FIXED = struct.Struct(">IIIII")


def packet(flow: int, tcp_seq: int) -> bytes:
    """IPv4 and TCP headers of a flow: five-tuples differ in both addresses and ports."""
    source, destination = 0x0A000000 | flow & 0xFFFFFF, 0x0B000000 | flow >> 24 & 0xFFFFFF
    ip = struct.pack(">BBHIBBHII", 0x45, 0, MTU_BYTES, 0, 63, 6, 0, source, destination)
    return ip + struct.pack(">HHIIBBHI", 40_000, 5001, tcp_seq & 0xFFFFFFFF, 0, 0x50, 0x10, 0, 0)


def individual(port: int, ingress_ns: int, delay_ns: int, inner: bytes) -> bytes:
    """One individual report of a packet that left."""
    metadata = struct.pack(
        ">IIQQII", 2 << 16 | port, 3028, ingress_ns, ingress_ns + delay_ns, 75_700, 0
    )
    words = len(metadata) // 4
    length = 0x14 << 24 | (2 + words + len(inner) // 4) << 16 | words << 8 | 0x20
    return struct.pack(">III", length, 0x5C00 << 16 | 0x544D, 0xC000 << 16) + metadata + inner


def tagged(payload: bytes, key: bytes) -> bytes:
    """With the tag of docs/reference/reports.md."""
    payload += bytes.fromhex("100604000000544d20000000")
    return payload + hmac.digest(key, payload, "sha256")[:16]


class Exporter:
    """Sends reports of one node from an address of its own."""

    # What its reports are tagged with.
    key: bytes | None = None

    def __init__(self, to_port: int, source: str = "127.0.0.1", node: int = NODE, hw_id: int = 0):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", to_port))
        self.node, self.hw_id = node, hw_id
        self.sequence = 0
        self.reports = 0

    def close(self) -> None:
        self.socket.close()

    def datagram(self, reports: list[bytes]) -> bytes:
        """The next datagram of the stream."""
        head = struct.pack(">II", 2 << 28 | self.hw_id << 22 | self.sequence & 0x3FFFFF, self.node)
        self.sequence += 1
        payload = head + b"".join(reports)
        return payload if self.key is None else tagged(payload, self.key)

    def send(self, *reports: bytes) -> None:
        self.socket.send(self.datagram(list(reports)))
        self.reports += len(reports)

    def raw(self, datagram: bytes) -> None:
        self.socket.send(datagram)


class Honest(Exporter):
    """The switch: some flows through one port, with the clock of this host."""

    FLOWS = 8

    def once(self, port: int = PORT) -> None:
        """A report of a packet that leaves now."""
        flow = self.reports % self.FLOWS
        inner = packet(flow, 1448 * (self.reports // self.FLOWS))
        self.send(individual(port, time.time_ns() - 300_000, 250_000, inner))

    def for_s(self, seconds: float, per_s: float = 2000.0) -> None:
        """Reports at a rate; what is late is made up for."""
        begin, sent = time.monotonic(), 0
        while (elapsed := time.monotonic() - begin) < seconds:
            while sent < elapsed * per_s:
                self.once()
                sent += 1
            time.sleep(0.002)


@contextmanager
def honest(to_port: int, source: str = "127.0.0.1") -> Iterator[Honest]:
    exporter = Honest(to_port, source)
    try:
        yield exporter
    finally:
        exporter.close()
