# SPDX-License-Identifier: GPL-2.0-only
"""Compares the embedded switch with BMv2: the same P4Runtime writes, the same random
frames (valid, truncated, malformed), the same frames out of every port; after the
last frame the same registers, counters, packet-ins and digests.

    python switch/daemon/tests/differential/run.py [--packets 2000] [--seed 1]

Two programs: Tidemark's own, and one with every kind of P4Runtime entity
(selectors with weights, meters, direct resources, digests), whose frames tell
what it saw.

Both switches run side by side, each on veth interfaces of its own. One frame at
a time goes into both; the outgoing frames are compared byte by byte, in order for
each port. Only one thing is normalised, because the two run on clocks of their
own: in reports the ingress and egress time and the UDP checksum that covers them
are set to 0. As a frame is sent only after the one before has left, queues are
empty and their depths comparable. BMv2's registers are read through Thrift.

Needs root; prints SKIPPED and exits with 0 if simple_switch_grpc is not on PATH.
"""

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
from pathlib import Path

# The modules that p4runtime publishes were generated for an older protobuf.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
REPOSITORY = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(REPOSITORY / "ptf-tests"))

from frames import damaged  # noqa: E402
from programs import ENTITIES, HOSTS, PORTS, REPORT_PORT, TIDEMARK  # noqa: E402
from runner import SetupError, network, switches  # noqa: E402
from side import CPU_PORT, Side, links  # noqa: E402
from state import differences  # noqa: E402
from tidemark_lab.bmv2 import command as bmv2_command  # noqa: E402
from tidemark_lab.bmv2.thrift import Thrift  # noqa: E402

GRPC = {"e": 9557, "b": 9558}
THRIFT_PORT = 9097


def commands(bmv2: Path, logs: Path) -> dict[str, list[str]]:
    ours = [str(switches.embedded_binary(REPOSITORY)), "run"]
    ours += ["--grpc", f"127.0.0.1:{GRPC['e']}", "--cpu-port", str(CPU_PORT)]
    theirs = bmv2_command.arguments(
        bmv2,
        device_id=switches.DEVICE_ID,
        interfaces={port: f"bs{port}" for port in PORTS},
        grpc=f"127.0.0.1:{GRPC['b']}",
        thrift_port=THRIFT_PORT,
    )
    for port in PORTS:
        ours += ["--port", f"{port}=es{port}"]
    return {"e": ours, "b": theirs}


def compare_frames(args: argparse.Namespace, ours: Side, theirs: Side) -> tuple[str, int]:
    """Returns a summary, and how many packets made a difference."""
    r = random.Random(args.seed)
    frames_out = reports = found = sent = 0
    for n in range(args.packets):
        f = ours.program.frame(r)
        if r.random() < 0.35:
            f = damaged(r, f)
        port = r.choice(HOSTS)
        theirs.send(port, f)
        ours.send(port, f)
        sent += 1
        have = ours.collect(None)
        want = theirs.collect(sum(len(v) for v in have.values()))
        if want != have:
            # A late frame is not a difference.
            for got, side in ((have, ours), (want, theirs)):
                for p, more in side.collect(1_000_000).items():
                    got[p] += more
        frames_out += sum(len(v) for v in want.values())
        reports += len(want[REPORT_PORT])
        if want == have:
            continue
        found += 1
        print(f"packet {n}, into port {port}: {f.hex()}")
        for p in PORTS:
            if want[p] != have[p]:
                print(f"  port {p}: BMv2     {[x.hex() for x in want[p]]}")
                print(f"  port {p}: embedded {[x.hex() for x in have[p]]}")
        if found >= args.most_differences:
            break
    if not frames_out:
        found += 1
        print("no frame came out of BMv2")
    summary = f"{sent} packets into both switches, {frames_out} frames out of BMv2"
    if reports:
        summary += f" ({reports} reports)"
    return summary, found


def run(args: argparse.Namespace, bmv2: Path, name: str) -> int:
    program = next(p for p in (TIDEMARK, ENTITIES) if p.name == name)
    sides: list[Side] = []
    with tempfile.TemporaryDirectory() as logs:
        try:
            for side_name, command in commands(bmv2, Path(logs)).items():
                sides.append(Side(side_name, command, GRPC[side_name], Path(logs), program))
            for side in sides:
                side.connect()
            frames_summary, found = compare_frames(args, *sides)
            state_summary, more = differences(*sides, Thrift("127.0.0.1", THRIFT_PORT))
        finally:
            for side in sides:
                side.stop()
    print(f"{program.name}: {frames_summary}; {state_summary}")
    print(f"{program.name}: {found} packets and {more} values differ (seed {args.seed})")
    return found + more


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packets", type=int, default=2000, help="packets per program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-differences", type=int, default=5)
    parser.add_argument("--program", choices=["tidemark", "entities"], help="run only this one")
    args = parser.parse_args()
    try:
        bmv2 = switches.bmv2_binary()
    except SetupError as e:
        print(f"SKIPPED: {e}")
        return 0
    try:
        network.enter_new_namespace()
        links(["e", "b"])
        # Each program in a process of its own, forked before gRPC is used.
        found = 0
        for p in (TIDEMARK, ENTITIES):
            if args.program in (None, p.name):
                with multiprocessing.Pool(1) as pool:
                    found += pool.apply(run, (args, bmv2, p.name))
        return 1 if found else 0
    except SetupError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
