# SPDX-License-Identifier: GPL-2.0-only
"""IPv4 fragments, options, protocols without ports, contradictory headers: a report
about them is correct, or there is none."""

import struct
import time
import zlib

from scapy.compat import raw
from scapy.layers.inet import IP, TCP, UDP, IPOption_NOP, IPOption_RR
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from tidemark_ptf import packets, report
from tidemark_ptf.base import MODIFY, REPORT_PORT, Tidemark
from tidemark_ptf.report import TelemetryReport


def ip(**fields):
    base = {"src": packets.address(1), "dst": packets.address(2)}
    return Ether(src=packets.mac(1), dst=packets.mac(2)) / IP(**base | fields)


class Watched(Tidemark):
    """Helpers; not a test itself."""

    def setUp(self):
        super().setUp()
        self.watch()
        self.report_to_collector()

    def one_report(self, sent):
        """Sends a packet; it leaves unchanged, and has exactly one report."""
        self.send(1, sent)
        self.assert_frame(2, sent)
        (packet,) = self.collect_reports(1)
        return packet


class Fragments(Watched):
    """The first fragment has ports; the others have none and match port 0."""

    def runTest(self):
        self.watch({"src_port": 1000, "dst_port": 2000}, priority=20)
        self.watch({"src_port": 0, "dst_port": 0, "protocol": 6}, priority=20)
        self.watch(priority=10, action="ignore", kind=MODIFY)
        first = ip(id=77, flags="MF") / TCP(sport=1000, dport=2000, seq=5) / Raw(b"a" * 60)
        packet = self.one_report(first)
        self.assertEqual(packet[UDP].len, 8 + 92)
        self.assertEqual(packet[TelemetryReport].inner, raw(first)[14:54])
        # Its data could be taken for the ports 1000 and 2000.
        data = Raw(struct.pack("!HH", 1000, 2000) * 20)
        for flags in ("MF", 0):
            later = ip(id=77, flags=flags, frag=10, proto=6) / data
            packet = self.one_report(later)
            self.assertEqual(packet[UDP].len, 8 + 92)
            r = packet[TelemetryReport]
            self.assertEqual(r.inner, raw(later)[14:34] + bytes(20))
            self.assertEqual(r.inner_packet.frag, 10)
        self.assert_silence([REPORT_PORT])


class DroppedFragment(Watched):
    def runTest(self):
        self.limit(2, "drop_tail", 0)
        later = ip(id=77, frag=10, proto=17) / Raw(b"z" * 60)
        self.send(1, later)
        (packet,) = self.collect_reports(1)
        self.assertEqual(packet[UDP].len, 8 + 88)
        self.assertEqual(packet[TelemetryReport].inner, raw(later)[14:34] + bytes(20))


class FragmentsAreSampledAlike(Watched):
    """Sampled by identification: all later fragments of a datagram, or none."""

    def runTest(self):
        self.watch(shift=1, kind=MODIFY)
        outcomes = set()
        for ident in (0x0003, 0x0A51, 0x1B7E, 0x5C02, 0x77F0, 0x93D9, 0xC4A6, 0xFEED):
            addresses = raw(ip())[26:34]
            data = addresses + struct.pack("!BHHHI", 17, 0, 0, ident, 0)
            sampled = zlib.crc32(data) % 2 == 0
            outcomes.add(sampled)
            for offset in (10, 20):
                sent = ip(id=ident, frag=offset, proto=17) / Raw(b"z" * 40)
                self.send(1, sent)
                self.assert_frame(2, sent)
                if sampled:
                    (packet,) = self.collect_reports(1)
                    self.assertEqual(packet[TelemetryReport].inner_packet.id, ident)
        self.assertEqual(len(outcomes), 2, "test data")
        self.assert_silence([REPORT_PORT])


class Options(Watched):
    """Ports come after the options; the report repeats the options."""

    def runTest(self):
        self.watch({"src_port": 1000, "dst_port": 2000}, priority=20)
        self.watch(priority=10, action="ignore", kind=MODIFY)
        for options in (
            [IPOption_NOP()] * 4,
            [IPOption_RR(routers=["10.9.9.9"])],
            [IPOption_NOP()] * 40,
        ):
            for l4, shown in ((TCP(sport=1000, dport=2000), 20), (UDP(sport=1000, dport=2000), 8)):
                sent = ip(options=options) / l4 / Raw(b"o" * 40)
                header = Ether(raw(sent))[IP].ihl * 4
                with self.subTest(header=header, shown=shown):
                    packet = self.one_report(sent)
                    r = packet[TelemetryReport]
                    self.assertEqual(r.length_words, 2 + 8 + header // 4 + 5)
                    inner = raw(sent)[14 : 14 + header + shown] + bytes(20 - shown)
                    self.assertEqual(r.inner, inner)
        later = ip(options=[IPOption_NOP()] * 4, frag=10, proto=6) / Raw(b"z" * 40)
        self.send(1, later)
        self.assert_frame(2, later)
        self.assert_silence([REPORT_PORT])


class OptionsMarkCe(Watched):
    """The header's checksum covers its options."""

    def runTest(self):
        self.mark_ce(2, 0)
        sent = ip(options=[IPOption_RR(routers=["10.9.9.9"])], tos=2) / TCP() / Raw(b"o" * 40)
        self.send(1, sent)
        frame = Ether(self.receive(2))
        self.assertEqual(frame[IP].tos, 3)
        self.assertTrue(report.ip_checksum_is_valid(frame[IP]))
        (packet,) = self.collect_reports(1)
        self.assertEqual(packet[TelemetryReport].inner, raw(frame)[14 : 14 + 28 + 20])


class OtherProtocols(Watched):
    """ICMP fills queues as well: reported, without ports."""

    def runTest(self):
        self.watch({"src_port": 0, "dst_port": 0, "protocol": 1}, priority=20)
        self.watch(priority=10, action="ignore", kind=MODIFY)
        for sent in (ip(proto=1) / Raw(b"\x08" + b"y" * 50),):
            packet = self.one_report(sent)
            self.assertEqual(packet[UDP].len, 8 + 92)
            self.assertEqual(packet[TelemetryReport].inner, raw(sent)[14:34] + bytes(20))
        self.send(1, ip(proto=47) / Raw(b"g" * 50))
        self.assert_silence([REPORT_PORT])


class Malformed(Watched):
    """Malformed packets are forwarded unchanged, never reported."""

    def runTest(self):
        whole = raw(packets.tcp(1, 2, 100))

        def changed(at, value):
            return whole[:at] + value + whole[at + len(value) :]

        for name, frame in {
            "cut in the IP header": whole[:30],
            "cut in TCP": whole[:50],
            "cut in options": raw(ip(options=[IPOption_NOP()] * 40) / TCP())[:60],
            "header of 16 bytes": changed(14, b"\x44"),
            "version 6": changed(14, b"\x65"),
            "no room for TCP": changed(16, struct.pack("!H", 39)),
            "shorter than its header": changed(16, struct.pack("!H", 19)),
            "length 0": changed(16, bytes(2)),
            # Legal, but a report would take the padding for TCP.
            "first fragment of 8 bytes": raw(ip(flags="MF", proto=6) / Raw(b"12345678")).ljust(
                60, b"\0"
            ),
        }.items():
            with self.subTest(name):
                self.send(1, frame)
                self.assertEqual(self.receive(2), frame)
        self.assert_silence([REPORT_PORT])


class MalformedAreCounted(Watched):
    """Malformed packets wait in the queue like any others and meet its limit."""

    def runTest(self):
        frame_bytes = 400
        self.limit(2, "drop_tail", frame_bytes)
        self.slow(2, frame_bytes)
        broken = bytearray(raw(packets.tcp(1, 2, frame_bytes)))
        broken[14] = 0x44
        self.send(1, packets.tcp(1, 2, frame_bytes, ident=1))
        time.sleep(0.1)
        self.send(1, bytes(broken))
        self.send(1, packets.tcp(1, 2, frame_bytes, ident=2))
        self.assertEqual(len(self.collect(2, 3, 1.0)), 2)
        reports = {IP(r.inner).id: r for r in (p[TelemetryReport] for p in self.collect_reports(2))}
        self.assertEqual((reports[2].dropped, reports[2].occupancy), (1, frame_bytes))
