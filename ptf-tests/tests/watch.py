# SPDX-License-Identifier: Apache-2.0
"""Which packets are reported: the watch table, and on or off per port."""

from scapy.layers.inet import IP

from tidemark_ptf import packets
from tidemark_ptf.base import REPORT_PORT, UDP_PORT, Tidemark
from tidemark_ptf.p4rt import DELETE, MODIFY
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


class OffAndOnPerPort(Tidemark):
    def runTest(self):
        self.report_to_collector()
        self.watch()

        def reported():
            self.dataplane.flush()
            self.send(1, packets.tcp(1, 2))
            self.send(1, packets.tcp(1, 3))
            self.assertIsNotNone(self.receive(2))
            self.assertIsNotNone(self.receive(3))
            frames = self.collect(REPORT_PORT, 3, 0.5)
            return sorted(self.parse_report(f)[TelemetryReport].egress_port for f in frames)

        self.assertEqual(reported(), [2, 3])
        self.report_port(2, on=False)
        self.assertEqual(reported(), [3])
        self.report_port(2, on=True, kind=MODIFY)
        self.assertEqual(reported(), [2, 3])


class OffSilencesDropsToo(Tidemark):
    def runTest(self):
        self.report_to_collector()
        self.watch()
        self.limit(2, "drop_tail", 0)
        self.report_port(2, on=False)
        self.send(1, packets.tcp(1, 2))
        self.assert_silence()


class NoReportsAboutReports(Tidemark):
    """Everything is watched, the report port too: one report per packet, ever."""

    def runTest(self):
        self.report_to_collector()
        self.watch()
        for i in range(5):
            self.send(1, packets.udp(1, 2, ident=i, dport=UDP_PORT))
            self.assertIsNotNone(self.receive(2))
        self.limit(2, "drop_tail", 0)
        self.send(1, packets.udp(1, 2, ident=5))
        reports = [r[TelemetryReport] for r in self.collect_reports(6)]
        self.assertEqual(sorted(IP(r.inner).id for r in reports), list(range(6)))
        self.assert_silence()
