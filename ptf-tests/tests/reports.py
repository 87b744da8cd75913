# SPDX-License-Identifier: GPL-2.0-only
"""Reports of forwarded packets: every field, numbering, and where they are sent."""

import struct
import zlib

from scapy.compat import raw
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether

from tidemark_ptf import base, packets, report
from tidemark_ptf.base import REPORT_PORT, Tidemark
from tidemark_ptf.p4rt import MODIFY
from tidemark_ptf.report import TelemetryReport


def flow_hash(packet) -> int:
    ip = packet[IP]
    l4 = ip.payload
    data = raw(ip)[12:20] + bytes([ip.proto]) + struct.pack("!HH", l4.sport, l4.dport)
    return zlib.crc32(data) & 0xFFFF


class Forwarded(Tidemark):
    def runTest(self):
        self.watch()
        self.report_to_collector()
        sent = packets.tcp(1, 2, 300, ident=7, flags="PA", window=4321)
        self.send(1, sent)
        self.assert_frame(2, sent)
        (packet,) = self.collect_reports(1)
        self.assertEqual(packet[Ether].src, packets.mac(base.SWITCH_HOST))
        self.assertEqual(packet[Ether].dst, packets.mac(base.COLLECTOR_HOST))
        ip = packet[IP]
        self.assertEqual(ip.src, packets.address(base.SWITCH_HOST))
        self.assertEqual(ip.dst, packets.address(base.COLLECTOR_HOST))
        self.assertEqual((ip.flags, ip.frag, ip.proto), ("DF", 0, 17))
        self.assertEqual(ip.tos, 0)
        self.assertEqual(packet[UDP].dport, base.UDP_PORT)
        self.assertEqual(packet[UDP].len, 8 + 92)

        r = packet[TelemetryReport]
        self.assertEqual((r.version, r.hw_id, r.sequence), (2, 0, 0))
        self.assertEqual(r.node_id, base.NODE_ID)
        self.assertEqual((r.report_type, r.inner_type), (1, 4))
        self.assertEqual((r.length_words, r.metadata_length_words), (2 + 8 + 10, 8))
        self.assertEqual((r.dropped, r.congested, r.tracked), (0, 0, 1))
        self.assertEqual((r.intermediate, r.reserved), (0, 0))
        self.assertEqual(r.metadata_bits, report.FORWARDED_BITS)
        self.assertEqual(r.domain, report.DOMAIN_TIDEMARK)
        self.assertEqual(r.domain_bits, report.DOMAIN_BIT_LIMIT | report.DOMAIN_BIT_POLICY)
        self.assertEqual(r.domain_status, 0)
        self.assertEqual((r.ingress_port, r.egress_port), (1, 2))
        self.assertEqual((r.queue_id, r.occupancy), (0, 0))
        self.assertGreater(r.ingress_ns, 0)
        self.assertGreaterEqual(r.egress_ns, r.ingress_ns)
        self.assertEqual(r.limit, report.UNLIMITED)
        self.assertEqual((r.sampling_shift, r.policy_flags, r.policy_reserved), (0, 0, 0))
        self.assertEqual(r.inner, raw(sent)[14:54])
        self.assert_silence()


class LimitInForce(Tidemark):
    def runTest(self):
        self.limit(2, "drop_tail", 123456)
        self.watch()
        self.report_to_collector()
        limits = []
        for change in (None, 654321):
            if change:
                self.mark_ce(2, change, kind=MODIFY)
            self.send(1, packets.tcp(1, 2))
            # Awaited before the next change, as a frame may still be on its way in.
            limits += [r[TelemetryReport].limit for r in self.collect_reports(1)]
        self.assertEqual(limits, [123456, 654321])


class Udp(Tidemark):
    """UDP headers are padded to the length of TCP's."""

    def runTest(self):
        self.watch()
        self.report_to_collector()
        for sent in (packets.udp(1, 2, 300), packets.udp(1, 2, 60)):
            self.send(1, sent)
            self.assert_frame(2, sent)
            (packet,) = self.collect_reports(1)
            r = packet[TelemetryReport]
            self.assertEqual(packet[UDP].len, 8 + 92)
            self.assertEqual(r.inner, raw(sent)[14 : 14 + 28] + bytes(12))


class ShortTcp(Tidemark):
    """A bare ACK in a frame padded to the minimum."""

    def runTest(self):
        self.watch()
        self.report_to_collector()
        ack = Ether(raw(packets.tcp(1, 2, 54)) + bytes(6))
        self.send(1, raw(ack))
        self.assert_frame(2, ack)
        (packet,) = self.collect_reports(1)
        self.assertEqual(packet[UDP].len, 8 + 92)
        self.assertEqual(packet[TelemetryReport].inner, raw(ack)[14:54])


class Sequence(Tidemark):
    """Numbered without gaps across all flows and ports."""

    def runTest(self):
        self.watch()
        self.report_to_collector()
        for i in range(20):
            self.send(1 + i % 4, packets.tcp(1 + i % 4, 1 + (i + 1) % 4, ident=i, sport=1000 + i))
            # One at a time: ports are served in parallel.
            self.assertIsNotNone(self.receive(1 + (i + 1) % 4))
        reports = [r[TelemetryReport] for r in self.collect_reports(20)]
        self.assertEqual([r.sequence for r in reports], list(range(20)))
        self.assertEqual({r.hw_id for r in reports}, {0})
        times = [r.ingress_ns for r in reports]
        self.assertEqual(times, sorted(times))
        self.assertTrue(all(t % 1000 == 0 for t in times), "the program counts microseconds")


class SourcePortSpreadsFlows(Tidemark):
    def runTest(self):
        self.watch()
        for mask in (0, 3, 15):
            self.report_to_collector(mask)
            ports = set()
            for i in range(24):
                sent = packets.tcp(1, 2, sport=5000 + i)
                self.send(1, sent)
                (packet,) = self.collect_reports(1)
                expected = base.SOURCE_PORT_BASE + (flow_hash(sent) & mask)
                self.assertEqual(packet[UDP].sport, expected)
                ports.add(packet[UDP].sport)
            self.assertGreater(len(ports), mask // 2, "neighbouring flows share a port")


class NoDestinationNoReports(Tidemark):
    def runTest(self):
        self.watch()
        sent = packets.tcp(1, 2)
        self.send(1, sent)
        self.assert_frame(2, sent)
        self.assert_silence([REPORT_PORT])
        self.report_to_collector()
        self.send(1, sent)
        self.collect_reports(1)
        # Unset action: restores the program's default.
        self.client.write(MODIFY, self.client.entry("Egress.report_to"))
        self.send(1, sent)
        self.assert_silence([REPORT_PORT])


class NotReported(Tidemark):
    """Flooded packets and packets other than IP."""

    def runTest(self):
        self.watch()
        self.watch6()
        self.report_to_collector()
        self.send(1, packets.tcp(1, 99))
        arp = Ether(src=packets.mac(1), dst=packets.mac(2)) / ARP(
            hwsrc=packets.mac(1), psrc=packets.address(1), pdst=packets.address(2)
        )
        other = raw(packets.tcp(1, 2))[:12] + b"\x88\xb5" + b"x" * 50
        for frame in (raw(arp), other):
            self.send(1, frame)
        self.assert_silence([REPORT_PORT])
        # If dropped, they are not reported either.
        self.limit(2, "drop_tail", 0)
        self.dataplane.flush()
        for frame in (raw(arp), other):
            self.send(1, frame)
        self.assert_silence()
