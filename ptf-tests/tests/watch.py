# SPDX-License-Identifier: GPL-2.0-only
"""The watch tables: which packets are reported."""

from scapy.compat import raw
from scapy.layers.inet import IP

from tidemark_ptf import packets
from tidemark_ptf.base import REPORT_PORT, Tidemark
from tidemark_ptf.p4rt import DELETE
from tidemark_ptf.report import TelemetryReport


class EachKey(Tidemark):
    def runTest(self):
        self.report_to_collector()
        plain = packets.tcp(1, 2, ident=1)
        for match, other in [
            ({"ipv4_src": packets.address_number(1)}, packets.tcp(3, 2, ident=2)),
            ({"ipv4_dst": packets.address_number(2)}, packets.tcp(1, 3, ident=2)),
            ({"protocol": 6}, packets.udp(1, 2, ident=2)),
            ({"src_port": 1000}, packets.tcp(1, 2, ident=2, sport=1001)),
            ({"dst_port": (2000, 0xFFF0)}, packets.tcp(1, 2, ident=2, dport=2016)),
            ({"ingress_port": 1}, packets.tcp(3, 2, ident=2)),
            ({"egress_port": 2}, packets.tcp(1, 4, ident=2)),
        ]:
            with self.subTest(match):
                entry = self.watch(match)
                source = 3 if other[IP].src == packets.address(3) else 1
                self.send(source, other)
                self.send(1, plain)
                (report,) = self.collect_reports(1)
                self.assertEqual(IP(report[TelemetryReport].inner).id, 1)
                self.assert_silence([REPORT_PORT])
                self.client.write(DELETE, entry)


class EachKeyOfIpv6(Tidemark):
    def runTest(self):
        self.report_to_collector()
        # Prefixes, and the bits on both sides of the middle of an address.
        prefix = (packets.address6_number(0), ((1 << 96) - 1) << 32)
        plain = packets.tcp6(1, 2)
        for match, other in [
            ({"ipv6_src": packets.address6_number(1)}, packets.tcp6(3, 2, sport=1)),
            ({"ipv6_dst": packets.address6_number(2)}, packets.tcp6(1, 3, sport=1)),
            ({"ipv6_src": (1 << 64, 1 << 64)}, None),
            ({"ipv6_dst": prefix}, packets.tcp(1, 2)),
            ({"protocol": 6}, packets.udp6(1, 2)),
            ({"src_port": 1000}, packets.tcp6(1, 2, sport=1001)),
            ({"dst_port": (2000, 0xFFF0)}, packets.tcp6(1, 2, dport=2016)),
            ({"ingress_port": 1}, packets.tcp6(3, 2)),
            ({"egress_port": 2}, packets.tcp6(1, 4)),
        ]:
            with self.subTest(match):
                entry = self.watch6(match)
                if other is not None:
                    self.send(3 if other.src == packets.mac(3) else 1, other)
                self.send(1, plain)
                if other is not None:
                    (packet,) = self.collect_reports(1)
                    self.assertEqual(packet[TelemetryReport].inner, raw(plain)[14:74])
                self.assert_silence([REPORT_PORT])
                self.client.write(DELETE, entry)


class FamiliesAreSeparate(Tidemark):
    """An entry for any IPv4 packet does not affect IPv6, and the reverse."""

    def runTest(self):
        self.report_to_collector()
        for watch, packet in [
            (self.watch, packets.tcp(1, 2)),
            (self.watch6, packets.tcp6(1, 2)),
        ]:
            entry = watch()
            self.send(1, packets.tcp(1, 2))
            self.send(1, packets.tcp6(1, 2))
            (seen,) = self.collect_reports(1)
            self.assertEqual(seen[TelemetryReport].inner[0], raw(packet)[14])
            self.assert_silence([REPORT_PORT])
            self.client.write(DELETE, entry)


class HigherPriorityWins(Tidemark):
    def runTest(self):
        self.report_to_collector()
        self.watch(priority=10)
        self.watch({"dst_port": 2000}, priority=20, action="ignore")
        self.watch({"src_port": 7777}, priority=30, shift=0)
        self.send(1, packets.tcp(1, 2, ident=1))
        self.send(1, packets.tcp(1, 2, ident=2, dport=2001))
        self.send(1, packets.tcp(1, 2, ident=3, sport=7777))
        inner = [IP(r[TelemetryReport].inner).id for r in self.collect_reports(2)]
        self.assertEqual(inner, [2, 3])
        self.assert_silence([REPORT_PORT])


class NothingByDefault(Tidemark):
    def runTest(self):
        self.report_to_collector()
        self.send(1, packets.tcp(1, 2))
        self.assert_silence([REPORT_PORT])
