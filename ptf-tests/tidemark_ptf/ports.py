# SPDX-License-Identifier: Apache-2.0
"""Slows down an egress port of the switch under test, so that a queue builds up."""

import subprocess
import time

from tidemark_lab.bmv2.thrift import Thrift

# Additional bytes on the wire: checksum, preamble, gap.
OVERHEAD_BYTES = 24


class PortControl:
    """Controls the embedded switch by its command line, and BMv2 by its Thrift service."""

    def __init__(self, control: str, grpc_address: str):
        kind, self._where = control.split(":", 1)
        self._grpc = grpc_address
        # None for the embedded switch.
        self.thrift: Thrift | None = None
        if kind == "thrift":
            host, service = self._where.rsplit(":", 1)
            self.thrift = Thrift(host, int(service))

    def slow(self, port: int, seconds_per_frame: float, frame_bytes: int):
        """Slows a port: frames of this size leave at this interval."""
        if self.thrift is None:
            bits = (frame_bytes + OVERHEAD_BYTES) * 8
            self._embedded(port, f"rate={max(1, round(bits / seconds_per_frame))}bit")
        else:
            self.thrift.set_egress_queue_rate(port, max(1, round(1 / seconds_per_frame)))
            # BMv2 spaces frames from the last one it sent, even if that was before this call.
            time.sleep(seconds_per_frame)

    def fast(self, port: int):
        """Removes the port's rate limit."""
        if self.thrift is None:
            self._embedded(port, "rate=unlimited")
        else:
            self.thrift.set_egress_queue_rate(port, 0)

    def _embedded(self, port: int, setting: str):
        command = [self._where, "port", "set", str(port), setting, "--grpc", self._grpc]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
