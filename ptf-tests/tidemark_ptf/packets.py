# SPDX-License-Identifier: GPL-2.0-only
"""Hosts of the tests, and the packets that they send."""

from scapy.compat import raw
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
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


def address6(host: int) -> str:
    return f"2001:db8::{host:x}"


def address6_number(host: int) -> int:
    return (0x20010DB8 << 96) + host


def _sized(packet: Packet, frame_bytes: int) -> Packet:
    missing = frame_bytes - len(raw(packet))
    if missing < 0:
        raise ValueError(f"a frame of {frame_bytes} bytes is too small for these headers")
    # A pattern, so that a truncated or moved payload shows.
    sized = packet / Raw(bytes(i & 0xFF for i in range(missing)))
    return sized.__class__(raw(sized))


def tcp(src=1, dst=2, frame_bytes=200, ecn=0, ident=1, dscp=0, **fields) -> Packet:
    """Makes a TCP segment from host to host, all fields computed, `frame_bytes` long
    without the frame check sequence."""
    fields = {"sport": 1000, "dport": 2000, "seq": 12345, "ack": 67890, "flags": "A"} | fields
    packet = Ether(src=mac(src), dst=mac(dst)) / IP(
        src=address(src), dst=address(dst), tos=dscp << 2 | ecn, id=ident, ttl=64
    )
    return _sized(packet / TCP(**fields), frame_bytes)


def udp(src=1, dst=2, frame_bytes=200, ecn=0, ident=1, **fields) -> Packet:
    """Makes a UDP datagram from host to host."""
    fields = {"sport": 1000, "dport": 2000} | fields
    packet = Ether(src=mac(src), dst=mac(dst)) / IP(
        src=address(src), dst=address(dst), tos=ecn, id=ident, ttl=64
    )
    return _sized(packet / UDP(**fields), frame_bytes)


def _ipv6(src, dst, traffic_class, extensions) -> Packet:
    packet = Ether(src=mac(src), dst=mac(dst)) / IPv6(
        src=address6(src), dst=address6(dst), tc=traffic_class, fl=0xABCDE, hlim=64
    )
    for extension in extensions:
        packet = packet / extension
    return packet


def tcp6(src=1, dst=2, frame_bytes=200, ecn=0, extensions=(), dscp=0, **fields) -> Packet:
    """Makes a TCP segment over IPv6, after these extension headers."""
    fields = {"sport": 1000, "dport": 2000, "seq": 12345, "ack": 67890, "flags": "A"} | fields
    packet = _ipv6(src, dst, dscp << 2 | ecn, extensions)
    return _sized(packet / TCP(**fields), frame_bytes)


def udp6(src=1, dst=2, frame_bytes=200, ecn=0, extensions=(), **fields) -> Packet:
    """Makes a UDP datagram over IPv6."""
    fields = {"sport": 1000, "dport": 2000} | fields
    return _sized(_ipv6(src, dst, ecn, extensions) / UDP(**fields), frame_bytes)


def tagged(packet: Packet, vlan_id=7, priority=5) -> Packet:
    """Adds an 802.1Q tag to a frame."""
    frame = raw(packet)
    tag = raw(Dot1Q(vlan=vlan_id, prio=priority, type=int.from_bytes(frame[12:14], "big")))
    return Ether(frame[:12] + b"\x81\x00" + tag + frame[14:])
