# SPDX-License-Identifier: Apache-2.0
"""Telemetry Report v2.0 as Tidemark's data plane sends it, written from the
specification alone: the tests must not share a mistake with the collector."""

import struct

from scapy.compat import raw
from scapy.fields import BitField, ByteField, ConditionalField, IntField, LongField, ShortField
from scapy.layers.inet import IP, UDP
from scapy.packet import Packet, bind_layers
from scapy.utils import checksum

DOMAIN_TIDEMARK = 0x544D

# Level-1 ids and queue and ingress time are bits 1, 3, 4 from the top; egress
# time is bit 5; queue id and drop reason is the last.
BIT_PORTS = 1 << 14
BIT_QUEUE = 1 << 12
BIT_INGRESS_TIME = 1 << 11
BIT_EGRESS_TIME = 1 << 10
BIT_DROP = 1 << 0
FORWARDED_BITS = BIT_PORTS | BIT_QUEUE | BIT_INGRESS_TIME | BIT_EGRESS_TIME
DROPPED_BITS = BIT_PORTS | BIT_QUEUE | BIT_INGRESS_TIME | BIT_DROP

DOMAIN_BIT_LIMIT = 1 << 15
DOMAIN_BIT_POLICY = 1 << 14

UNLIMITED = 0xFFFFFFFF
TAIL_DROP = 71
AQM_DROP = 73
FLAG_CE_MARKED = 1


def _has(bit):
    return lambda p: p.metadata_bits & bit


class TelemetryReport(Packet):
    """Group header and one individual report; the payload is the inner packet."""

    name = "TelemetryReport"
    fields_desc = [
        BitField("version", 2, 4),
        BitField("hw_id", 0, 6),
        BitField("sequence", 0, 22),
        IntField("node_id", 0),
        BitField("report_type", 1, 4),
        BitField("inner_type", 4, 4),
        ByteField("length_words", 0),
        ByteField("metadata_length_words", 0),
        BitField("dropped", 0, 1),
        BitField("congested", 0, 1),
        BitField("tracked", 0, 1),
        BitField("intermediate", 0, 1),
        BitField("reserved", 0, 4),
        ShortField("metadata_bits", FORWARDED_BITS),
        ShortField("domain", DOMAIN_TIDEMARK),
        ShortField("domain_bits", DOMAIN_BIT_LIMIT | DOMAIN_BIT_POLICY),
        ShortField("domain_status", 0),
        ConditionalField(ShortField("ingress_port", 0), _has(BIT_PORTS)),
        ConditionalField(ShortField("egress_port", 0), _has(BIT_PORTS)),
        ConditionalField(ByteField("queue_id", 0), _has(BIT_QUEUE)),
        ConditionalField(BitField("occupancy", 0, 24), _has(BIT_QUEUE)),
        ConditionalField(LongField("ingress_ns", 0), _has(BIT_INGRESS_TIME)),
        ConditionalField(LongField("egress_ns", 0), _has(BIT_EGRESS_TIME)),
        ConditionalField(ByteField("drop_queue_id", 0), _has(BIT_DROP)),
        ConditionalField(ByteField("drop_reason", 0), _has(BIT_DROP)),
        ConditionalField(ShortField("drop_pad", 0), _has(BIT_DROP)),
        IntField("limit", 0),
        ByteField("sampling_shift", 0),
        ByteField("policy_flags", 0),
        ShortField("policy_reserved", 0),
    ]

    def guess_payload_class(self, payload):
        return IP if self.inner_type == 4 else super().guess_payload_class(payload)

    @property
    def inner(self) -> bytes:
        return raw(self.payload.original) if self.payload else b""


def bind(port: int):
    """Datagrams to this port are reports."""
    bind_layers(UDP, TelemetryReport, dport=port)


def udp_checksum_is_valid(ip: IP) -> bool:
    """Sums the bytes as they came, with the pseudo header."""
    header = bytes(ip.original[: ip.ihl * 4])
    datagram = bytes(ip.original[ip.ihl * 4 : ip.len])
    pseudo = header[12:20] + struct.pack("!BBH", 0, 17, len(datagram))
    return datagram[6:8] != b"\0\0" and checksum(pseudo + datagram) == 0


def ip_checksum_is_valid(ip: IP) -> bool:
    return checksum(bytes(ip.original[: ip.ihl * 4])) == 0
