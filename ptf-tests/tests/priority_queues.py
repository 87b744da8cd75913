# SPDX-License-Identifier: GPL-2.0-only
"""Priority queues of a port: which packets take which, and each queue's limit, occupancy and
number in reports.

The switch has four queues. In the embedded switch they share the line of their port; in BMv2
each has a rate of its own, so that there the first frame of each goes into transmission.
"""

import time

from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from tidemark_ptf import packets, report
from tidemark_ptf.base import Tidemark
from tidemark_ptf.report import TelemetryReport

FRAME = 500
SETTLE_S = 0.1
EXPEDITED = 46
LOW, HIGH = 0, 1


class Queues(Tidemark):
    """Helpers; not a test itself."""

    def two_queues(self):
        """Sets up two queues; expedited packets take queue 1."""
        self.queues(2)
        self.use_queue(HIGH, dscp=EXPEDITED)
        self.watch()
        self.report_to_collector()

    def send_tagged(self, dscps, port=2, ident=100, ecn=0):
        """Sends idents in order; the first goes into transmission, for each queue if possible."""
        for i, dscp in enumerate(dscps):
            self.send(1, packets.tcp(1, port, FRAME, ident=ident + i, dscp=dscp, ecn=ecn))
            if dscp not in dscps[:i]:
                time.sleep(SETTLE_S)

    def reports_of(self, count):
        """Returns the reports by queue and ident."""
        by_queue = {}
        for packet in self.collect_reports(count):
            r = packet[TelemetryReport]
            by_queue.setdefault(r.queue_id, {})[IP(r.inner).id] = r
        return by_queue


class EachQueueHasItsLimit(Queues):
    """Both fill at once: neither counts the other's bytes, applies the other's limit, or reports
    the other's number. Done twice, as frames that leave must make room in their own queue."""

    def runTest(self):
        self.two_queues()
        self.limit(2, "drop_tail", 2 * FRAME)
        self.limit(2, "drop_tail", 3 * FRAME, queue=HIGH)
        self.slow(2, FRAME)
        # One is in transmission; three of the lower queue follow, five of the upper.
        sent = [0, 0, 0, 0, *[EXPEDITED] * 5]
        high = 3 if self.switch == "embedded" else 4
        for _ in range(2):
            self.send_tagged(sent)
            left = [Ether(f)[IP].id for f in self.collect_slow(2, 3 + high)]
            self.assertEqual([i for i in left if i < 104], [100, 101, 102])
            self.assertEqual([i for i in left if i >= 104], [*range(104, 104 + high)])
            if self.switch == "embedded":
                self.assertEqual(left, [100, 104, 105, 106, 101, 102], "the upper queue first")
            by_queue = self.reports_of(len(sent))
            self.assertEqual(set(by_queue), {LOW, HIGH})
            low, upper = by_queue[LOW], by_queue[HIGH]
            self.assertEqual(sorted(low), [100, 101, 102, 103])
            self.assertEqual(sorted(upper), [*range(104, 109)])
            self.assertEqual([low[i].occupancy // FRAME for i in sorted(low)], [0, 0, 1, 2])
            waited = [0, 1, 2, 3, 3] if self.switch == "embedded" else [0, 0, 1, 2, 3]
            self.assertEqual([upper[i].occupancy // FRAME for i in sorted(upper)], waited)
            self.assertEqual({r.limit for r in low.values()}, {2 * FRAME})
            self.assertEqual({r.limit for r in upper.values()}, {3 * FRAME})
            for r in (low[103], upper[108]):
                self.assertEqual((r.dropped, r.drop_reason), (1, report.TAIL_DROP))
                self.assertEqual(r.drop_queue_id, r.queue_id)


class AQueueMarksByItself(Queues):
    """A threshold of the upper queue marks no packets of the lower."""

    def runTest(self):
        self.two_queues()
        self.mark_ce(2, FRAME, queue=HIGH)
        self.slow(2, FRAME)
        sent = [0, 0, 0, *[EXPEDITED] * 3]
        self.send_tagged(sent, ecn=2)
        marks = {Ether(f)[IP].id: Ether(f)[IP].tos & 3 for f in self.collect_slow(2, len(sent))}
        at_once = 103 if self.switch == "embedded" else 104
        self.assertEqual(marks, {i: 3 if i > at_once else 2 for i in range(100, 106)})


class QueuesArePerPort(Queues):
    """Queue 1 of one port is not that of another."""

    def runTest(self):
        self.two_queues()
        self.limit(2, "drop_tail", 0, queue=HIGH)
        self.send(1, packets.tcp(1, 2, FRAME, ident=100, dscp=EXPEDITED))
        self.send(1, packets.tcp(1, 3, FRAME, ident=101, dscp=EXPEDITED))
        self.assertEqual([Ether(f)[IP].id for f in self.collect(3, 1)], [101])
        dropped = {
            IP(p[TelemetryReport].inner).id: p[TelemetryReport].dropped
            for p in self.collect_reports(2)
        }
        self.assertEqual(dropped, {100: 1, 101: 0})
        self.assert_silence([2])


class APriorityWithoutAQueueIsTheHighest(Queues):
    """Uses the highest queue instead, as the switch would drop the packet."""

    def runTest(self):
        self.use_queue(7, dscp=EXPEDITED)
        self.watch()
        self.report_to_collector()
        for count, queue in ((None, 0), (1, 0), (2, 1), (4, 3)):
            if count is not None:
                self.queues(count)
            self.send(1, packets.tcp(1, 2, FRAME, dscp=EXPEDITED))
            self.assertEqual(len(self.collect(2, 1)), 1, f"of {count} queues")
            (packet,) = self.collect_reports(1)
            self.assertEqual(packet[TelemetryReport].queue_id, queue, f"of {count} queues")


class PacketsTakeTheFirstQueueThatMatches(Queues):
    """Queues are selected by code point (also for IPv6) and port; the higher priority wins."""

    def runTest(self):
        self.queues(4)
        self.use_queue(1, dscp=EXPEDITED)
        self.use_queue(2, priority=5, egress_port=3)
        self.watch()
        self.watch6()
        self.report_to_collector()
        for packet, port, queue in (
            (packets.tcp(1, 2, dscp=EXPEDITED), 2, 1),
            (packets.tcp(1, 2, dscp=EXPEDITED - 1), 2, 0),
            (packets.tcp6(1, 2, dscp=EXPEDITED), 2, 1),
            (packets.tcp(1, 3), 3, 2),
            (packets.tcp6(1, 3, dscp=EXPEDITED), 3, 1),
        ):
            self.send(1, packet)
            self.assert_frame(port, packet)
            (told,) = self.collect_reports(1)
            self.assertEqual(told[TelemetryReport].queue_id, queue)
