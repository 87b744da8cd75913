# SPDX-License-Identifier: GPL-2.0-only
"""Selection of reported packets: watch entries, ports, the sample."""

from tests.sampling import same_packet, sample_hash, stream
from tidemark_ptf import packets
from tidemark_ptf.base import REPORT_PORT
from tidemark_ptf.report import TelemetryReport
from tidemark_ptf.tofino import Tofino


class WatchKeys(Tofino):
    """Each key of the watch tables selects packets, for both families, by priority."""

    def runTest(self):
        v4 = {
            "ipv4_src": packets.address_number(1),
            "ipv4_dst": packets.address_number(2),
            "protocol": 6,
            "src_port": 1000,
            "dst_port": 2000,
            "ingress_port": self.device_port(1),
            "egress_port": self.device_port(2),
        }
        v6 = dict(v4)
        v6["ipv6_src"] = packets.address6_number(1)
        v6["ipv6_dst"] = packets.address6_number(2)
        del v6["ipv4_src"], v6["ipv4_dst"]
        for table, keys, make in (("watch", v4, packets.tcp), ("watch6", v6, packets.tcp6)):
            for name, value in keys.items():
                with self.subTest(table=table, key=name):
                    self.client.clear(f"Ingress.{table}")
                    self.watch({name: value ^ 1}, table=table)
                    self.send(1, make(1, 2))
                    self.assertIsNotNone(self.receive(2))
                    self.assertIsNone(self.receive(REPORT_PORT, 0.5), "another value")
                    self.watch({name: value}, table=table)
                    self.send(1, make(1, 2))
                    self.report()
                    # The first priority wins.
                    self.watch({name: value}, priority=1, action="ignore", table=table)
                    self.send(1, make(1, 2))
                    self.assertIsNone(self.receive(REPORT_PORT, 0.5), "ignored")
                    self.dataplane.flush()


class Ports(Tofino):
    def runTest(self):
        self.watch_all()
        self.client.write("INSERT", "Ingress.report_port", self.leaving(2), "report_off")
        self.send(1, packets.tcp(1, 2))
        self.send(1, packets.tcp(1, 3))
        self.assertEqual(self.report()[TelemetryReport].egress_port, self.device_port(3))
        self.assert_silence([REPORT_PORT])


class Sample(Tofino):
    """The hash selects the same packets as in the v1model program."""

    def runTest(self):
        shift = 2
        self.watch_all(shift=shift)
        for kind in ("tcp", "udp", "tcp6", "udp6"):
            sent = stream(kind)
            for packet in sent:
                self.send(1, packet)
                self.assertIsNotNone(self.receive(2))
            expected = [p for p in sent if sample_hash(p) & ((1 << shift) - 1) == 0]
            self.assertGreater(len(expected), 4, "a sample of some size")
            reports = [self.report()[TelemetryReport] for _ in expected]
            v6 = kind.endswith("6")
            shown = [r.inner[: 48 if v6 else 28] for r in reports]
            self.assertEqual(shown, [same_packet(p) for p in expected])
            self.assertEqual({r.sampling_shift for r in reports}, {shift})
            self.assert_silence([REPORT_PORT])
