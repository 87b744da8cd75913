# SPDX-License-Identifier: GPL-2.0-only
"""Telemetry Report v2.0 (INT-XD) as a Scapy layer. Needs nothing but Scapy:

    >>> import report                      # this file, wherever it is
    >>> report.bind(32766)                 # datagrams to this port are reports
    >>> for p in rdpcap("reports.pcap"):
    ...     r = p[report.TelemetryReport]
    ...     print(r.sequence, r.occupancy, r.inner_packet.summary())

`python report.py FILE.pcap [PORT]` prints the reports of a capture as JSON, one
per line. The lists of fields are generated from contract/report.toml, which is checked
against the compiled P4 program; the rest is written from the specification.
"""

import json
import struct
import sys

from scapy.compat import raw
from scapy.fields import (
    BitField,
    ByteField,
    ConditionalField,
    IntField,
    LongField,
    PacketLenField,
    ShortField,
    StrFixedLenField,
    StrLenField,
    XShortField,
)
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import AH
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Padding, Raw, bind_layers
from scapy.utils import PcapReader, checksum

DEFAULT_PORT = 32766
DOMAIN_TIDEMARK = 0x544D

# Bits of the metadata, which follow each other in this order.
# <begin generated: bits>
BIT_RESERVED_FIRST = 1 << 15
BIT_PORTS = 1 << 14
BIT_HOP_LATENCY = 1 << 13
BIT_QUEUE = 1 << 12
BIT_INGRESS_TIME = 1 << 11
BIT_EGRESS_TIME = 1 << 10
BIT_PORTS2 = 1 << 9
BIT_UTILISATION = 1 << 8
BIT_BUFFER = 1 << 7
BITS_RESERVED = 0x007E  # four bytes each
BIT_DROP = 1 << 0
DOMAIN_BIT_LIMIT = 1 << 15
DOMAIN_BIT_POLICY = 1 << 14
DOMAIN_BIT_TAG = 1 << 13
DOMAIN_BIT_RUN = 1 << 12
DOMAIN_BIT_RUN_TAG = 1 << 11
FORWARDED_BITS = BIT_PORTS | BIT_QUEUE | BIT_INGRESS_TIME | BIT_EGRESS_TIME
DROPPED_BITS = BIT_PORTS | BIT_QUEUE | BIT_INGRESS_TIME | BIT_DROP
# Eight bytes each.
WIDE_BITS = BIT_INGRESS_TIME | BIT_EGRESS_TIME | BIT_PORTS2
DOMAIN_BYTES = {
    DOMAIN_BIT_LIMIT: 4,
    DOMAIN_BIT_POLICY: 4,
    DOMAIN_BIT_TAG: 16,
    DOMAIN_BIT_RUN: 16,
    DOMAIN_BIT_RUN_TAG: 16,
}
# <end generated: bits>

TYPE_INT = 1
INNER_NONE, INNER_ETHERNET, INNER_IPV4, INNER_IPV6 = 0, 3, 4, 5
TO_THE_END = 0xFF

UNLIMITED = 0xFFFFFFFF
TAIL_DROP = 71
AQM_DROP = 73
FLAG_CE_MARKED = 1
FLAG_OUT_OF_SAMPLE = 2

_INNER_LAYERS = {INNER_ETHERNET: Ether, INNER_IPV4: IP, INNER_IPV6: IPv6}


def _has(bit):
    return lambda p: bool(p.metadata_bits & bit)


def _domain_has(bit):
    return lambda p: p.domain == DOMAIN_TIDEMARK and bool(p.domain_bits & bit)


def _known_bytes(p) -> int:
    """Returns the length of the metadata that the fields below describe."""
    total = 4 * bin(p.metadata_bits).count("1")
    total += 4 * bin(p.metadata_bits & WIDE_BITS).count("1")
    if p.domain == DOMAIN_TIDEMARK:
        total += sum(n for bit, n in DOMAIN_BYTES.items() if p.domain_bits & bit)
    return total


def _unknown_bytes(p) -> int:
    return max(0, 4 * p.metadata_length_words - _known_bytes(p))


def _inner_bytes(p, remaining: int) -> int:
    inner = remaining
    if p.length_words != TO_THE_END:
        inner = 4 * (p.length_words - 2 - p.metadata_length_words)
    # Up to three bytes after the last report belong to it: some switches round
    # its length down.
    if remaining - inner < 4:
        inner = remaining
    return max(0, min(inner, remaining))


class _InnerField(PacketLenField):
    """Takes its length from the remaining bytes, which `length_from` does not know."""

    def getfield(self, pkt, s):
        size = _inner_bytes(pkt, len(s))
        return s[size:], self.m2i(pkt, s[:size])

    def m2i(self, pkt, m):
        layer = _INNER_LAYERS.get(pkt.inner_type, Raw)
        return layer(m) if m else None

    def i2m(self, pkt, i):
        return b"" if i is None else raw(i)


def _individual_report() -> list:
    return [
        # <begin generated: individual report>
        BitField("report_type", TYPE_INT, 4),
        BitField("inner_type", INNER_IPV4, 4),
        ByteField("length_words", None),
        ByteField("metadata_length_words", None),
        BitField("dropped", 0, 1),
        BitField("congested", 0, 1),
        BitField("tracked", 0, 1),
        BitField("intermediate", 0, 1),
        BitField("reserved", 0, 4),
        XShortField("metadata_bits", FORWARDED_BITS),
        XShortField("domain", DOMAIN_TIDEMARK),
        XShortField("domain_bits", DOMAIN_BIT_LIMIT | DOMAIN_BIT_POLICY),
        XShortField("domain_status", 0),
        ConditionalField(IntField("reserved_first", 0), _has(BIT_RESERVED_FIRST)),
        ConditionalField(ShortField("ingress_port", 0), _has(BIT_PORTS)),
        ConditionalField(ShortField("egress_port", 0), _has(BIT_PORTS)),
        ConditionalField(IntField("hop_latency", 0), _has(BIT_HOP_LATENCY)),
        ConditionalField(ByteField("queue_id", 0), _has(BIT_QUEUE)),
        ConditionalField(BitField("occupancy", 0, 24), _has(BIT_QUEUE)),
        ConditionalField(LongField("ingress_ns", 0), _has(BIT_INGRESS_TIME)),
        ConditionalField(LongField("egress_ns", 0), _has(BIT_EGRESS_TIME)),
        ConditionalField(IntField("ingress_port2", 0), _has(BIT_PORTS2)),
        ConditionalField(IntField("egress_port2", 0), _has(BIT_PORTS2)),
        ConditionalField(IntField("utilisation", 0), _has(BIT_UTILISATION)),
        ConditionalField(ByteField("buffer_id", 0), _has(BIT_BUFFER)),
        ConditionalField(BitField("buffer_occupancy", 0, 24), _has(BIT_BUFFER)),
        StrLenField(
            "reserved_metadata",
            b"",
            length_from=lambda p: 4 * bin(p.metadata_bits & BITS_RESERVED).count("1"),
        ),
        ConditionalField(ByteField("drop_queue_id", 0), _has(BIT_DROP)),
        ConditionalField(ByteField("drop_reason", 0), _has(BIT_DROP)),
        ConditionalField(ShortField("drop_pad", 0), _has(BIT_DROP)),
        ConditionalField(IntField("limit", UNLIMITED), _domain_has(DOMAIN_BIT_LIMIT)),
        ConditionalField(ByteField("sampling_shift", 0), _domain_has(DOMAIN_BIT_POLICY)),
        ConditionalField(ByteField("policy_flags", 0), _domain_has(DOMAIN_BIT_POLICY)),
        ConditionalField(ShortField("policy_reserved", 0), _domain_has(DOMAIN_BIT_POLICY)),
        ConditionalField(StrFixedLenField("tag", bytes(16), 16), _domain_has(DOMAIN_BIT_TAG)),
        ConditionalField(LongField("boot", 0), _domain_has(DOMAIN_BIT_RUN)),
        ConditionalField(LongField("datagram", 0), _domain_has(DOMAIN_BIT_RUN)),
        ConditionalField(StrFixedLenField("code", bytes(16), 16), _domain_has(DOMAIN_BIT_RUN_TAG)),
        # <end generated: individual report>
        StrLenField("unknown_metadata", b"", length_from=_unknown_bytes),
        _InnerField("inner_packet", None, Raw),
    ]


class _Individual(Packet):
    # Bytes before the first word of the individual report.
    group_bytes = 0

    @property
    def inner(self) -> bytes:
        """Returns the start of the original packet, as it came."""
        packet = self.inner_packet
        if packet is None:
            return b""
        return bytes(packet.original or raw(packet))

    def post_build(self, pkt, pay):
        start = self.group_bytes
        inner = 0 if self.inner_packet is None else len(raw(self.inner_packet))
        words = (len(pkt) - start - 4) // 4
        if self.length_words is None:
            pkt = pkt[: start + 1] + bytes([min(words, TO_THE_END)]) + pkt[start + 2 :]
        if self.metadata_length_words is None:
            metadata = (len(pkt) - start - 12 - inner) // 4
            pkt = pkt[: start + 2] + bytes([metadata]) + pkt[start + 3 :]
        return pkt + pay

    def guess_payload_class(self, payload):
        return CoalescedReport if len(payload) >= 12 else Padding


class TelemetryReport(_Individual):
    """Group header and first individual report of a datagram. Tidemark sends one
    report per datagram; further reports follow as `CoalescedReport`."""

    name = "TelemetryReport"
    group_bytes = 8
    fields_desc = [
        # <begin generated: group header>
        BitField("version", 2, 4),
        BitField("hw_id", 0, 6),
        BitField("sequence", 0, 22),
        IntField("node_id", 0),
        # <end generated: group header>
        *_individual_report(),
    ]


class CoalescedReport(_Individual):
    """A further individual report in the same datagram."""

    name = "CoalescedReport"
    fields_desc = _individual_report()


def bind(port: int = DEFAULT_PORT) -> None:
    """Makes datagrams to this port reports."""
    bind_layers(UDP, TelemetryReport, dport=port)


def udp_checksum_is_valid(ip: IP) -> bool:
    """Sums the bytes as they came, with the pseudo header. A computed checksum of zero stays
    zero in v1model, which means "no checksum": valid as well, once in 65536 reports."""
    header = bytes(ip.original[: ip.ihl * 4])
    datagram = bytes(ip.original[ip.ihl * 4 : ip.len])
    pseudo = header[12:20] + struct.pack("!BBH", 0, 17, len(datagram))
    return checksum(pseudo + datagram) == 0


def ip_checksum_is_valid(ip: IP) -> bool:
    return checksum(bytes(ip.original[: ip.ihl * 4])) == 0


def reports(packet: Packet):
    """Returns the individual reports of a datagram."""
    layer = packet.getlayer(TelemetryReport)
    while isinstance(layer, _Individual):
        yield layer
        layer = layer.payload


def inner_fields(packet: Packet) -> dict:
    """Returns addresses, protocol after extension headers, ports and TCP numbers of an
    inner packet; fields that it lacks are left out."""
    ip = packet.getlayer(IP) or packet.getlayer(IPv6)
    if ip is None:
        return {}
    protocol = ip.proto if isinstance(ip, IP) else ip.nh
    layer = ip.payload
    while isinstance(ip, IPv6) and "nh" in layer.fields:
        protocol = layer.nh
        # Scapy does not look past an authentication header.
        next_layer = {6: TCP, 17: UDP}.get(protocol) if isinstance(layer, AH) else None
        layer = next_layer(raw(layer.payload)) if next_layer else layer.payload
    fields = {"src": ip.src, "dst": ip.dst, "protocol": protocol}
    if isinstance(layer, TCP):
        fields |= {k: getattr(layer, k) for k in ("sport", "dport", "seq", "ack")}
    elif isinstance(layer, UDP):
        fields |= {k: getattr(layer, k) for k in ("sport", "dport")}
    return fields


def as_dict(report: _Individual) -> dict:
    """Returns the fields that are present, by name; the inner packet in hex and decoded."""
    group = report
    while not isinstance(group, TelemetryReport):
        group = group.underlayer
    fields = {k: getattr(group, k) for k in ("version", "hw_id", "sequence", "node_id")}
    for f in report.fields_desc:
        if f.name in fields or f.name == "inner_packet":
            continue
        if isinstance(f, ConditionalField) and not f.cond(report):
            continue
        value = getattr(report, f.name)
        if isinstance(value, bytes):
            if not value:
                continue
            value = value.hex()
        fields[f.name] = value
    fields["inner"] = report.inner.hex()
    if report.inner_packet is not None:
        fields["inner_fields"] = inner_fields(report.inner_packet)
    return fields


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("usage: report.py FILE.pcap [PORT]", file=sys.stderr)
        return 2
    bind(int(sys.argv[2]) if len(sys.argv) == 3 else DEFAULT_PORT)
    with PcapReader(sys.argv[1]) as packets:
        for packet in packets:
            for report in reports(packet):
                print(json.dumps(as_dict(report), separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
