# SPDX-License-Identifier: Apache-2.0
"""Hosts of the tests and the packets they send."""

from scapy.compat import raw
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

ETHERNET_BYTES = 14


def mac(host: int) -> str:
    return f"02:00:00:00:00:{host:02x}"


def mac_number(host: int) -> int:
    return int(mac(host).replace(":", ""), 16)


def address(host: int) -> str:
    return f"10.0.0.{host}"


def address_number(host: int) -> int:
    return (10 << 24) + host


def _sized(packet: Packet, frame_bytes: int) -> Packet:
    missing = frame_bytes - len(raw(packet))
    if missing < 0:
        raise ValueError(f"a frame of {frame_bytes} bytes is too small for these headers")
    # A pattern, so that a cut or moved payload shows.
    sized = packet / Raw(bytes(i & 0xFF for i in range(missing)))
    return sized.__class__(raw(sized))


def tcp(src=1, dst=2, frame_bytes=200, ecn=0, ident=1, **fields) -> Packet:
    """A TCP segment from host to host, all fields computed, `frame_bytes` long
    without the frame check sequence."""
    fields = {"sport": 1000, "dport": 2000, "seq": 12345, "ack": 67890, "flags": "A"} | fields
    packet = Ether(src=mac(src), dst=mac(dst)) / IP(
        src=address(src), dst=address(dst), tos=ecn, id=ident, ttl=64
    )
    return _sized(packet / TCP(**fields), frame_bytes)


def udp(src=1, dst=2, frame_bytes=200, ecn=0, ident=1, **fields) -> Packet:
    """A UDP datagram from host to host."""
    fields = {"sport": 1000, "dport": 2000} | fields
    packet = Ether(src=mac(src), dst=mac(dst)) / IP(
        src=address(src), dst=address(dst), tos=ecn, id=ident, ttl=64
    )
    return _sized(packet / UDP(**fields), frame_bytes)
