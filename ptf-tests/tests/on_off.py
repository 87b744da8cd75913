# SPDX-License-Identifier: GPL-2.0-only
"""Reports on or off per egress port, while traffic flows."""

from tidemark_ptf import packets
from tidemark_ptf.base import REPORT_PORT, Tidemark
from tidemark_ptf.p4rt import DELETE, MODIFY
from tidemark_ptf.report import TelemetryReport


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


class OffByDefaultOnForOnePort(Tidemark):
    def runTest(self):
        self.report_to_collector()
        self.watch()
        self.client.write(
            MODIFY, self.client.entry("Ingress.report_port", action="Ingress.report_off")
        )
        self.report_port(3, on=True)
        self.send(1, packets.tcp(1, 2))
        self.send(1, packets.tcp(1, 3))
        (packet,) = self.collect_reports(1)
        self.assertEqual(packet[TelemetryReport].egress_port, 3)
        self.assert_silence([REPORT_PORT])


class NumbersHaveNoGapWhileOff(Tidemark):
    """Packets that are not reported have no number, so off does not look like loss."""

    def runTest(self):
        self.report_to_collector()
        self.watch()
        numbers = []
        for off in (False, True, False):
            if off:
                self.report_port(2, on=False)
            self.send(1, packets.tcp(1, 2))
            self.assertIsNotNone(self.receive(2))
            if off:
                self.assert_silence([REPORT_PORT])
                entity = self.client.entry("Ingress.report_port", {"egress_port": 2})
                self.client.write(DELETE, entity)
            else:
                (packet,) = self.collect_reports(1)
                numbers.append(packet[TelemetryReport].sequence)
        self.assertEqual(numbers, [0, 1])
