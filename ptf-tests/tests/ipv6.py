# SPDX-License-Identifier: GPL-2.0-only
"""IPv6: reported like IPv4, by its own header; extension headers; marking."""

import struct
import time
import zlib

from scapy.compat import raw
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from tidemark_ptf import base, packets, report
from tidemark_ptf.base import REPORT_PORT, Tidemark
from tidemark_ptf.report import TelemetryReport

FRAME = 500


class Watched6(Tidemark):
    """Helpers; not a test itself."""

    def setUp(self):
        super().setUp()
        self.watch6()
        self.report_to_collector()

    def one_report(self, sent):
        """Sends a packet; it leaves unchanged, and has exactly one report."""
        self.send(1, sent)
        self.assert_frame(2, sent)
        (packet,) = self.collect_reports(1)
        return packet


class Forwarded(Watched6):
    def runTest(self):
        for sent in (packets.tcp6(1, 2, 300, flags="PA"), packets.tcp6(1, 2, 74)):
            packet = self.one_report(sent)
            self.assertEqual(packet[UDP].len, 8 + 112)
            r = packet[TelemetryReport]
            self.assertEqual((r.version, r.hw_id, r.node_id), (2, 0, base.NODE_ID))
            self.assertEqual((r.report_type, r.inner_type), (1, report.INNER_IPV6))
            self.assertEqual((r.length_words, r.metadata_length_words), (2 + 8 + 15, 8))
            self.assertEqual(r.metadata_bits, report.FORWARDED_BITS)
            self.assertEqual((r.dropped, r.congested, r.tracked), (0, 0, 1))
            self.assertEqual((r.ingress_port, r.egress_port), (1, 2))
            self.assertEqual((r.queue_id, r.occupancy, r.limit), (0, 0, report.UNLIMITED))
            self.assertGreaterEqual(r.egress_ns, r.ingress_ns)
            self.assertEqual(r.inner, raw(sent)[14:74])
        # Spread by the hash of the five-tuple.
        l4 = struct.pack("!BHH", 6, 1000, 2000)
        expected = zlib.crc32(raw(sent[IPv6])[8:40] + l4) & 3
        self.assertEqual(packet[UDP].sport, base.SOURCE_PORT_BASE + expected)


class Udp(Watched6):
    """UDP headers are padded to the length of TCP's."""

    def runTest(self):
        for sent in (packets.udp6(1, 2, 300), packets.udp6(1, 2, 62)):
            packet = self.one_report(sent)
            self.assertEqual(packet[UDP].len, 8 + 112)
            self.assertEqual(packet[TelemetryReport].inner, raw(sent)[14:62] + bytes(12))


class OtherProtocols(Watched6):
    """Protocols without ports are reported without ports."""

    def runTest(self):
        entry = self.watch6({"src_port": 0, "dst_port": 0, "protocol": 58}, priority=20, shift=0)
        self.assertIsNotNone(entry)
        sent = (
            Ether(src=packets.mac(1), dst=packets.mac(2))
            / IPv6(src=packets.address6(1), dst=packets.address6(2), nh=58)
            / Raw(b"\x80\x00" + b"y" * 62)
        )
        r = self.one_report(sent)[TelemetryReport]
        self.assertEqual(r.inner, raw(sent)[14:54] + bytes(20))


class Extensions(Watched6):
    """Protocol and ports are those after the extension headers, which the report
    repeats."""

    def runTest(self):
        self.watch6({"protocol": 6, "dst_port": 2000}, priority=20)
        self.watch6(priority=10, action="ignore", kind=base.MODIFY)
        options = [PadN(optdata=b"p" * 20)]
        chains = {
            "hop by hop": [IPv6ExtHdrHopByHop()],
            "destination options": [IPv6ExtHdrDestOpt(options=options)],
            "routing": [IPv6ExtHdrRouting(addresses=["2001:db8::7"])],
            "authentication": [AH(nh=6, payloadlen=4, spi=1, seq=2, icv=b"i" * 12)],
            "whole packet in a fragment header": [IPv6ExtHdrFragment(offset=0, m=0, id=5)],
            "three": [
                IPv6ExtHdrHopByHop(),
                IPv6ExtHdrRouting(addresses=["2001:db8::7"]),
                IPv6ExtHdrDestOpt(options=options),
            ],
            "64 bytes": [IPv6ExtHdrDestOpt(options=[PadN(optdata=b"q" * 60)])],
        }
        for name, chain in chains.items():
            with self.subTest(name):
                sent = packets.tcp6(1, 2, 300, extensions=chain)
                extra = sum(len(raw(e)) for e in chain)
                self.assertEqual(extra % 8, 0, "test data")
                packet = self.one_report(sent)
                r = packet[TelemetryReport]
                self.assertEqual(r.length_words, 2 + 8 + 15 + extra // 4)
                self.assertEqual(r.inner, raw(sent)[14 : 74 + extra])
        self.assert_silence([REPORT_PORT])


class BeyondTheParser(Watched6):
    """Header chains that the program does not follow are forwarded; a report could not
    say what they carry."""

    def runTest(self):
        hop = IPv6ExtHdrHopByHop()
        for name, chain in {
            "four": [hop, *[IPv6ExtHdrDestOpt()] * 3],
            "72 bytes": [IPv6ExtHdrDestOpt(options=[PadN(optdata=b"q" * 68)])],
        }.items():
            with self.subTest(name):
                sent = packets.tcp6(1, 2, 300, extensions=chain)
                self.send(1, sent)
                self.assert_frame(2, sent)
        self.assert_silence([REPORT_PORT])


class Fragments(Watched6):
    """The first fragment has ports, the others have none."""

    def runTest(self):
        self.watch6({"src_port": 1000, "dst_port": 2000}, priority=20)
        self.watch6({"src_port": 0, "dst_port": 0, "protocol": 17}, priority=20)
        self.watch6(priority=10, action="ignore", kind=base.MODIFY)
        first = packets.udp6(1, 2, 302, extensions=[IPv6ExtHdrFragment(offset=0, m=1, id=9)])
        r = self.one_report(first)[TelemetryReport]
        self.assertEqual(r.length_words, 2 + 8 + 15 + 2)
        self.assertEqual(r.inner, raw(first)[14:70] + bytes(12))
        # Its data could be taken for the ports 1000 and 2000.
        fragment = IPv6ExtHdrFragment(offset=30, m=0, id=9, nh=17)
        later = (
            Ether(src=packets.mac(1), dst=packets.mac(2))
            / IPv6(src=packets.address6(1), dst=packets.address6(2))
            / fragment
            / Raw(struct.pack("!HH", 1000, 2000) * 20)
        )
        r = self.one_report(later)[TelemetryReport]
        self.assertEqual(r.inner, raw(later)[14:62] + bytes(20))
        self.assert_silence([REPORT_PORT])


class Malformed(Watched6):
    """Malformed packets are forwarded unchanged, never reported: a report could not be correct."""

    def runTest(self):
        whole = raw(packets.tcp6(1, 2, 100))
        short = bytearray(whole)
        short[18:20] = struct.pack("!H", 19)
        for name, frame in {
            "cut in the IPv6 header": whole[:40] + b"",
            "cut in TCP": whole[:70],
            "TCP beyond the payload length": bytes(short),
            "not version 6": whole[:14] + b"\x40" + whole[15:],
            "cut in an extension header": raw(
                packets.tcp6(1, 2, 100, extensions=[IPv6ExtHdrHopByHop()])
            )[:60],
        }.items():
            with self.subTest(name):
                padded = frame + bytes(max(0, 60 - len(frame)))
                self.send(1, padded)
                self.assertEqual(self.receive(2), padded)
        self.assert_silence([REPORT_PORT])


class DropReport(Watched6):
    def runTest(self):
        self.limit(2, "drop_tail", 0)
        sent = packets.tcp6(1, 2, 300)
        self.send(1, sent)
        (packet,) = self.collect_reports(1)
        self.assertEqual(packet[UDP].len, 8 + 108)
        r = packet[TelemetryReport]
        self.assertEqual((r.hw_id, r.inner_type), (1, report.INNER_IPV6))
        self.assertEqual((r.dropped, r.congested), (1, 1))
        self.assertEqual((r.length_words, r.metadata_length_words), (2 + 7 + 15, 7))
        self.assertEqual(r.metadata_bits, report.DROPPED_BITS)
        self.assertEqual((r.drop_queue_id, r.drop_reason), (0, report.TAIL_DROP))
        self.assertEqual(r.inner, raw(sent)[14:74])
        self.assert_silence()


class MarkCe(Watched6):
    """Marks the last two bits of the traffic class, and changes nothing else."""

    def runTest(self):
        not_ect, ect_1, ect_0, ce = 0, 1, 2, 3
        self.mark_ce(2, FRAME)
        self.slow(2, FRAME)
        ecn = [ect_0, ect_0, ect_0, ect_1, ce, not_ect]
        dscp = 0xB8
        sent = [packets.tcp6(1, 2, FRAME, ecn=dscp | e, seq=i) for i, e in enumerate(ecn)]
        for i, p in enumerate(sent):
            self.send(1, p)
            if i == 0:
                time.sleep(0.1)
        frames = self.collect_slow(2, 5)
        marks = [ect_0, ect_0, ce, ce, ce]
        expected = [packets.tcp6(1, 2, FRAME, ecn=dscp | e, seq=i) for i, e in enumerate(marks)]
        self.assertEqual(frames, [raw(p) for p in expected])
        by_seq = {}
        for packet in self.collect_reports(6):
            r = packet[TelemetryReport]
            by_seq[struct.unpack("!I", r.inner[44:48])[0]] = r
        self.assertEqual([by_seq[i].congested for i in range(6)], [0, 0, 1, 1, 1, 1])
        self.assertEqual([by_seq[i].policy_flags for i in range(6)], [0, 0, 1, 1, 0, 0])
        self.assertEqual((by_seq[5].dropped, by_seq[5].drop_reason), (1, report.AQM_DROP))
        # The packet as it left.
        self.assertEqual(by_seq[2].inner, raw(expected[2])[14:74])
