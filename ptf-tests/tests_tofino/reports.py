# SPDX-License-Identifier: GPL-2.0-only
"""Reports of forwarded packets: fields, lengths and numbers, for all kinds of headers."""

from scapy.compat import raw
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from tidemark_ptf import base, packets, report
from tidemark_ptf.base import REPORT_PORT
from tidemark_ptf.report import TelemetryReport
from tidemark_ptf.tofino import Tofino

KINDS = {
    "tcp": (packets.tcp, 40),
    "udp": (packets.udp, 28),
    "tcp6": (packets.tcp6, 60),
    "udp6": (packets.udp6, 48),
}


class EveryPacket(Tofino):
    """All headers, with and without a tag, from the shortest frame to 1518 bytes with its FCS."""

    def runTest(self):
        self.watch_all()
        number = None
        for kind, (make, header_bytes) in KINDS.items():
            for tag in (False, True):
                for frame_bytes in (60, 74, 128, 300, 1024, 1514):
                    if frame_bytes < 14 + header_bytes:
                        continue
                    plain = make(1, 2, frame_bytes)
                    sent = packets.tagged(plain) if tag else plain
                    with self.subTest(kind=kind, tag=tag, frame_bytes=frame_bytes):
                        self.send(1, sent)
                        self.assert_frame(2, sent)
                        number = self.check(plain, header_bytes, number)
        self.assert_silence([REPORT_PORT])

    def check(self, plain, header_bytes, number):
        packet = self.report()
        self.assertEqual(packet[Ether].type, 0x0800, "the report itself is untagged")
        self.assertEqual(packet[UDP].dport, base.UDP_PORT)
        v6 = IPv6 in plain
        self.assertEqual(packet[UDP].len, 8 + (112 if v6 else 92))
        r = packet[TelemetryReport]
        self.assertEqual((r.version, r.node_id), (2, base.NODE_ID))
        self.assertEqual(r.inner_type, report.INNER_IPV6 if v6 else report.INNER_IPV4)
        self.assertEqual((r.dropped, r.congested, r.tracked), (0, 0, 1))
        self.assertEqual(r.metadata_bits, report.FORWARDED_BITS)
        self.assertEqual((r.domain, r.domain_status), (report.DOMAIN_TIDEMARK, 0))
        self.assert_ports(r, 1, 2)
        self.assertEqual(r.queue_id, 0)
        self.assertGreater(r.ingress_ns, 0)
        self.assertGreaterEqual(r.egress_ns, r.ingress_ns)
        self.assertEqual(r.limit, report.UNLIMITED)
        self.assertEqual((r.sampling_shift, r.policy_flags, r.policy_reserved), (0, 0, 0))
        # Numbers of one pipe are consecutive.
        if number is not None:
            self.assertEqual(r.sequence, number + 1)
        # Starts at the IP header; after a UDP header it is padded with zeros.
        self.assertEqual(r.inner[:header_bytes], raw(plain)[14 : 14 + header_bytes])
        self.assertEqual(r.inner[header_bytes:].strip(b"\0"), b"")
        return r.sequence


class NotReported(Tofino):
    """Flooded packets, packets that are not watched, and packets without IP."""

    def runTest(self):
        self.watch({"dst_port": 2000})
        self.send(1, packets.tcp(1, 99))
        self.send(1, packets.tcp(1, 2, dport=2001))
        self.send(1, raw(packets.tcp(1, 2))[:12] + b"\x88\xb5" + b"x" * 50)
        self.assert_silence([REPORT_PORT])
        self.send(1, packets.tcp(1, 2))
        self.report()


class Numbers(Tofino):
    """One series of numbers for all ports of a pipe, including drops."""

    def runTest(self):
        self.watch_all()
        self.limit(2, "drop_tail", limit_cells=0)
        seen = []
        for i in range(20):
            self.send(1, packets.tcp(1, 2 + i % 3, ident=i))
            r = self.report()[TelemetryReport]
            self.assertEqual(r.dropped, int(i % 3 == 0))
            seen.append(r.sequence)
        self.assertEqual(seen, list(range(seen[0], seen[0] + 20)))
