# SPDX-License-Identifier: Apache-2.0
"""The limit of an egress queue: who is the last admitted, who the first dropped.

A port is slowed so that every frame takes longer than the burst. The first
frame goes straight into transmission and is not counted; the others wait.
"""

import time

from scapy.compat import raw
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from tidemark_ptf import packets, report
from tidemark_ptf.base import REPORT_PORT, Tidemark
from tidemark_ptf.p4rt import DELETE, MODIFY
from tidemark_ptf.report import TelemetryReport

FRAME = 500
# Far above what sending a burst takes, so that nothing leaves meanwhile.
SERVICE_S = 0.4
# The frame in transmission must have left the queue before the others come.
SETTLE_S = 0.1


class Burst(Tidemark):
    """Helpers; no test of its own."""

    def burst(self, count, port=2, ecn=0):
        """Idents from 100 on: one into transmission, `count` to wait."""
        for i in range(count + 1):
            self.send(1, packets.tcp(1, port, FRAME, ident=100 + i, ecn=ecn))
            if i == 0:
                time.sleep(SETTLE_S)

    def idents(self, frames):
        return [Ether(f)[IP].id for f in frames]

    def admitted(self, port=2):
        """Idents of what leaves, until nothing does for three services."""
        return self.idents(self.collect(port, 100, 3 * SERVICE_S))


def boundary(limit_bytes, waiting):
    """A test: with this limit `waiting` frames of a burst may wait."""

    class Boundary(Burst):
        def runTest(self):
            self.limit(2, "drop_tail", limit_bytes)
            self.watch()
            self.report_to_collector()
            self.slow(2, SERVICE_S, FRAME)
            self.burst(waiting + 2)
            last_admitted = 100 + waiting
            self.assertEqual(self.admitted(), list(range(100, last_admitted + 1)))
            reports = self.collect_reports(waiting + 1 + 2)
            drops = [r for r in reports if r[TelemetryReport].dropped]
            inner = [IP(r[TelemetryReport].inner).id for r in drops]
            self.assertEqual(inner, [last_admitted + 1, last_admitted + 2])
            for r in drops:
                self.assertEqual(r[TelemetryReport].occupancy, waiting * FRAME)
                self.assertEqual(r[TelemetryReport].limit, limit_bytes)
            seen = [r[TelemetryReport].occupancy for r in reports if r not in drops]
            self.assertEqual(seen, [0, *(i * FRAME for i in range(waiting))])

    return Boundary


class LimitOfOneByte(boundary(1, 1)):
    """One frame still waits: the limit is compared on arrival."""


class LimitOfTwoFrames(boundary(2 * FRAME, 2)):
    pass


class LimitBelowTwoFrames(boundary(2 * FRAME - 1, 2)):
    pass


class LimitAboveTwoFrames(boundary(2 * FRAME + 1, 3)):
    pass


class LimitZeroDropsAll(Tidemark):
    def runTest(self):
        self.limit(2, "drop_tail", 0)
        for i in range(3):
            self.send(1, packets.tcp(1, 2, ident=i))
        self.assert_silence()


class UnlimitedByDefault(Burst):
    def runTest(self):
        self.slow(2, 0.05, FRAME)
        self.burst(20)
        self.assertEqual(self.admitted(), list(range(100, 121)))


class QueueDrains(Burst):
    """What left makes room: the count of waiting bytes comes back to zero."""

    def runTest(self):
        self.limit(2, "drop_tail", 2 * FRAME)
        self.watch()
        self.report_to_collector()
        self.slow(2, SERVICE_S, FRAME)
        for _ in range(2):
            self.burst(3)
            self.assertEqual(self.admitted(), [100, 101, 102])
            last = self.collect_reports(4)
            self.assertEqual(max(r[TelemetryReport].occupancy for r in last), 2 * FRAME)


class LimitsArePerPort(Burst):
    def runTest(self):
        self.limit(2, "drop_tail", 1)
        self.slow(2, SERVICE_S, FRAME)
        self.slow(3, SERVICE_S, FRAME)
        self.burst(3, port=2)
        self.burst(3, port=3)
        self.assertEqual(self.admitted(2), [100, 101])
        self.assertEqual(self.admitted(3), [100, 101, 102, 103])


class LimitChangesWhileQueued(Burst):
    """A lower limit evicts nothing; a higher one admits at once."""

    def runTest(self):
        self.limit(2, "drop_tail", 3 * FRAME)
        self.slow(2, SERVICE_S, FRAME)
        self.burst(3)
        # Each time: a write must not overtake the packets before it. (A frame
        # that leaves meanwhile changes nothing.)
        time.sleep(SETTLE_S)
        self.limit(2, "drop_tail", FRAME, MODIFY)
        self.send(1, packets.tcp(1, 2, FRAME, ident=200))
        time.sleep(SETTLE_S)
        self.limit(2, "drop_tail", 4 * FRAME, MODIFY)
        self.send(1, packets.tcp(1, 2, FRAME, ident=201))
        time.sleep(SETTLE_S)
        entity = self.client.entry("Ingress.queue_limit", {"egress_port": 2})
        self.client.write(DELETE, entity)
        self.send(1, packets.tcp(1, 2, FRAME, ident=202))
        self.assertEqual(self.admitted(), [100, 101, 102, 103, 201, 202])


class DropReport(Burst):
    """Every field of the report of a dropped packet."""

    def runTest(self):
        self.limit(2, "drop_tail", FRAME)
        self.watch({"dst_port": 2000})
        self.report_to_collector()
        self.slow(2, SERVICE_S, FRAME)
        self.burst(3)
        self.admitted()
        frames = self.collect(REPORT_PORT, 4)
        drops = [f for f in frames if self.parse_report(f)[TelemetryReport].dropped]
        self.assertEqual(len(drops), 2)
        for i, frame in enumerate(drops):
            self.assertEqual(len(frame), 14 + 20 + 8 + 88)
            r = self.parse_report(frame)[TelemetryReport]
            self.assertEqual((r.hw_id, r.sequence), (1, i))
            self.assertEqual((r.dropped, r.congested, r.tracked), (1, 1, 1))
            self.assertEqual(r.metadata_bits, report.DROPPED_BITS)
            self.assertEqual(r.length_words, 2 + 7 + 10)
            self.assertEqual(r.metadata_length_words, 7)
            self.assertEqual((r.ingress_port, r.egress_port), (1, 2))
            self.assertEqual((r.queue_id, r.occupancy, r.limit), (0, FRAME, FRAME))
            self.assertEqual((r.drop_queue_id, r.drop_reason), (0, report.TAIL_DROP))
            self.assertEqual((r.sampling_shift, r.policy_flags, r.domain_status), (0, 0, 0))
            sent = packets.tcp(1, 2, FRAME, ident=102 + i)
            self.assertEqual(r.inner, raw(sent)[14 : 14 + 40])
