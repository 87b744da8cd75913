# SPDX-License-Identifier: Apache-2.0
"""Slows an egress port of the switch under test down, so that a queue builds up."""

import socket
import struct
import subprocess
import time

# On the wire: checksum, preamble, gap.
OVERHEAD_BYTES = 24


class PortControl:
    """Of the embedded switch by its command, of BMv2 by its Thrift service."""

    def __init__(self, control: str, grpc_address: str):
        self._kind, self._where = control.split(":", 1)
        self._grpc = grpc_address

    def slow(self, port: int, seconds_per_frame: float, frame_bytes: int):
        """Frames of this size leave at this interval."""
        if self._kind == "embedded":
            bits = (frame_bytes + OVERHEAD_BYTES) * 8
            self._embedded(port, f"rate={max(1, round(bits / seconds_per_frame))}bit")
        else:
            self._thrift_rate(port, max(1, round(1 / seconds_per_frame)))
            # BMv2 spaces frames from the last one it sent, even before this.
            time.sleep(seconds_per_frame)

    def fast(self, port: int):
        """As fast as it goes."""
        if self._kind == "embedded":
            self._embedded(port, "rate=unlimited")
        else:
            self._thrift_rate(port, 0)

    def _embedded(self, port: int, setting: str):
        command = [self._where, "port", "set", str(port), setting, "--grpc", self._grpc]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")

    def _thrift_rate(self, port: int, packets_per_s: int):
        """`set_egress_queue_rate(1: i32 port_num, 2: i64 rate_pps)`, one call in
        Thrift's binary protocol: too little to need its library."""
        name = b"simple_switch:set_egress_queue_rate"
        message = struct.pack("!II", 0x80010001, len(name)) + name + struct.pack("!I", 1)
        message += struct.pack("!bhi", 8, 1, port)
        message += struct.pack("!bhq", 10, 2, packets_per_s) + b"\0"
        host, service = self._where.rsplit(":", 1)
        with socket.create_connection((host, int(service)), timeout=10) as s:
            s.sendall(message)
            answer = s.makefile("rb").read(8 + len("set_egress_queue_rate"))
        # Version and kind: 2 is a reply, 3 an exception.
        if len(answer) < 4 or answer[3] != 2:
            raise RuntimeError(f"set_egress_queue_rate of port {port} failed: {answer!r}")
