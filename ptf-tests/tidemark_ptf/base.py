# SPDX-License-Identifier: GPL-2.0-only
"""Base class: a fresh program with forwarding, flooding and a receiver of reports."""

import time
from pathlib import Path

import ptf
import ptf.testutils as testutils
from google.rpc import code_pb2
from ptf.base_tests import BaseTest
from scapy.compat import raw
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import PcapWriter

from tidemark_ptf import packets, report
from tidemark_ptf.own_time import OwnTime
from tidemark_ptf.p4rt import DELETE, INSERT, MODIFY, Client, Info, Refused
from tidemark_ptf.ports import PortControl
from tidemark_ptf.stolen_cpu import run_again_while_stolen

HOST_PORTS = [1, 2, 3, 4]
REPORT_PORT = 5
FLOOD_GROUP = 1
REPORT_SESSION = 1
UDP_PORT = 32766
NODE_ID = 0xA1B2C3D4
SWITCH_HOST = 254
COLLECTOR_HOST = 5
SOURCE_PORT_BASE = 49152
WATCH_KEY_BITS = {
    "ipv4_src": 32,
    "ipv4_dst": 32,
    "ipv6_src": 128,
    "ipv6_dst": 128,
    "protocol": 8,
    "src_port": 16,
    "dst_port": 16,
    "ingress_port": 9,
    "egress_port": 9,
}

# Longest wait for a message that must come (spent only if a test fails), and for a message that
# must not come (spent in every test that checks this).
PATIENCE_S = 5.0
SILENCE_S = 0.25
# Time until a queue that was slow is empty.
DRAIN_S = 0.4
MOST_SERVICE_S = 6.4

report.bind(UDP_PORT)


class Tidemark(BaseTest):
    """Hosts 1 to 4 at ports 1 to 4; reports leave at port 5."""

    # Far longer than sending a burst takes, so that nothing leaves meanwhile. Doubled for each
    # attempt on a machine that was too busy.
    service_s = 0.4 / 2

    def run(self, result=None):
        run_again_while_stolen(
            self,
            result or self.defaultTestResult(),
            super().run,
            too_slow=self._came_too_slowly,
        )

    def _came_too_slowly(self):
        """Whether by the switch's clock a burst's last frame came after its first had left."""
        took_ns = self.own_time.longest_burst_ns()
        return took_ns is not None and took_ns >= self.service_s * 1e9

    def setUp(self):
        super().setUp()
        self.service_s = min(2 * self.service_s, MOST_SERVICE_S)
        self.own_time = OwnTime()
        params = testutils.test_params_get()
        self.switch = params["switch"]
        self.address = params["grpc"]
        self.device_id = int(params["device_id"])
        self.info = Info(params["p4info"])
        self.program = Path(params["program"]).read_bytes()
        self.ports = PortControl(params["control"], self.address)
        self.dataplane = ptf.dataplane_instance
        self._slowed = set()
        # Saves the reports, for fixtures.
        self._pcap = None
        if params.get("save_reports"):
            self._pcap = PcapWriter(params["save_reports"], append=True, sync=True)
            self.addCleanup(self._pcap.close)
        self.client = Client(self.address, self.device_id, self.info)
        self.addCleanup(self.client.close)
        code = self.client.arbitration()
        self.assertEqual(code, 0, f"not primary (status {code})")
        self.client.push(self.program)
        self.addCleanup(self._forget)
        self.set_forwarding()
        self.dataplane.flush()

    def _forget(self):
        """Empties slow queues, so that nothing reaches the next test."""
        for port in self._slowed:
            self.ports.fast(port)
        if self._slowed:
            # The frame in transmission keeps its rate.
            time.sleep(max(DRAIN_S, self.service_s))
            for frame in self.collect(REPORT_PORT, 1000, 0.01):
                self._note(Ether(frame))
            self.dataplane.flush()
        self.client.write(DELETE, self.client.multicast_group(FLOOD_GROUP, []))
        self.client.write(DELETE, self.client.clone_session(REPORT_SESSION))

    # --- configuration ---------------------------------------------------------

    def set_forwarding(self):
        c = self.client
        for host in HOST_PORTS:
            c.write(INSERT, self.l2_entry(host, host))
        c.write(INSERT, c.multicast_group(FLOOD_GROUP, HOST_PORTS))
        c.write(INSERT, c.clone_session(REPORT_SESSION, REPORT_PORT))

    def l2_entry(self, host, port):
        match = {"hdr.ethernet.dst_addr": packets.mac_number(host)}
        return self.client.entry("Ingress.l2_forward", match, "Ingress.forward", {"port": port})

    def limit(self, port, action, limit_bytes=None, kind=INSERT, queue=0):
        params = {} if limit_bytes is None else {"limit_bytes": limit_bytes}
        self._limit(port, action, params, kind, queue)

    def mark_ce(self, port, threshold_bytes, limit_bytes=report.UNLIMITED, kind=INSERT, queue=0):
        params = {"threshold_bytes": threshold_bytes, "limit_bytes": limit_bytes}
        self._limit(port, "mark_ce", params, kind, queue)

    def _limit(self, port, action, params, kind, queue):
        match, table = {"egress_port": port}, "Ingress.queue_limit"
        if queue:
            match["queue"], table = queue, "Ingress.priority_queue_limit"
        self.client.write(kind, self.client.entry(table, match, f"Ingress.{action}", params))

    def queues(self, count):
        """Tells the program how many queues a port has."""
        params = {"count": count}
        entity = self.client.entry(
            "Ingress.queue_count", action="Ingress.set_queue_count", params=params
        )
        self.client.write(MODIFY, entity)

    def use_queue(self, queue, priority=10, **match):
        """Assigns packets to a queue. `match`: egress_port, dscp."""
        bits = {"egress_port": 9, "dscp": 6}
        ternary = {k: (v, (1 << bits[k]) - 1) for k, v in match.items()}
        params = {"queue": queue}
        entity = self.client.entry(
            "Ingress.queue_of", ternary, "Ingress.take_queue", params, priority
        )
        self.client.write(INSERT, entity)

    def watch(self, match=None, shift=0, priority=10, action="report", kind=INSERT):
        """Adds a watch entry. `match` maps keys to values (all bits) or to (value, mask)."""
        return self._watch("Ingress.watch", match, shift, priority, action, kind)

    def watch6(self, match=None, shift=0, priority=10, action="report", kind=INSERT):
        """Like `watch`, for IPv6."""
        return self._watch("Ingress.watch6", match, shift, priority, action, kind)

    def _watch(self, table, match, shift, priority, action, kind):
        ternary = {
            k: v if isinstance(v, tuple) else (v, (1 << WATCH_KEY_BITS[k]) - 1)
            for k, v in (match or {}).items()
        }
        params = {"sampling_shift": shift} if action == "report" else {}
        entity = self.client.entry(table, ternary, f"Ingress.{action}", params, priority)
        self.client.write(kind, entity)
        return entity

    def report_port(self, port, on, kind=INSERT):
        action = "Ingress.report_on" if on else "Ingress.report_off"
        entity = self.client.entry("Ingress.report_port", {"egress_port": port}, action)
        self.client.write(kind, entity)

    def report_to_collector(self, src_port_mask=3, **changes):
        params = {
            "src_mac": packets.mac_number(SWITCH_HOST),
            "dst_mac": packets.mac_number(COLLECTOR_HOST),
            "src_ip": packets.address_number(SWITCH_HOST),
            "dst_ip": packets.address_number(COLLECTOR_HOST),
            "udp_dst_port": UDP_PORT,
            "src_port_mask": src_port_mask,
            "node_id": NODE_ID,
        } | changes
        entity = self.client.entry(
            "Egress.report_to", action="Egress.set_destination", params=params
        )
        self.client.write(MODIFY, entity)

    def set_register(self, name, index, value):
        """Sets a register through P4Runtime, or for BMv2, which cannot do so, through Thrift."""
        cell = self.client.register_cell(name, index, value)
        if self.switch != "bmv2":
            self.client.write(MODIFY, cell)
            return
        with self.assertRaises(Refused) as caught:
            self.client.write(MODIFY, cell)
        self.assertEqual(caught.exception.codes, [code_pb2.UNIMPLEMENTED])
        self.ports.thrift.write_register(name, index, value)

    def slow(self, port, frame_bytes, seconds_per_frame=None):
        """Slows a port: one frame of this size leaves in `service_s`."""
        self._slowed.add(port)
        self.ports.slow(port, seconds_per_frame or self.service_s, frame_bytes)

    # --- packets ---------------------------------------------------------------

    def send(self, port, packet):
        if self._slowed:
            self.own_time.sent()
        testutils.send_packet(self, port, packet)

    def receive(self, port, timeout_s=PATIENCE_S):
        """Returns the next frame at a port as bytes, or None if none comes."""
        result = self.dataplane.poll(device_number=0, port_number=port, timeout=timeout_s)
        return bytes(result.packet) if isinstance(result, self.dataplane.PollSuccess) else None

    def collect(self, port, count, timeout_s=PATIENCE_S):
        """Returns `count` frames of a port in order; fewer only if no more come."""
        if port in self._slowed:
            self.own_time.waited()
        frames = []
        while len(frames) < count:
            frame = self.receive(port, timeout_s)
            if frame is None:
                break
            frames.append(frame)
        return frames

    def assert_frame(self, port, packet):
        frame = self.receive(port)
        self.assertIsNotNone(frame, f"nothing at port {port}")
        self.assertEqual(frame, raw(packet), f"another frame at port {port}")

    def assert_silence(self, ports=None):
        """Asserts that nothing (more) comes at these ports, by default all."""
        time.sleep(SILENCE_S)
        for port in ports or [*HOST_PORTS, REPORT_PORT]:
            frame = self.receive(port, 0.01)
            self.assertIsNone(frame, f"unexpected frame at port {port}: {frame!r}")

    def collect_slow(self, port, count):
        """Returns `count` frames of a slowed port, and any within three more service times."""
        frames = self.collect(port, count, PATIENCE_S + self.service_s)
        return frames + self.collect(port, 100, 3 * self.service_s)

    def collect_reports(self, count):
        """Returns `count` reports, parsed; also checks each as a datagram."""
        frames = self.collect(REPORT_PORT, count)
        self.assertEqual(len(frames), count, "reports that came")
        return [self.parse_report(f) for f in frames]

    def _note(self, packet):
        if self._slowed and report.TelemetryReport in packet:
            r = packet[report.TelemetryReport]
            self.own_time.received(r.ingress_ns, r.egress_port)

    def parse_report(self, frame):
        packet = Ether(frame)
        self._note(packet)
        self.assertIn(report.TelemetryReport, packet, f"not a report: {frame.hex()}")
        ip, udp = packet[IP], packet[UDP]
        self.assertEqual(ip.len, len(frame) - packets.ETHERNET_BYTES)
        self.assertEqual(udp.len, ip.len - 20)
        self.assertTrue(report.ip_checksum_is_valid(ip), "IP checksum of a report")
        self.assertTrue(report.udp_checksum_is_valid(ip), "UDP checksum of a report")
        r = packet[report.TelemetryReport]
        self.assertEqual(udp.len, 8 + 8 + 4 + 4 * r.length_words, "one report per datagram")
        if self._pcap is not None:
            self._pcap.write(packet)
        return packet
