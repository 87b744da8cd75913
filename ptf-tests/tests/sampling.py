# SPDX-License-Identifier: GPL-2.0-only
"""One in 2^k packets by a hash of fields that no switch changes; drops and marks always."""

import struct
import zlib

from scapy.compat import raw
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from tidemark_ptf import packets, report
from tidemark_ptf.base import REPORT_PORT, Tidemark
from tidemark_ptf.p4rt import MODIFY
from tidemark_ptf.report import TelemetryReport

COUNT = 64


def sample_hash(packet) -> int:
    l4 = packet[TCP] if TCP in packet else packet[UDP]
    # Number that differs between the packets of a flow.
    number = l4.seq if TCP in packet else l4.chksum
    ports = struct.pack("!BHH", 6 if TCP in packet else 17, l4.sport, l4.dport)
    if IPv6 in packet:
        start = raw(packet[IPv6])[8:40] + ports + struct.pack("!H", packet[IPv6].plen)
    else:
        start = raw(packet[IP])[12:20] + ports + struct.pack("!H", packet[IP].id)
    return zlib.crc32(start + struct.pack("!I", number)) & 0xFFFF


def stream(kind):
    make = {"tcp": packets.tcp, "udp": packets.udp, "tcp6": packets.tcp6, "udp6": packets.udp6}[
        kind
    ]
    if kind == "tcp":
        return [make(1, 2, 100, ident=i, seq=1448 * i) for i in range(COUNT)]
    if kind == "tcp6":
        return [make(1, 2, 100, seq=1448 * i) for i in range(COUNT)]
    # As Linux sends datagrams that must not be fragmented: without identification.
    plain = {} if kind == "udp6" else {"ident": 0}
    return [with_payload(make(1, 2, 100, **plain), i) for i in range(COUNT)]


def set_ecn(packet, bits):
    if IPv6 in packet:
        packet[IPv6].tc = bits
    else:
        packet[IP].tos = bits
        del packet[IP].chksum


def ecn_of(packet):
    return (packet[IPv6].tc if IPv6 in packet else packet[IP].tos) & 3


def with_payload(packet, i):
    """Copies a datagram with other contents, and thus another checksum."""
    changed = packet.copy()
    changed[UDP].payload = Raw(i.to_bytes(4, "big") * 8)
    del changed[UDP].chksum
    del changed[UDP].len
    if IPv6 in changed:
        del changed[IPv6].plen
    else:
        del changed[IP].len
        del changed[IP].chksum
    return Ether(raw(changed))


def same_packet(packet) -> bytes:
    """Identifies a packet by the part that a report shows."""
    return raw(packet)[14 : 14 + (48 if IPv6 in packet else 28)]


class Sample(Tidemark):
    """Samples exactly the packets that the hash selects, the same on every switch."""

    def runTest(self):
        self.report_to_collector()
        kind_of_write = {}
        for shift in (1, 3):
            self.watch(shift=shift, **kind_of_write)
            self.watch6(shift=shift, **kind_of_write)
            kind_of_write = {"kind": MODIFY}
            for protocol in ("tcp", "udp", "tcp6", "udp6"):
                with self.subTest(shift=shift, protocol=protocol):
                    self.check(shift, stream(protocol))

    def check(self, shift, sent):
        expected = [same_packet(p) for p in sent if sample_hash(p) % (1 << shift) == 0]
        # The sampled share of consecutive packets must be near its nominal value.
        share = COUNT >> shift
        self.assertTrue(share / 2 <= len(expected) <= 2 * share, f"{len(expected)} of {COUNT}")
        for p in sent:
            self.send(1, p)
            self.assertIsNotNone(self.receive(2), "all are forwarded")
        reports = [r[TelemetryReport] for r in self.collect_reports(len(expected))]
        seen = [r.inner[: len(expected[0])] for r in reports]
        self.assertEqual(seen, expected)
        self.assertEqual({r.sampling_shift for r in reports}, {shift})
        self.assert_silence([REPORT_PORT])


class MarksAreAlwaysReported(Tidemark):
    """A marked packet outside the sample is reported all the same, and its report says that it
    stands only for itself."""

    SHIFT = 3

    def runTest(self):
        self.report_to_collector()
        self.mark_ce(2, 0)
        self.watch(shift=self.SHIFT)
        self.watch6(shift=self.SHIFT)
        outside = 0
        for protocol in ("tcp", "udp", "tcp6", "udp6"):
            for i, p in enumerate(stream(protocol)):
                # Marked by another switch: sampled like any other packet.
                came_marked = i % 4 == 3
                set_ecn(p, 3 if came_marked else 2)
                drawn = sample_hash(p) % (1 << self.SHIFT) == 0
                self.send(1, p)
                frame = Ether(self.receive(2))
                self.assertEqual(ecn_of(frame), 3)
                if came_marked and not drawn:
                    continue
                (packet,) = self.collect_reports(1)
                r = packet[TelemetryReport]
                flags = 0 if came_marked else report.FLAG_CE_MARKED
                if not drawn:
                    flags |= report.FLAG_OUT_OF_SAMPLE
                    outside += 1
                self.assertEqual((r.sampling_shift, r.congested, r.policy_flags), (3, 1, flags))
                # The report shows the packet as it left, with a correct checksum.
                left = same_packet(frame)
                self.assertEqual(r.inner[: len(left)], left)
                if IP in frame:
                    self.assertTrue(report.ip_checksum_is_valid(frame[IP]))
        self.assertGreater(outside, COUNT)
        self.assert_silence([REPORT_PORT])


class DropsAreAlwaysReported(Tidemark):
    def runTest(self):
        self.report_to_collector()
        self.limit(2, "drop_tail", 0)
        self.watch(shift=15)
        for i, p in enumerate(stream("tcp")):
            self.send(1, p)
            # One at a time: BMv2 loses clones of a burst.
            (packet,) = self.collect_reports(1)
            r = packet[TelemetryReport]
            self.assertEqual((r.sequence, r.sampling_shift, r.dropped), (i, 15, 1))
