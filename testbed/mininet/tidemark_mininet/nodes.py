# SPDX-License-Identifier: Apache-2.0
"""Tidemark's hosts and switches for Mininet."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from mininet.node import Host, Switch

from .link import Shape

# The switch's report port.
REPORT_PORT = 500
OFFLOADS = ("tx", "rx", "sg", "tso", "gso", "gro")
START_TIMEOUT_S = 30


def program(name: str) -> str:
    """Returns a Tidemark program's path: in $TIDEMARK_BIN_DIR, on PATH, or a clone's build."""
    built = Path(__file__).resolve().parents[3] / "target" / "release" / name
    if directory := os.environ.get("TIDEMARK_BIN_DIR"):
        return str(Path(directory) / name)
    found = shutil.which(name) or (str(built) if built.exists() else None)
    if found is None:
        raise FileNotFoundError(f"{name}: not on PATH and not built (make build)")
    return found


def whole_packets(node, interface: str) -> None:
    """Turns offloads off, so that every packet is on the link as on a wire."""
    for feature in OFFLOADS:
        node.cmd(f"ethtool -K {interface} {feature} off")
    node.cmd(f"ip link set {interface} gso_max_segs 1 gso_max_size 1500")


class TidemarkHost(Host):
    """A host that caches no TCP metrics between connections.

    offloads: its TCP leaves segmentation to the interface, the kernel's default, and the switch
    splits the frames. False: every packet reaches the switch separately.
    """

    def config(self, offloads=True, **params):
        answer = super().config(**params)
        self.cmd("sysctl -w net.ipv6.conf.all.disable_ipv6=1")
        # Each connection learns about its path itself, not from an earlier connection.
        self.cmd("sysctl -w net.ipv4.tcp_no_metrics_save=1")
        if not offloads:
            for interface in self.intfNames():
                whole_packets(self, interface)
        return answer


class TidemarkSwitch(Switch):
    """`tidemark-switch` with a port for each interface; Tidemark installs the P4 program.

    node_id: node in its reports; by default the number in its name (s3: 3).
    """

    def __init__(self, name, node_id=None, **params):
        super().__init__(name, **params)
        digits = re.search(r"\d+$", name)
        if node_id is None and digits is None:
            raise ValueError(f"switch {name}: no number in its name; give node_id")
        self.node_id = int(node_id if node_id is not None else digits[0])
        if not 1 <= self.node_id <= 200:
            raise ValueError(f"switch {name}: node_id {self.node_id} is not from 1 to 200")
        self.grpc_port = 29_000 + self.node_id
        self.process: subprocess.Popen[str] | None = None

    @property
    def report_interfaces(self) -> tuple[str, str]:
        """Returns the switch's end of the report link, and the collector's."""
        return f"tmr{self.node_id}-sw", f"tmr{self.node_id}-co"

    @property
    def report_addresses(self) -> tuple[str, str]:
        return f"10.254.{self.node_id}.1", f"10.254.{self.node_id}.2"

    def shapes(self) -> dict[int, Shape]:
        """Returns the shape of each port that has a link."""
        return {
            self.ports[i]: getattr(i, "shape", Shape()) for i in self.intfList() if i.name != "lo"
        }

    def neighbour(self, port: int):
        """Returns the node at the other end."""
        interface = self.intfs[port]
        link = interface.link
        return (link.intf2 if link.intf1 is interface else link.intf1).node

    def port_arguments(self) -> list[str]:
        arguments = []
        for port, shape in sorted(self.shapes().items()):
            towards_host = not isinstance(self.neighbour(port), TidemarkSwitch)
            delay_us = shape.delay_us * (2 if towards_host else 1)
            # The traffic manager's own queue must never be the one that drops.
            words = [f"{port}={self.intfs[port].name}", f"delay={delay_us:.0f}us", "queue=65536p"]
            if shape.bw is not None:
                words.append(f"rate={shape.bw * 1e6:.0f}bit")
            arguments += ["--port", ",".join(words)]
        return [*arguments, "--port", f"{REPORT_PORT}={self.report_interfaces[0]},queue=65536p"]

    def start(self, controllers) -> None:
        ours, collectors = self.report_interfaces
        self.cmd(f"ip link del {ours}")
        self.cmd(f"ip link add {ours} type veth peer name {collectors}")
        for interface in (ours, collectors):
            self.cmd(f"sysctl -w net.ipv6.conf.{interface}.disable_ipv6=1")
        self.cmd(f"ip addr add {self.report_addresses[1]}/30 dev {collectors}")
        for interface in (ours, collectors, *(i.name for i in self.intfList() if i.name != "lo")):
            self.cmd(f"ip link set {interface} up")
        # Open as long as the switch runs.
        self.log = tempfile.NamedTemporaryFile("w+", prefix=f"tidemark-{self.name}-")  # noqa: SIM115
        command = [program("tidemark-switch"), "run", "--grpc", f"127.0.0.1:{self.grpc_port}"]
        self.process = subprocess.Popen(
            [*command, *self.port_arguments()], stdout=self.log, stderr=subprocess.STDOUT, text=True
        )
        end = time.monotonic() + START_TIMEOUT_S
        while "ready:" not in (told := Path(self.log.name).read_text()):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"switch {self.name} does not start: {told.strip()}")
            time.sleep(0.05)

    def connected(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self, deleteIntfs=True) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=30)
            self.process = None
            self.log.close()
        self.cmd(f"ip link del {self.report_interfaces[0]}")
        super().stop(deleteIntfs)
