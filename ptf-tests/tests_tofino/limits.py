# SPDX-License-Identifier: GPL-2.0-only
"""Limits: drops with their reports, marks, and the controller's settings. The models have no
line rate, so that most cases have limits of 0 cells."""

from itertools import pairwise

from scapy.compat import raw
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from tidemark_ptf import packets, report
from tidemark_ptf.base import REPORT_PORT
from tidemark_ptf.report import TelemetryReport
from tidemark_ptf.tofino import Tofino

NOT_ECT, ECT_1, ECT_0, CE = 0, 1, 2, 3


class Drops(Tofino):
    def runTest(self):
        self.watch_all()
        self.limit(2, "drop_tail", limit_cells=0)
        for plain in (packets.tcp(1, 2, 300), packets.udp6(1, 2, 300)):
            for sent in (plain, packets.tagged(plain)):
                self.send(1, sent)
                packet = self.report()
                r = packet[TelemetryReport]
                v6 = IPv6 in plain
                self.assertEqual(packet[UDP].len, 8 + (108 if v6 else 88))
                self.assertEqual((r.dropped, r.drop_reason), (1, report.TAIL_DROP))
                self.assertEqual(r.metadata_bits, report.DROPPED_BITS)
                self.assert_ports(r, 1, 2)
                self.assertEqual(r.limit, 0)
                header_bytes = 48 if v6 else 40
                self.assertEqual(r.inner[:header_bytes], raw(plain)[14 : 14 + header_bytes])
        # A packet that is not reported is dropped as well.
        self.client.clear("Ingress.watch")
        self.send(1, packets.tcp(1, 2))
        self.assert_silence()


class Marks(Tofino):
    """Congestion experienced, in the packet and in its report, whatever the sample."""

    def runTest(self):
        self.watch_all(shift=16)
        self.limit(2, "mark_ce", threshold_cells=0, limit_cells=report.UNLIMITED)
        for make in (packets.tcp, packets.udp, packets.tcp6):
            for ecn in (ECT_0, ECT_1):
                self.send(1, make(1, 2, 200, ecn=ecn))
                frame = Ether(self.receive(2))
                if IP in frame:
                    self.assertEqual(frame[IP].tos, CE)
                    self.assertTrue(report.ip_checksum_is_valid(frame[IP]))
                else:
                    self.assertEqual(frame[IPv6].tc, CE)
                r = self.report()[TelemetryReport]
                self.assertEqual((r.dropped, r.congested), (0, 1))
                self.assertEqual(r.policy_flags & report.FLAG_CE_MARKED, 1)
                self.assertEqual(r.limit, 0)
                # The report shows the packet as it left.
                v6 = IPv6 in frame
                inner = (r.inner[0] << 8 | r.inner[1]) >> 4 if v6 else r.inner[1]
                self.assertEqual(inner & 3, CE)
        # A packet that cannot be marked is dropped.
        self.send(1, packets.tcp(1, 2, 200, ecn=NOT_ECT))
        r = self.report()[TelemetryReport]
        self.assertEqual((r.dropped, r.drop_reason), (1, report.AQM_DROP))
        self.assert_silence()


class Burst(Tofino):
    """A packet is dropped exactly if it meets the limit. The models count packets in a queue;
    in Tofino 1's model none, one or two wait."""

    def runTest(self):
        self.watch_all()
        limit_cells, sent = 2, 60
        self.limit(2, "drop_tail", limit_cells=limit_cells)
        for i in range(sent):
            self.send(1, packets.tcp(1, 2, 300, ident=i))
        reports = [self.report()[TelemetryReport] for _ in range(sent)]
        self.assertEqual({IP(r.inner).id for r in reports}, set(range(sent)))
        for r in reports:
            self.assertEqual(r.dropped, int(r.occupancy >= limit_cells))
            self.assertEqual(r.limit, limit_cells)
        dropped = sum(r.dropped for r in reports)
        if self.device_port(0):
            self.assertGreater(dropped, 0, "no queue in a burst")
        for _ in range(sent - dropped):
            self.assertIsNotNone(self.receive(2))
        self.assert_silence()


class SetByTheController(Tofino):
    """Set in bytes, applied in cells; shown in reports, and read back by the controller."""

    def runTest(self):
        self.watch_all()
        port, limit_bytes = self.device_port(2), 1250 * self.cell_bytes
        limits = (
            "[switches.provision.limits]\n"
            f'{port} = {{ action = "drop_tail", limit_bytes = {limit_bytes} }}'
        )
        text = self.provision(limits)
        self.assertIn(f"port {port}: drop_tail {limit_bytes} bytes", text)
        entry = self.client.read("Ingress.queue_limit", self.leaving(2))
        self.assertEqual(entry["limit_cells"], 1250)
        self.send(1, packets.tcp(1, 2))
        self.assertEqual(self.report()[TelemetryReport].limit, 1250)
        _, text = self.controller(["doctor", "--seconds", "20"], limits)
        for ok in ("has its 5 tables", "12 sessions, cut at their lengths", "up with 10 Gbit/s"):
            self.assertIn(ok, text)
        self.assertNotIn("nothing was written", text)


class Deflected(Tofino):
    """Packets that the traffic manager drops are reported with their own port. The model
    treats every tenth as dropped, and sends it to port 0."""

    def runTest(self):
        if self.device_port(0):
            # `$PORT` does not accept it, and the model's deparser drops packets that leave by it.
            self.skipTest("port 0 is the CPU's on this chip")
        # At a port that is not set up, other metadata precedes the packets.
        self.port_up(0)
        self.watch_all()
        self.limit(2, "drop_tail", limit_cells=1000)
        self.client.write("MODIFY", "Ingress.hardware_drop", None, "deflect")
        self.addCleanup(lambda: self.client.write("MODIFY", "Ingress.hardware_drop", None, "lose"))
        reports = []
        for i in range(40):
            self.send(1, packets.tcp(1, 2, 300, ident=i))
            reports.append(self.report()[TelemetryReport])
        dropped = [r for r in reports if r.dropped]
        self.assertEqual(len(dropped), 4)
        idents = [IP(r.inner).id for r in dropped]
        self.assertEqual([b - a for a, b in pairwise(idents)], [10] * 3)
        for r in dropped:
            self.assertEqual(r.drop_reason, 71)
            self.assert_ports(r, 1, 2)
            self.assertEqual(r.limit, 1000)
        for _ in range(36):
            self.assertIsNotNone(self.receive(2))
        self.assert_silence()


class QueueOfTheTrafficManager(Tofino):
    """The model never reaches its own limit, but it can be set and read back."""

    def runTest(self):
        port = self.client.read("tm.port.cfg", {"dev_port": self.device_port(3)})
        key = {"pg_id": port["pg_id"], "pg_queue": port["egress_qid_queues"][0]}
        before = self.client.read("tm.queue.buffer", key, pipe=0)
        self.assertIn("guaranteed_cells", before)
        data = {"guaranteed_cells": 1000, "tail_drop_enable": True}
        data |= {"pool_id": before["pool_id"], "pool_max_cells": 0, "dynamic_baf": "DISABLE"}
        self.client.write("MODIFY", "tm.queue.buffer", key, "shared_pool", data, pipe=0)
        after = self.client.read("tm.queue.buffer", key, pipe=0)
        self.assertEqual(after["guaranteed_cells"], 1000)
        self.assert_silence([REPORT_PORT])
