# SPDX-License-Identifier: GPL-2.0-only
"""The numbers of reports, 22 bits wide, wrap without a gap."""

from tidemark_ptf import packets
from tidemark_ptf.base import Tidemark
from tidemark_ptf.report import TelemetryReport

LAST = (1 << 22) - 1
# The registers are wider than the numbers.
LAST_OF_REGISTER = (1 << 32) - 1


class Wrap(Tidemark):
    """Forwarded and dropped packets are numbered separately. Version and hw_id, above
    the number in the same word, receive no carry."""

    def runTest(self):
        self.watch()
        self.report_to_collector()
        self.limit(3, "drop_tail", 0)
        for last in (LAST, LAST_OF_REGISTER):
            with self.subTest(last=last):
                self.set_register("Egress.report_sequence", 0, last - 2)
                self.set_register("Ingress.drop_report_sequence", 0, last)
                seen = [(self.heading(2), self.heading(3)) for _ in range(6)]
                forwarded, dropped = zip(*seen, strict=True)
                numbers = [LAST - 2, LAST - 1, LAST, 0, 1, 2]
                self.assertEqual(list(forwarded), [(2, 0, n) for n in numbers])
                numbers = [LAST, 0, 1, 2, 3, 4]
                self.assertEqual(list(dropped), [(2, 1, n) for n in numbers])

    def heading(self, port):
        """Returns the first word of the report of one packet."""
        self.send(1, packets.tcp(1, port))
        (packet,) = self.collect_reports(1)
        r = packet[TelemetryReport]
        return r.version, r.hw_id, r.sequence
