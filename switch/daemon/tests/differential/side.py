# SPDX-License-Identifier: GPL-2.0-only
"""One of the two switches, with its interfaces and its controller."""

import select
import socket
import subprocess
import time
from pathlib import Path

from programs import PORTS, Program
from pyroute2 import IPRoute
from runner import SetupError, network, switches
from tidemark_ptf.p4rt import Client

CPU_PORT = 510
ETH_P_ALL = 3
# How long to wait for expected frames, and the silence after the last frame
# that ends the turn.
PATIENCE_S = 0.5
SILENCE_S = 0.004
# How long to wait for a first frame if the number of frames is unknown.
NOTHING_S = 0.02


class Side:
    """One switch with its interfaces."""

    def __init__(self, name: str, command: list[str], grpc: int, logs: Path, program: Program):
        self.name = name
        self.program = program
        self.log = logs / f"{name}.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                command,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                preexec_fn=network.die_with_parent,
            )
        self.grpc = grpc
        self.sockets: dict[int, socket.socket] = {}
        self.client: Client | None = None

    def connect(self) -> None:
        """Connects once both switches are started: a process that uses gRPC cannot fork."""
        deadline = time.monotonic() + switches.START_TIMEOUT_S
        while socket.socket().connect_ex(("127.0.0.1", self.grpc)) != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SetupError(f"{self.name} does not start:\n{switches.tail(self.log)}")
            time.sleep(0.05)
        for port in PORTS:
            # Protocol 0: before it is bound, the socket would receive from every interface.
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            s.bind((f"{self.name}h{port}", ETH_P_ALL))
            s.setblocking(False)
            self.sockets[port] = s
        address = f"127.0.0.1:{self.grpc}"
        self.client = Client(address, switches.DEVICE_ID, self.program.info)
        if self.client.arbitration() != 0:
            raise SetupError(f"{self.name}: not primary")
        self.client.push(self.program.json.read_bytes())
        self.program.configure(self.client)

    def send(self, port: int, frame: bytes) -> None:
        self.sockets[port].send(frame)

    def collect(self, expected: int | None) -> dict[int, list[bytes]]:
        """Returns the frames that leave until all is quiet; `expected` is their number if known."""
        out: dict[int, list[bytes]] = {port: [] for port in PORTS}
        patience = NOTHING_S if expected is None else PATIENCE_S
        end = time.monotonic() + patience
        count = 0
        while True:
            enough = count >= (1 if expected is None else expected)
            wait = SILENCE_S if enough else max(0.0, end - time.monotonic())
            ready, _, _ = select.select(list(self.sockets.values()), [], [], wait)
            if not ready:
                return out
            for port, s in self.sockets.items():
                if s not in ready:
                    continue
                frame, address = s.recvfrom(65536)
                if address[2] == socket.PACKET_OUTGOING:
                    continue
                out[port].append(self.program.normalised(frame))
                count += 1

    def stop(self) -> None:
        if self.client is not None:
            self.client.close()
        for s in self.sockets.values():
            s.close()
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def links(names: list[str]) -> None:
    with IPRoute() as ip:
        ip.link("set", index=ip.link_lookup(ifname="lo")[0], state="up")
        for name in names:
            for port in PORTS:
                switch, host = f"{name}s{port}", f"{name}h{port}"
                ip.link("add", kind="veth", ifname=switch, peer={"ifname": host})
                for i in (switch, host):
                    ip.link("set", index=ip.link_lookup(ifname=i)[0], state="up")
