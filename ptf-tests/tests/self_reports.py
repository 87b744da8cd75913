# SPDX-License-Identifier: GPL-2.0-only
"""No reports about reports, nor about any other packet on its way to the collector."""

from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from tidemark_ptf import packets
from tidemark_ptf.base import COLLECTOR_HOST, REPORT_PORT, UDP_PORT, Tidemark
from tidemark_ptf.p4rt import INSERT
from tidemark_ptf.report import TelemetryReport


class OneReportPerPacket(Tidemark):
    """Everything is watched, even the report port: exactly one report per packet."""

    def runTest(self):
        self.report_to_collector()
        self.watch()
        for i in range(5):
            self.send(1, packets.udp(1, 2, ident=i))
            self.assertIsNotNone(self.receive(2))
        self.limit(2, "drop_tail", 0)
        self.send(1, packets.udp(1, 2, ident=5))
        reports = [r[TelemetryReport] for r in self.collect_reports(6)]
        self.assertEqual(sorted(IP(r.inner).id for r in reports), list(range(6)))
        self.assert_silence()


class ReturnedReports(Tidemark):
    """A cable brings the reports back: they are only forwarded."""

    def runTest(self):
        self.report_to_collector()
        self.watch()
        self.watch6()
        collector = self.client.entry(
            "Ingress.l2_forward",
            {"hdr.ethernet.dst_addr": packets.mac_number(COLLECTOR_HOST)},
            "Ingress.forward",
            {"port": 4},
        )
        self.client.write(INSERT, collector)
        self.send(1, packets.tcp(1, 2))
        (report,) = self.collect_reports(1)
        for _ in range(3):
            self.send(3, report)
            self.assert_frame(4, report)
        # Dropped ones are not reported either.
        self.limit(4, "drop_tail", 0)
        self.send(3, report)
        self.receive(2)
        self.assert_silence()


class AddressedToTheCollector(Tidemark):
    """Packets of any kind: the collector's own traffic must not feed itself."""

    def runTest(self):
        self.report_to_collector(dst_ip=packets.address_number(2))
        self.watch()
        to_collector = [
            packets.tcp(1, 2),
            packets.udp(1, 2),
            Ether(src=packets.mac(1), dst=packets.mac(2))
            / IP(src=packets.address(1), dst=packets.address(2), proto=1)
            / (b"y" * 50),
            packets.tagged(packets.tcp(1, 2)),
        ]
        for packet in to_collector:
            self.send(1, packet)
            self.assert_frame(2, packet)
        self.limit(2, "drop_tail", 0)
        self.send(1, packets.tcp(1, 2))
        self.assert_silence()
        # Packets from the collector are reported.
        self.send(2, packets.tcp(2, 1))
        self.collect_reports(1)


class OtherReports(Tidemark):
    """Reports of another switch to another collector: the same UDP port."""

    def runTest(self):
        self.report_to_collector()
        self.watch()
        self.watch6()
        for packet in (
            packets.udp(1, 2, dport=UDP_PORT),
            packets.udp6(1, 2, dport=UDP_PORT),
        ):
            self.send(1, packet)
            self.assert_frame(2, packet)
        self.assert_silence([REPORT_PORT])
        # Only the UDP destination port counts, not the source port or TCP's.
        for packet in (
            packets.tcp(1, 2, dport=UDP_PORT),
            packets.udp(1, 2, sport=UDP_PORT),
        ):
            self.send(1, packet)
            self.collect_reports(1)
