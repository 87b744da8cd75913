# SPDX-License-Identifier: Apache-2.0
"""One in 2^k packets by a hash of what no switch changes; drops always."""

import struct
import zlib

from scapy.compat import raw
from scapy.layers.inet import IP, TCP

from tidemark_ptf import packets
from tidemark_ptf.base import REPORT_PORT, Tidemark
from tidemark_ptf.p4rt import MODIFY
from tidemark_ptf.report import TelemetryReport

COUNT = 64


def sample_hash(packet) -> int:
    ip = packet[IP]
    seq = packet[TCP].seq if TCP in packet else 0
    data = raw(ip)[12:20] + bytes([ip.proto])
    data += struct.pack("!HHHI", ip.payload.sport, ip.payload.dport, ip.id, seq)
    return zlib.crc32(data) & 0xFFFF


def stream(kind):
    make = packets.tcp if kind == "tcp" else packets.udp
    extra = [{"seq": 1448 * i} if kind == "tcp" else {} for i in range(COUNT)]
    return [make(1, 2, 100, ident=i, **extra[i]) for i in range(COUNT)]


class Sample(Tidemark):
    """Exactly the packets that the hash picks, the same on every switch."""

    def runTest(self):
        self.report_to_collector()
        kind_of_write = {}
        for shift in (0, 1, 3):
            self.watch(shift=shift, **kind_of_write)
            kind_of_write = {"kind": MODIFY}
            for protocol in ("tcp", "udp"):
                with self.subTest(shift=shift, protocol=protocol):
                    self.check(shift, stream(protocol))

    def check(self, shift, sent):
        expected = [p[IP].id for p in sent if sample_hash(p) % (1 << shift) == 0]
        # A sample of consecutive packets must be near its share.
        share = COUNT >> shift
        self.assertTrue(share / 2 <= len(expected) <= 2 * share, f"{len(expected)} of {COUNT}")
        for p in sent:
            self.send(1, p)
            self.assertIsNotNone(self.receive(2), "all are forwarded")
        reports = [r[TelemetryReport] for r in self.collect_reports(len(expected))]
        self.assertEqual([IP(r.inner).id for r in reports], expected)
        self.assertEqual({r.sampling_shift for r in reports}, {shift})
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
