# SPDX-License-Identifier: Apache-2.0
"""Speed of bursts by the switch's own clock.

A test of a queue slows a port, so that nothing leaves while a burst arrives. On a busy
machine the burst may take longer, so that frames do leave; then the test says nothing about
the switch. The wall clock cannot show this, but the times in the switch's reports can.
"""

from collections import defaultdict


class OwnTime:
    """Packets sent to slowed ports, and when the switch received them."""

    def __init__(self):
        # Packets per burst; a burst ends when the test waits for frames that leave.
        self._sent = [0]
        # Reception time in ns, and egress port.
        self._received: list[tuple[int, int]] = []

    def sent(self):
        self._sent[-1] += 1

    def waited(self):
        if self._sent[-1]:
            self._sent.append(0)

    def received(self, time_ns: int, egress_port: int):
        self._received.append((time_ns, egress_port))

    def longest_burst_ns(self) -> int | None:
        """Returns the longest burst to a port, first to last packet; None without all reports."""
        if len(self._received) != sum(self._sent):
            return None
        rest = sorted(self._received)
        longest = 0
        for size in self._sent:
            burst, rest = rest[:size], rest[size:]
            times = defaultdict(list)
            for time_ns, port in burst:
                times[port].append(time_ns)
            longest = max([longest, *(t[-1] - t[0] for t in times.values())])
        return longest
