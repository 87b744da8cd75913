# SPDX-License-Identifier: Apache-2.0
"""The embedded switch against BMv2: the same P4Runtime writes, the same random
frames (valid, truncated, malformed), the same frames out of every port, the
same registers afterwards as far as BMv2 lets them be seen (through reports).

    python testbed/switch/tests/differential/run.py [--packets 2000] [--seed 1]

Both switches run side by side, each on veth interfaces of its own. One frame at
a time goes into both; what leaves is compared byte by byte, in order for each
port. Normalised, because the two run on clocks of their own: in reports the
ingress and egress time and the UDP checksum over them are set to 0. Nothing
else is. Since a frame is sent only when the one before has left, queues are
empty and their depths comparable.

Needs root; prints SKIPPED and ends with 0 where simple_switch_grpc is not on PATH.
"""

import argparse
import os
import random
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# What p4runtime publishes was generated for an older protobuf.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
REPOSITORY = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(REPOSITORY / "ptf-tests"))

from pyroute2 import IPRoute  # noqa: E402
from runner import SetupError, network, switches  # noqa: E402
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.l2 import ARP, Dot1Q, Ether  # noqa: E402
from tidemark_ptf.p4rt import INSERT, MODIFY, Client, Info  # noqa: E402

PROGRAM = REPOSITORY / "p4src" / "build" / "tidemark.json"
HOSTS = [1, 2, 3]
REPORT_PORT = 5
PORTS = [*HOSTS, REPORT_PORT]
ETH_P_ALL = 3
REPORT_UDP_PORT = 32766
# Frames that are to come are waited for this long; after the last one, this
# much silence ends the turn.
PATIENCE_S = 0.5
SILENCE_S = 0.004
# Without knowing what to come, this long for the first frame.
NOTHING_S = 0.02


def mac(host: int) -> str:
    return f"02:00:00:00:00:{host:02x}"


class Side:
    """One switch with its interfaces."""

    def __init__(self, name: str, command: list[str], grpc: int, logs: Path):
        self.name = name
        self.log = logs / f"{name}.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                command,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                preexec_fn=network.die_with_parent,
            )
        self.address = f"127.0.0.1:{grpc}"
        deadline = time.monotonic() + switches.START_TIMEOUT_S
        while socket.socket().connect_ex(("127.0.0.1", grpc)) != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SetupError(f"{name} does not start:\n{switches.tail(self.log)}")
            time.sleep(0.05)
        self.sockets = {}
        for port in PORTS:
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            s.bind((f"{name}h{port}", 0))
            s.setblocking(False)
            self.sockets[port] = s

    def configure(self, info: Info) -> None:
        c = Client(self.address, switches.DEVICE_ID, info)
        try:
            if c.arbitration() != 0:
                raise SetupError(f"{self.name}: not primary")
            c.push(PROGRAM.read_bytes())
            for host in HOSTS:
                match = {"hdr.ethernet.dst_addr": 0x020000000000 | host}
                c.write(
                    INSERT,
                    c.entry("Ingress.l2_forward", match, "Ingress.forward", {"port": host}),
                )
            for table in ("Ingress.watch", "Ingress.watch6"):
                c.write(INSERT, c.entry(table, {}, "Ingress.report", {"sampling_shift": 1}, 1))
            # Port 3 refuses everything: drop reports.
            c.write(
                INSERT,
                c.entry(
                    "Ingress.queue_limit",
                    {"egress_port": 3},
                    "Ingress.drop_tail",
                    {"limit_bytes": 0},
                ),
            )
            c.write(
                INSERT,
                c.entry(
                    "Ingress.queue_limit",
                    {"egress_port": 1},
                    "Ingress.mark_ce",
                    {"limit_bytes": 0},
                ),
            )
            params = {
                "src_mac": 0x020000000051,
                "dst_mac": 0x020000000052,
                "src_ip": 0x0A090001,
                "dst_ip": 0x0A090002,
                "udp_dst_port": REPORT_UDP_PORT,
                "src_port_mask": 3,
                "node_id": 10,
            }
            c.write(
                MODIFY, c.entry("Egress.report_to", action="Egress.set_destination", params=params)
            )
            c.write(INSERT, c.clone_session(1, REPORT_PORT))
            c.write(INSERT, c.multicast_group(1, HOSTS))
        finally:
            c.close()

    def send(self, port: int, frame: bytes) -> None:
        self.sockets[port].send(frame)

    def collect(self, expected: int | None) -> dict[int, list[bytes]]:
        """Frames that leave until all is quiet. `expected`: how many there should be."""
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
                out[port].append(normalised(frame))
                count += 1

    def stop(self) -> None:
        for s in self.sockets.values():
            s.close()
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def normalised(frame: bytes) -> bytes:
    """Without the times of a report and the checksum over them."""
    is_report = (
        len(frame) >= 42 + 20 + 16
        and frame[12:14] == b"\x08\x00"
        and frame[23] == 17
        and frame[26:30] == bytes([10, 9, 0, 1])
        and int.from_bytes(frame[36:38], "big") == REPORT_UDP_PORT
    )
    if not is_report:
        return frame
    out = bytearray(frame)
    out[40:42] = bytes(2)
    # Group and main header: 8 + 12 bytes; ports and queue: 4 + 4; ingress time;
    # egress time where the bit for it is set.
    out[70:78] = bytes(8)
    if frame[54 + 1] & 0x04 or frame[54] & 0x04:
        out[78:86] = bytes(8)
    return bytes(out)


def payload(r: random.Random) -> bytes:
    return r.randbytes(r.choice([0, 1, 7, 40, 200, 1000]))


def frame(r: random.Random) -> bytes:
    """A frame that is well formed, or was."""
    to = r.choice([mac(1), mac(2), mac(3), "ff:ff:ff:ff:ff:ff", "02:00:00:00:00:77"])
    p = Ether(src=mac(r.randint(1, 3)), dst=to)
    if r.random() < 0.2:
        p /= Dot1Q(vlan=r.randint(0, 4095), prio=r.randint(0, 7))
    kind = r.random()
    tos = r.randint(0, 255)
    if kind < 0.6:
        ip = IP(
            src=f"10.0.0.{r.randint(1, 3)}",
            dst=f"10.0.0.{r.randint(1, 3)}",
            tos=tos,
            id=r.randint(0, 65535),
            ttl=r.randint(0, 255),
        )
        if r.random() < 0.15:
            ip.options = [IPOption(b"\x01" * 4 * r.randint(1, 10))]
        if r.random() < 0.15:
            ip.flags, ip.frag = r.choice([(1, 0), (1, 100), (0, 185)])
        p /= ip
    elif kind < 0.9:
        p /= IPv6(
            src=f"fd00::{r.randint(1, 3)}",
            dst=f"fd00::{r.randint(1, 3)}",
            tc=tos,
            fl=r.getrandbits(20),
            hlim=r.randint(0, 255),
        )
    else:
        p = p / ARP() if r.random() < 0.5 else p
        return bytes(p / payload(r))
    ports = {"sport": r.randint(0, 65535), "dport": r.choice([80, 32766, r.randint(0, 65535)])}
    transport = r.random()
    if transport < 0.5:
        p /= TCP(seq=r.getrandbits(32), ack=r.getrandbits(32), flags=r.randint(0, 255), **ports)
    elif transport < 0.9:
        p /= UDP(**ports)
    else:
        p /= ICMP()
    return bytes(p / payload(r))


def damaged(r: random.Random, f: bytes) -> bytes:
    """Cut, or with bytes changed behind the addresses."""
    if r.random() < 0.5:
        return f[: r.randint(14, len(f))]
    out = bytearray(f)
    for _ in range(r.randint(1, 4)):
        out[r.randrange(12, min(len(out), 80))] = r.randrange(256)
    return bytes(out)


def links(names: list[str]) -> None:
    with IPRoute() as ip:
        ip.link("set", index=ip.link_lookup(ifname="lo")[0], state="up")
        for name in names:
            for port in PORTS:
                switch, host = f"{name}s{port}", f"{name}h{port}"
                ip.link("add", kind="veth", ifname=switch, peer={"ifname": host})
                for i in (switch, host):
                    ip.link("set", index=ip.link_lookup(ifname=i)[0], state="up")


def commands(bmv2: Path, logs: Path) -> dict[str, tuple[list[str], int]]:
    ours = [str(switches.embedded_binary(REPOSITORY)), "run", "--grpc", "127.0.0.1:9557"]
    theirs = [str(bmv2), "--no-p4", "--device-id", str(switches.DEVICE_ID)]
    theirs += ["--thrift-port", "9097", "--notifications-addr", f"ipc://{logs}/n.ipc"]
    for port in PORTS:
        ours += ["--port", f"{port}=es{port}"]
        theirs += ["-i", f"{port}@bs{port}"]
    theirs += ["--", "--grpc-server-addr", "127.0.0.1:9558"]
    return {"e": (ours, 9557), "b": (theirs, 9558)}


def compare(args: argparse.Namespace, sides: list[Side]) -> int:
    r = random.Random(args.seed)
    ours, theirs = sides
    frames_out = reports = differences = 0
    for n in range(args.packets):
        f = frame(r)
        if r.random() < 0.35:
            f = damaged(r, f)
        port = r.choice(HOSTS)
        theirs.send(port, f)
        ours.send(port, f)
        have = ours.collect(None)
        want = theirs.collect(sum(len(v) for v in have.values()))
        if want != have:
            # Late is not different.
            for got, side in ((have, ours), (want, theirs)):
                for p, more in side.collect(1_000_000).items():
                    got[p] += more
        frames_out += sum(len(v) for v in want.values())
        reports += len(want[REPORT_PORT])
        if want != have:
            differences += 1
            print(f"packet {n}, into port {port}: {f.hex()}")
            for p in PORTS:
                if want[p] != have[p]:
                    print(f"  port {p}: BMv2     {[x.hex() for x in want[p]]}")
                    print(f"  port {p}: embedded {[x.hex() for x in have[p]]}")
            if differences >= args.most_differences:
                break
    print(
        f"{n + 1} packets into both switches, {frames_out} frames out of BMv2 "
        f"({reports} reports), {differences} packets with a difference (seed {args.seed})"
    )
    return 1 if differences or not frames_out else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packets", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-differences", type=int, default=5)
    args = parser.parse_args()
    try:
        bmv2 = switches.bmv2_binary()
    except SetupError as e:
        print(f"SKIPPED: {e}")
        return 0
    sides: list[Side] = []
    try:
        network.enter_new_namespace()
        links(["e", "b"])
        info = Info(str(PROGRAM.with_name("tidemark.p4info.txtpb")))
        with tempfile.TemporaryDirectory() as logs:
            try:
                for name, (command, grpc) in commands(bmv2, Path(logs)).items():
                    side = Side(name, command, grpc, Path(logs))
                    sides.append(side)
                    side.configure(info)
                return compare(args, sides)
            finally:
                for side in sides:
                    side.stop()
    except SetupError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
