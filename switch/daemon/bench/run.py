# SPDX-License-Identifier: Apache-2.0
"""Speed of the embedded switch with Tidemark's program, every packet reported.

1. The pipeline alone on one core, no I/O.
2. Through veth interfaces: single frames, super-frames of a host with segmentation
   offload (counted by segments), and BMv2 (`simple_switch_grpc`, the same engine as
   `simple_switch`) with the same JSON and the same single frames in the same run,
   in turns; median of the rounds. BMv2 runs with its log off and real-time priority.
   Without BMv2 on PATH its part is skipped.

    python switch/daemon/bench/run.py [--rounds 5] [--seconds 2] [--bytes 1000]

Everything lives in a network namespace of its own. Needs root and
`cargo build --release -p tidemark-switch --bins --examples`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# What p4runtime publishes was generated for an older protobuf.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "ptf-tests"))

from runner import SetupError, network, switches  # noqa: E402
from tidemark_ptf.p4rt import INSERT, MODIFY, Client, Info  # noqa: E402

PROGRAM = REPOSITORY / "p4src" / "build" / "tidemark.json"
PORTS = [1, 2, 5]
HOST_PORTS = [1, 2]
REPORT_PORT = 5


@dataclass(frozen=True)
class Side:
    """One switch with one kind of traffic."""

    start: Callable[[Path], switches.Running]
    # Of the embedded switch.
    binary: Path | None
    # In a super-frame; 0: single frames.
    segments: int


def mac(host: int) -> int:
    return 0x020000000000 | host


def configure(info: Info) -> None:
    """Forwarding between hosts 1 and 2, every packet watched."""
    client = Client(f"127.0.0.1:{switches.GRPC_PORT}", switches.DEVICE_ID, info)
    try:
        if client.arbitration() != 0:
            raise SetupError("not primary")
        client.push(PROGRAM.read_bytes())
        for host in HOST_PORTS:
            match = {"hdr.ethernet.dst_addr": mac(host)}
            entry = client.entry("Ingress.l2_forward", match, "Ingress.forward", {"port": host})
            client.write(INSERT, entry)
        watch = client.entry("Ingress.watch", {}, "Ingress.report", {"sampling_shift": 0}, 1)
        client.write(INSERT, watch)
        params = {
            "src_mac": mac(0x51),
            "dst_mac": mac(0x52),
            "src_ip": 0x0A090001,
            "dst_ip": 0x0A090002,
            "udp_dst_port": 32766,
            "src_port_mask": 3,
            "node_id": 10,
        }
        to = client.entry("Egress.report_to", action="Egress.set_destination", params=params)
        client.write(MODIFY, to)
        client.write(INSERT, client.clone_session(1, REPORT_PORT))
    finally:
        client.close()


def counted(switch: switches.Running, binary: Path | None) -> tuple[int, int]:
    """Packets that left towards host 2 and the collector: by the switch's own count
    where it is ours, as an interface counts a super-frame as one."""
    if binary is None:
        return received("ptf2"), received("ptf5")
    command = [str(binary), "port", "list", "--json", "--grpc", f"127.0.0.1:{switches.GRPC_PORT}"]
    ports = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    sent = {p["port"]: p["tx_packets"] for p in ports}
    return sent[2], sent[REPORT_PORT]


def received(name: str) -> int:
    """Frames the interface has received, by this namespace's own table."""
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        interface, _, counters = line.partition(":")
        if interface.strip() == name:
            return int(counters.split()[1])
    raise SetupError(f"no interface {name}")


def measure(side: Side, info: Info, blast: Path, seconds: float, frame_bytes: int) -> dict:
    """Rates in packets per second while more is offered than is carried."""
    with tempfile.TemporaryDirectory() as logs:
        switch = side.start(Path(logs))
        try:
            configure(info)
            command = [str(blast), "ptf1", "", str(frame_bytes)]
            if side.segments:
                command.append(str(side.segments))
            command[2] = "0.3"
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            time.sleep(0.3)
            before = counted(switch, side.binary)
            begin = time.monotonic()
            command[2] = str(seconds)
            sent = int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            elapsed = time.monotonic() - begin
            after = counted(switch, side.binary)
        finally:
            switch.stop()
    return {
        "offered": sent / elapsed,
        "forwarded": (after[0] - before[0]) / elapsed,
        "reports": (after[1] - before[1]) / elapsed,
    }


def pipeline(examples: Path) -> None:
    print("pipeline alone, one core:", flush=True)
    subprocess.run([str(examples / "bench"), "200000"], check=True)


def veth(args: argparse.Namespace, examples: Path) -> int:
    binary = switches.embedded_binary(REPOSITORY)
    # As many as fit 64 KiB.
    segments = min(44, 65_000 // (args.bytes - 54))

    def embedded(logs: Path) -> switches.Running:
        return switches.start_embedded(binary, PORTS, logs, merge=True)

    sides = {"singles": Side(embedded, binary, 0), "supers": Side(embedded, binary, segments)}
    try:
        bmv2 = switches.bmv2_binary()

        def at_its_best(logs: Path) -> switches.Running:
            return switches.start_bmv2(bmv2, PORTS, logs, real_time=True)

        sides["bmv2"] = Side(at_its_best, None, 0)
    except SetupError:
        print("SKIPPED: simple_switch_grpc is not on PATH, nothing to compare with")
    # The embedded switch raises its data plane, BMv2 is raised; the generator shall not be at
    # a disadvantage beside them.
    os.setpriority(os.PRIO_PROCESS, 0, -15)
    network.enter_new_namespace()
    network.make_links(PORTS)
    info = Info(str(PROGRAM.with_name("tidemark.p4info.txtpb")))
    rates: dict[str, list[float]] = {name: [] for name in sides}
    print(f"through veth interfaces, {args.bytes}-byte frames, each reported:", flush=True)
    for i in range(args.rounds):
        for name, side in sides.items():
            r = measure(side, info, examples / "blast", args.seconds, args.bytes)
            rates[name].append(r["forwarded"])
            print(
                f"  round {i + 1} {name:8}: {r['forwarded'] / 1e3:8.1f} kpps forwarded, "
                f"{r['reports'] / 1e3:8.1f} k reports/s, {r['offered'] / 1e3:.0f} kpps offered",
                flush=True,
            )
    medians = {name: statistics.median(v) for name, v in rates.items()}
    for name, m in medians.items():
        print(f"median of {args.rounds}, {name}: {m / 1e3:.1f} kpps")
    print(f"ratio of super-frames to single frames: {medians['supers'] / medians['singles']:.2f}")
    if "bmv2" in medians:
        print(f"ratio of single frames to BMv2: {medians['singles'] / max(medians['bmv2'], 1):.1f}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--bytes", type=int, default=1000, help="frame without FCS")
    args = parser.parse_args()
    try:
        examples = switches.embedded_binary(REPOSITORY).parent / "examples"
        for name in ("bench", "blast"):
            if not (examples / name).exists():
                raise SetupError(f"{examples / name} is missing: run `make bench-switch`")
        pipeline(examples)
        return veth(args, examples)
    except SetupError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
