# SPDX-License-Identifier: GPL-2.0-only
"""The limit of an egress queue: which packet is the last admitted, and which the first dropped.

A port is slowed so that every frame takes longer than the burst. The first
frame goes straight into transmission and is not counted; the others wait.

If a port marks, the threshold acts first and the limit refuses everything
(`ecn.py` checks what a mark looks like).
"""

import time

from scapy.compat import raw
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from tidemark_ptf import packets, report
from tidemark_ptf.base import PATIENCE_S, REPORT_PORT, Tidemark
from tidemark_ptf.p4rt import DELETE, MODIFY
from tidemark_ptf.report import TelemetryReport

FRAME = 500
# The frame in transmission must have left the queue before the others arrive.
SETTLE_S = 0.1


class Burst(Tidemark):
    """Helpers; not a test itself."""

    def burst(self, count, port=2, ecn=0):
        """Sends idents from 100 on: one goes into transmission, `count` wait."""
        for i in range(count + 1):
            self.send(1, packets.tcp(1, port, FRAME, ident=100 + i, ecn=ecn))
            if i == 0:
                time.sleep(SETTLE_S)

    def idents(self, frames):
        return [Ether(f)[IP].id for f in frames]

    def assert_admitted(self, idents, port=2):
        """Asserts that exactly these frames leave."""
        self.assertEqual(self.idents(self.collect_slow(port, len(idents))), idents)

    def report_all(self):
        """Has all packets reported, which gives the switch's own times."""
        self.watch()
        self.report_to_collector()


def boundary(limit_bytes, waiting):
    """Makes a test: with this limit, `waiting` frames of a burst may wait."""

    class Boundary(Burst):
        def runTest(self):
            self.limit(2, "drop_tail", limit_bytes)
            self.report_all()
            self.slow(2, FRAME)
            self.burst(waiting + 2)
            last_admitted = 100 + waiting
            self.assert_admitted(list(range(100, last_admitted + 1)))
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
        self.slow(2, FRAME, 0.05)
        self.burst(20)
        self.assert_admitted(list(range(100, 121)))


class QueueDrains(Burst):
    """Frames that left make room: the count of waiting bytes comes back to zero."""

    def runTest(self):
        self.limit(2, "drop_tail", 2 * FRAME)
        self.report_all()
        self.slow(2, FRAME)
        for _ in range(2):
            self.burst(3)
            self.assert_admitted([100, 101, 102])
            last = self.collect_reports(4)
            self.assertEqual(max(r[TelemetryReport].occupancy for r in last), 2 * FRAME)


class LimitsArePerPort(Burst):
    def runTest(self):
        self.limit(2, "drop_tail", 1)
        self.report_all()
        self.slow(2, FRAME)
        self.slow(3, FRAME)
        self.burst(3, port=2)
        self.burst(3, port=3)
        self.assert_admitted([100, 101], 2)
        self.assert_admitted([100, 101, 102, 103], 3)


class LimitChangesWhileQueued(Burst):
    """A lower limit evicts nothing; a higher one admits at once."""

    def until_queued(self, waiting_bytes):
        """Waits until the switch has queued what was sent. BMv2 cannot be queried."""
        if self.switch == "bmv2":
            time.sleep(SETTLE_S)
            return
        deadline = time.monotonic() + PATIENCE_S
        while self.client.register("occupancy_bytes", 2) < waiting_bytes:
            self.assertLess(time.monotonic(), deadline, f"{waiting_bytes} bytes never waited")
            time.sleep(0.005)

    def until_dropped(self, ident):
        """Waits for the report of a drop, which the switch sends at once."""
        while True:
            (packet,) = self.collect_reports(1)
            r = packet[TelemetryReport]
            if r.dropped and IP(r.inner).id == ident:
                return

    def runTest(self):
        self.limit(2, "drop_tail", 3 * FRAME)
        self.report_all()
        self.slow(2, FRAME)
        self.burst(3)
        # In each step: a write must not overtake earlier packets.
        self.until_queued(3 * FRAME)
        self.limit(2, "drop_tail", FRAME, MODIFY)
        self.send(1, packets.tcp(1, 2, FRAME, ident=200))
        self.until_dropped(200)
        self.limit(2, "drop_tail", 4 * FRAME, MODIFY)
        self.send(1, packets.tcp(1, 2, FRAME, ident=201))
        self.until_queued(4 * FRAME)
        entity = self.client.entry("Ingress.queue_limit", {"egress_port": 2})
        self.client.write(DELETE, entity)
        self.send(1, packets.tcp(1, 2, FRAME, ident=202))
        self.assert_admitted([100, 101, 102, 103, 201, 202])


class DropReport(Burst):
    """Every field of the report of a dropped packet."""

    def runTest(self):
        self.limit(2, "drop_tail", FRAME)
        self.watch({"dst_port": 2000})
        self.report_to_collector()
        self.slow(2, FRAME)
        self.burst(3)
        self.assert_admitted([100, 101])
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


NOT_ECT, ECT_1, ECT_0, CE = 0, 1, 2, 3


class Marking(Burst):
    """Helpers; not a test itself."""

    def send_ecn(self, ecn):
        """Sends idents from 100 on with these ECN bits. The first goes into transmission."""
        self.slow(2, FRAME)
        for i, bits in enumerate(ecn):
            self.send(1, packets.tcp(1, 2, FRAME, ident=100 + i, ecn=bits))
            if i == 0:
                time.sleep(SETTLE_S)

    def assert_sent_on(self, expected):
        """Asserts that frames with exactly these idents and ECN bits leave, in order."""
        frames = [Ether(f)[IP] for f in self.collect_slow(2, len(expected))]
        self.assertEqual([(f.id, f.tos & 3) for f in frames], expected)

    def reports_by_ident(self, count):
        reports = [p[TelemetryReport] for p in self.collect_reports(count)]
        return {IP(r.inner).id: r for r in reports}


class ThresholdAndLimit(Marking):
    """Marked from the threshold on and refused from the limit on: exact to the byte, and
    depending on the packet's ECN capability."""

    def runTest(self):
        self.mark_ce(2, 2 * FRAME, 4 * FRAME)
        self.report_all()
        # One in transmission; nothing is done at occupancies of 0 and 1 frame; at 2 the
        # threshold acts, and refuses a packet that cannot be marked; at 3 it still
        # does; at 4 the limit refuses every packet, marked or not.
        sent = [ECT_0, NOT_ECT, ECT_1, NOT_ECT, ECT_0, NOT_ECT, ECT_1, ECT_0, CE, NOT_ECT]
        self.send_ecn(sent)
        self.assert_sent_on([(100, ECT_0), (101, NOT_ECT), (102, ECT_1), (104, CE), (106, CE)])
        r = self.reports_by_ident(len(sent))
        idents = range(100, 100 + len(sent))
        dropped = {i: r[i].drop_reason for i in idents if r[i].dropped}
        aqm, tail = report.AQM_DROP, report.TAIL_DROP
        self.assertEqual(dropped, {103: aqm, 105: aqm, 107: tail, 108: tail, 109: tail})
        met = [r[i].occupancy // FRAME for i in idents]
        self.assertEqual(met, [0, 0, 1, 2, 2, 3, 3, 4, 4, 4])
        self.assertEqual([r[i].congested for i in idents], [0, 0, 0, 1, 1, 1, 1, 1, 1, 1])
        # Refused packets are not marked.
        self.assertEqual([r[i].policy_flags for i in idents], [0, 0, 0, 0, 1, 0, 1, 0, 0, 0])
        for i in idents:
            self.assertEqual(r[i].limit, 2 * FRAME, "reports carry the threshold")
        self.assertEqual(IP(r[107].inner).tos & 3, ECT_0, "as it came")


def marking_boundary(threshold_bytes, limit_bytes, marked, waiting):
    """Makes a test: ECN-capable frames are marked from the `marked`th on, and `waiting`
    of them wait."""

    class Boundary(Marking):
        def runTest(self):
            self.mark_ce(2, threshold_bytes, limit_bytes)
            self.report_all()
            self.send_ecn([ECT_0] * (waiting + 3))
            expected = [(100, ECT_0)]
            expected += [(101 + i, CE if i >= marked else ECT_0) for i in range(waiting)]
            self.assert_sent_on(expected)

    return Boundary


class MarkingBelowOneFrame(marking_boundary(1, 2 * FRAME, 1, 2)):
    pass


class MarkingAtTwoFrames(marking_boundary(2 * FRAME, 3 * FRAME, 2, 3)):
    pass


class MarkingAboveTwoFrames(marking_boundary(2 * FRAME + 1, 4 * FRAME - 1, 3, 4)):
    pass


class LimitIsTestedFirst(marking_boundary(3 * FRAME, FRAME, 9, 1)):
    """A threshold above the limit has no effect (controllers refuse to set one)."""


class LimitOfAllOnesIsNone(Marking):
    def runTest(self):
        self.mark_ce(2, FRAME, report.UNLIMITED)
        self.report_all()
        self.send_ecn([ECT_0] * 10)
        marked = [(102 + i, CE) for i in range(8)]
        self.assert_sent_on([(100, ECT_0), (101, ECT_0), *marked])


class NotCapableAtTheLimitIsATailDrop(Marking):
    """Both would refuse the packet; the limit gives the reason."""

    def runTest(self):
        self.mark_ce(2, FRAME, FRAME)
        self.report_all()
        self.send_ecn([NOT_ECT, NOT_ECT, NOT_ECT])
        self.assert_sent_on([(100, NOT_ECT), (101, NOT_ECT)])
        r = self.reports_by_ident(3)
        self.assertEqual((r[102].dropped, r[102].drop_reason), (1, report.TAIL_DROP))


class RefusedFramesTakeNoRoom(Marking):
    """Frames refused by the threshold or by the limit are not counted as waiting."""

    def runTest(self):
        self.mark_ce(2, FRAME, 2 * FRAME)
        self.report_all()
        for _ in range(2):
            self.send_ecn([ECT_0, ECT_0, NOT_ECT, ECT_0, ECT_0, NOT_ECT])
            self.assert_sent_on([(100, ECT_0), (101, ECT_0), (103, CE)])
            r = self.reports_by_ident(6)
            self.assertEqual(max(x.occupancy for x in r.values()), 2 * FRAME)


class BothValuesAreReadBack(Tidemark):
    def runTest(self):
        self.mark_ce(2, 1000, 3000)
        self.mark_ce(2, 2000, 4000, MODIFY)
        entity = self.client.entry("Ingress.queue_limit", {"egress_port": 2})
        (read,) = self.client.read(entity)
        params = read.table_entry.action.action.params
        values = {p.param_id: int.from_bytes(p.value, "big") for p in params}
        self.assertEqual(values, {1: 2000, 2: 4000})
