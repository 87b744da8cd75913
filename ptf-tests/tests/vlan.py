# SPDX-License-Identifier: GPL-2.0-only
"""One 802.1Q tag: kept when forwarded, skipped when watched, and left out of the
report, whose inner packet starts at the IP header."""

import time

from scapy.compat import raw
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether

from tidemark_ptf import packets, report
from tidemark_ptf.base import REPORT_PORT, Tidemark
from tidemark_ptf.report import TelemetryReport

TAG_BYTES = 4


class Tagged(Tidemark):
    def runTest(self):
        self.report_to_collector()
        self.watch({"dst_port": 2000})
        self.watch6({"dst_port": 2000})
        for plain, inner_bytes in [
            (packets.tcp(1, 2, 300), 40),
            (packets.udp(1, 2, 300), 28),
            (packets.tcp6(1, 2, 300), 60),
            (packets.udp6(1, 2, 300), 48),
        ]:
            sent = packets.tagged(plain)
            with self.subTest(plain.summary()):
                self.send(1, sent)
                self.assert_frame(2, sent)
                (packet,) = self.collect_reports(1)
                self.assertEqual(packet[Ether].type, 0x0800, "the report itself is untagged")
                ipv6 = packet[TelemetryReport].inner_type == report.INNER_IPV6
                self.assertEqual(packet[UDP].len, 8 + (112 if ipv6 else 92))
                inner = packet[TelemetryReport].inner
                self.assertEqual(inner[:inner_bytes], raw(plain)[14 : 14 + inner_bytes])
                self.assertEqual(inner[inner_bytes:].strip(b"\0"), b"")
        self.assert_silence([REPORT_PORT])


class TaggedDrop(Tidemark):
    """Parsed again from the received frame, so the tag is left out here as well. The
    occupancy includes the tag, as it takes room on the wire."""

    def runTest(self):
        self.report_to_collector()
        self.watch()
        self.limit(2, "drop_tail", 0)
        plain = packets.tcp(1, 2, 300)
        self.send(1, packets.tagged(plain))
        (packet,) = self.collect_reports(1)
        self.assertEqual(packet[Ether].type, 0x0800)
        self.assertEqual(packet[UDP].len, 8 + 88)
        r = packet[TelemetryReport]
        self.assertEqual((r.dropped, r.hw_id), (1, 1))
        self.assertEqual(r.inner, raw(plain)[14:54])
        self.assert_silence()


class TagCountsInTheQueue(Tidemark):
    def runTest(self):
        frame = 400
        self.report_to_collector()
        self.watch()
        self.slow(2, frame + TAG_BYTES)
        for i in range(3):
            self.send(1, packets.tagged(packets.tcp(1, 2, frame, ident=i)))
            if i == 0:
                time.sleep(0.1)
        self.collect(2, 3)
        reports = [p[TelemetryReport] for p in self.collect_reports(3)]
        self.assertEqual([r.occupancy for r in reports], [0, 0, frame + TAG_BYTES])


class TaggedMarkCe(Tidemark):
    def runTest(self):
        self.mark_ce(2, 0)
        for make in (packets.tcp, packets.tcp6):
            self.send(1, packets.tagged(make(1, 2, 200, ecn=2)))
            self.assert_frame(2, packets.tagged(self.marked(make)))

    def marked(self, make):
        marked = make(1, 2, 200, ecn=3)
        if IP in marked:
            self.assertTrue(report.ip_checksum_is_valid(IP(raw(marked)[14:])), "test data")
        return marked


class TagsWithoutIp(Tidemark):
    """ARP in a VLAN, a second tag, a frame truncated inside the tag: forwarded."""

    def runTest(self):
        self.report_to_collector()
        self.watch()
        self.watch6()
        arp = Ether(src=packets.mac(1), dst=packets.mac(2)) / ARP(
            hwsrc=packets.mac(1), psrc=packets.address(1), pdst=packets.address(2)
        )
        double = packets.tagged(packets.tagged(packets.tcp(1, 2)))
        outer = Ether(src=packets.mac(1), dst=packets.mac(2)) / Dot1Q(vlan=3, type=0x0800)
        for frame in (
            raw(packets.tagged(arp)),
            raw(double),
            raw(outer) + b"\x45" + bytes(41),
        ):
            self.send(1, frame)
            self.assertEqual(self.receive(2), frame)
        self.assert_silence([REPORT_PORT])


class Flooded(Tidemark):
    def runTest(self):
        sent = packets.tagged(packets.udp(1, 99))
        self.send(1, sent)
        for port in (2, 3, 4):
            self.assert_frame(port, sent)
        self.assert_silence()
