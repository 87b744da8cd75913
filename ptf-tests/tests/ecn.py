# SPDX-License-Identifier: GPL-2.0-only
"""Marking instead of dropping (RFC 3168)."""

import time

from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from tidemark_ptf import packets, report
from tidemark_ptf.base import Tidemark
from tidemark_ptf.report import TelemetryReport

FRAME = 500
NOT_ECT, ECT_1, ECT_0, CE = 0, 1, 2, 3


class MarkCe(Tidemark):
    def runTest(self):
        self.mark_ce(2, 2 * FRAME)
        self.watch()
        self.report_to_collector()
        self.slow(2, FRAME)
        # In transmission, then two below the limit, then at and above it.
        ecn = [ECT_0, ECT_0, ECT_1, ECT_0, ECT_1, CE, NOT_ECT]
        for i, bits in enumerate(ecn):
            self.send(1, packets.tcp(1, 2, FRAME, ident=i, ecn=bits))
            if i == 0:
                time.sleep(0.1)
        frames = [Ether(f) for f in self.collect_slow(2, 6)]
        self.assertEqual([f[IP].id for f in frames], [0, 1, 2, 3, 4, 5])
        marks = [f[IP].tos & 3 for f in frames]
        self.assertEqual(marks, [ECT_0, ECT_0, ECT_1, CE, CE, CE])
        for f in frames:
            self.assertTrue(report.ip_checksum_is_valid(f[IP]))
            self.assertEqual(f[IP].tos >> 2, 0, "DSCP is left alone")

        reports = [p[TelemetryReport] for p in self.collect_reports(7)]
        by_ident = {IP(r.inner).id: r for r in reports}
        congested = [by_ident[i].congested for i in range(7)]
        self.assertEqual(congested, [0, 0, 0, 1, 1, 1, 1])
        flags = [by_ident[i].policy_flags for i in range(7)]
        # The sixth arrived marked: congestion, but not marked by this switch.
        self.assertEqual(flags, [0, 0, 0, 1, 1, 0, 0])
        dropped = by_ident[6]
        self.assertEqual((dropped.dropped, dropped.drop_reason), (1, report.AQM_DROP))
        self.assertEqual(dropped.limit, 2 * FRAME)
        # The report shows the packet as it left.
        self.assertEqual(IP(by_ident[3].inner).tos & 3, CE)


class ForeignProtocolsAreDroppedNotMarked(Tidemark):
    def runTest(self):
        self.mark_ce(2, 0)
        self.send(1, Ether(src=packets.mac(1), dst=packets.mac(2), type=0x88B5) / (b"x" * 60))
        self.assert_silence()
        marked = packets.udp(1, 2, ecn=ECT_0)
        self.send(1, marked)
        frame = Ether(self.receive(2))
        self.assertEqual(frame[IP].tos, CE)
        self.assertTrue(report.ip_checksum_is_valid(frame[IP]))
