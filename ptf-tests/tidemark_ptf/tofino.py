# SPDX-License-Identifier: GPL-2.0-only
"""Base class on Tofino's model: provisioned by the controller, watched and limited by BFRT."""

import subprocess
import tempfile
import time
from pathlib import Path

import ptf
import ptf.testutils as testutils
from ptf.base_tests import BaseTest
from scapy.compat import raw
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import PcapWriter

from tidemark_ptf import packets, report
from tidemark_ptf.base import (
    COLLECTOR_HOST,
    HOST_PORTS,
    NODE_ID,
    REPORT_PORT,
    SWITCH_HOST,
    UDP_PORT,
    WATCH_KEY_BITS,
)
from tidemark_ptf.bfrt import Client

# The model is slow, above all for the first packet.
PATIENCE_S = 20.0
SILENCE_S = 1.5
PORT_UP_S = 30.0
TABLES = ["Ingress.watch", "Ingress.watch6", "Ingress.queue_limit", "Ingress.report_port"]

CONFIGURATION = """
collectors = ["127.0.0.1:9560"]
[targets]
utilisation = 0.98
loss_rate = 0.01
delay_ms = 30
[[links]]
node = {node}
port = {port}
[[switches]]
node = {node}
address = "{address}"
device_id = 0
limit_unit_bytes = {cell_bytes}
[switches.bfrt]
p4_name = "{p4_name}"
[switches.provision]
flood_ports = {flood}
forward = [{forward}]
reports = {{ port = {report_port}, node_id = {node}, src_mac = "{src_mac}", dst_mac = "{dst_mac}", \
src_ip = "{src_ip}", dst_ip = "{dst_ip}", udp_port = {udp_port} }}
{limits}
"""


class Tofino(BaseTest):
    """Hosts 1 to 4 at ports 1 to 4; reports leave at port 5. `device_port` maps these to the
    chip's ports."""

    def setUp(self):
        super().setUp()
        self.params = testutils.test_params_get()
        self.dataplane = ptf.dataplane_instance
        self.cell_bytes = self.params["cell_bytes"]
        self._pcap = None
        if self.params.get("save_reports"):
            self._pcap = PcapWriter(self.params["save_reports"], append=True, sync=True)
            self.addCleanup(self._pcap.close)
        self.client = self._bind()
        self.addCleanup(lambda: self.client.close())
        for name in TABLES:
            self.client.clear(name)
        for port in [*HOST_PORTS, REPORT_PORT]:
            self.port_up(self.device_port(port))
        self.provision()
        self.dataplane.flush()

    def _bind(self):
        return Client(self.params["grpc"], self.params["p4_name"], self.params["sde_install"])

    def device_port(self, port):
        return port + self.params["port_offset"]

    def port_up(self, port):
        """Sets up the chip's port, unless it is up."""
        key = {"$DEV_PORT": port}
        try:
            state = self.client.read("$PORT", key)
        except Exception:
            state = {}
        if not state:
            data = {
                "$SPEED": "BF_SPEED_10G",
                "$FEC": "BF_FEC_TYP_NONE",
                "$PORT_ENABLE": True,
            }
            self.client.write("INSERT", "$PORT", key, data=data)
        deadline = time.monotonic() + PORT_UP_S
        while not self.client.read("$PORT", key).get("$PORT_UP"):
            self.assertLess(time.monotonic(), deadline, f"port {port} does not come up")
            time.sleep(0.2)

    # --- configuration ---------------------------------------------------------

    def controller(self, command, limits=""):
        """Runs the controller's command on this switch; returns exit code and output."""
        forward = ", ".join(
            f'{{ mac = "{packets.mac(host)}", port = {self.device_port(host)} }}'
            for host in HOST_PORTS
        )
        text = CONFIGURATION.format(
            node=NODE_ID,
            address=self.params["grpc"],
            cell_bytes=self.cell_bytes,
            p4_name=self.params["p4_name"],
            port=self.device_port(2),
            flood=[self.device_port(port) for port in HOST_PORTS],
            forward=forward,
            report_port=self.device_port(REPORT_PORT),
            src_mac=packets.mac(SWITCH_HOST),
            dst_mac=packets.mac(COLLECTOR_HOST),
            src_ip=packets.address(SWITCH_HOST),
            dst_ip=packets.address(COLLECTOR_HOST),
            udp_port=UDP_PORT,
            limits=limits,
        )
        # The daemon lets only one client bind to a program.
        self.client.close()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "controller.toml"
            file.write_text(text)
            done = subprocess.run(
                [self.params["controller"], *command, "--config", str(file)],
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
        self.client = self._bind()
        return done.returncode, done.stdout + done.stderr

    def provision(self, limits=""):
        code, text = self.controller(["provision"], limits)
        self.assertEqual(code, 0, text)
        return text

    def watch(self, match=None, shift=0, priority=10, action="report", table="watch"):
        """Adds a watch entry. `match` maps keys to values (all bits) or to (value, mask)."""
        key = {"$MATCH_PRIORITY": priority}
        for name, value in (match or {}).items():
            pair = value if isinstance(value, tuple) else (value, (1 << WATCH_KEY_BITS[name]) - 1)
            key[name] = pair
        data = {"sampling_shift": shift} if action == "report" else {}
        self.client.write("INSERT", f"Ingress.{table}", key, action, data)

    def watch_all(self, shift=0):
        self.watch(shift=shift)
        self.watch(shift=shift, table="watch6")

    def limit(self, port, action, **cells):
        self.client.write("INSERT", "Ingress.queue_limit", self.leaving(port), action, cells)

    def leaving(self, port):
        """Returns the key of the per-port tables."""
        return {"egress_port": self.device_port(port)}

    # --- packets ---------------------------------------------------------------

    def send(self, port, packet):
        testutils.send_packet(self, port, packet)

    def receive(self, port, timeout_s=PATIENCE_S):
        """Returns the next frame at a port as bytes, or None if none comes."""
        result = self.dataplane.poll(device_number=0, port_number=port, timeout=timeout_s)
        return bytes(result.packet) if isinstance(result, self.dataplane.PollSuccess) else None

    def assert_frame(self, port, packet):
        frame = self.receive(port)
        self.assertIsNotNone(frame, f"nothing at port {port}")
        self.assertEqual(frame, raw(packet), f"another frame at port {port}")

    def assert_silence(self, ports=None):
        """Asserts that nothing (more) comes at these ports, by default all."""
        time.sleep(SILENCE_S)
        for port in ports or [*HOST_PORTS, REPORT_PORT]:
            frame = self.receive(port, 0.05)
            self.assertIsNone(frame, f"unexpected frame at port {port}: {frame!r}")

    def report(self):
        """Returns the next report, after checking the datagram and its lengths."""
        frame = self.receive(REPORT_PORT)
        self.assertIsNotNone(frame, "no report")
        packet = Ether(frame)
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

    def assert_ports(self, r, ingress, egress):
        """Asserts the ports of a report."""
        expected = (self.device_port(ingress), self.device_port(egress))
        self.assertEqual((r.ingress_port, r.egress_port), expected)
