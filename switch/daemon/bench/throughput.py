# SPDX-License-Identifier: Apache-2.0
"""Throughput of the embedded switch with Tidemark's program, every packet reported, after
RFC 2544: for each frame size the highest rate with at most 1 % loss.

    python switch/daemon/bench/throughput.py [--json FILE] [--sizes 64 512 1518]

The pipeline alone on one core, without sockets, comes first.
A frame counts as lost if it or its report does not leave the switch. Between trials all queues
are empty. The sender's CPU time is counted separately from the device's.
Sizes are those of Ethernet with its FCS. `supers`: the frames of one TCP flow in super-frames,
as a host with segmentation offload sends them, counted by segments. `without program`: the
same through the switch's sockets alone (examples/repeater.rs), cut and merged, with a report
each: an upper bound for any program. BMv2, if `simple_switch_grpc` is on PATH, runs with its
log off and queues as deep as ours. Devices have real-time priority and the sender a higher one,
so that the offered rate is the requested one.

Needs root and `cargo build --release -p tidemark-switch --bins --examples`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

# The p4runtime package was generated for an older protobuf.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "ptf-tests"))

from runner import SetupError, network, switches  # noqa: E402
from search import Highest, Trial, highest  # noqa: E402
from tidemark_lab.bmv2.thrift import Thrift  # noqa: E402
from tidemark_ptf.p4rt import INSERT, MODIFY, Client, Info  # noqa: E402

PROGRAM = REPOSITORY / "p4src" / "build" / "tidemark.json"
PORTS = [1, 2, 5]
HOST_PORTS = [1, 2]
# Depth of each queue of every device; BMv2's default is 64.
QUEUE_PACKETS = 4096
# Above the devices' priority: forwarding must not slow down the sender that feeds it.
SENDER = ["chrt", "--rr", "11"]
REPORT_PORT = 5
SIZES = [64, 128, 256, 512, 1024, 1280, 1518]
FCS_BYTES = 4
# Largest super-frame, with its headers.
MOST_SUPER_BYTES = 65_000
HEADER_BYTES = 54
# Segments smaller than a host would cut are of no interest.
LEAST_SUPER_BYTES = 500
# Frame of a report of a TCP segment over IPv4.
REPORT_FRAME_BYTES = 134
DRAINED_S = 0.05
DRAIN_TIMEOUT_S = 5.0
# How long a repeater continues after the last frame was sent.
DRAIN_S = 0.5
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def mac(host: int) -> int:
    return 0x020000000000 | host


def configure(info: Info) -> None:
    """Sets up forwarding between hosts 1 and 2, with every packet watched."""
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
    """Returns the packets that left towards host 2 and the collector; for our switch by its
    own count, as an interface counts a super-frame as one packet."""
    if binary is None:
        return received("ptf2"), received("ptf5")
    command = [str(binary), "port", "list", "--json", "--grpc", f"127.0.0.1:{switches.GRPC_PORT}"]
    ports = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    sent = {p["port"]: p["tx_packets"] for p in ports}
    return sent[2], sent[REPORT_PORT]


def received(name: str) -> int:
    """Returns the frames that the interface has received, from this namespace's own table."""
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        interface, _, counters = line.partition(":")
        if interface.strip() == name:
            return int(counters.split()[1])
    raise SetupError(f"no interface {name}")


def device_cpu_s(pid: int) -> float:
    """Returns the CPU time of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def drained(count: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """Returns the frames that have left, once no more leave."""
    before, deadline = count(), time.monotonic() + DRAIN_TIMEOUT_S
    while time.monotonic() < deadline:
        time.sleep(DRAINED_S)
        now = count()
        if now == before:
            return now
        before = now
    raise SetupError(f"frames still leave {DRAIN_TIMEOUT_S} s after the last was sent")


class Sender:
    """One kind of traffic."""

    def __init__(self, blast: Path, segments: int, size: int) -> None:
        self.blast = blast
        self.segments = segments
        self.frame_bytes = size - FCS_BYTES

    def send(self, seconds: float, rate_pps: float) -> tuple[int, float]:
        """Returns frames sent and the sender's CPU time; a rate of 0 means as fast as possible."""
        command = [*SENDER, str(self.blast), "ptf1", str(seconds), str(self.frame_bytes)]
        command += [str(self.segments), str(rate_pps)]
        sent, cpu_s = finished(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return int(sent), cpu_s


def finished(process: subprocess.Popen) -> tuple[str, float]:
    """Returns the output of a process once it has ended, and its CPU time in s."""
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return printed, used.ru_utime + used.ru_stime


class Bench:
    """One running switch with one kind of traffic."""

    def __init__(self, switch: switches.Running, sender: Sender, binary: Path | None) -> None:
        self.pid = switch.process.pid
        self.count = partial(counted, switch, binary)
        self.sender = sender

    def trial(self, seconds: float, rate_pps: float) -> Trial:
        """Runs one trial, from empty queues to empty queues."""
        before, cpu_before = drained(self.count), device_cpu_s(self.pid)
        began = time.monotonic()
        sent, sender_cpu_s = self.sender.send(seconds, rate_pps)
        elapsed = time.monotonic() - began
        after = drained(self.count)
        cpu_s = device_cpu_s(self.pid) - cpu_before
        left = tuple(a - b for a, b in zip(after, before, strict=True))
        return trial_of(rate_pps, elapsed, (sent, sender_cpu_s), (left[0], left[1], cpu_s))


class Repeater:
    """The switch's sockets without a program."""

    def __init__(self, program: Path, sender: Sender) -> None:
        self.command = [*switches.REAL_TIME, str(program)]
        self.command += ["sw1", "sw2", f"sw{REPORT_PORT}", str(REPORT_FRAME_BYTES)]
        self.sender = sender

    def trial(self, seconds: float, rate_pps: float) -> Trial:
        """Runs one trial, from empty queues to empty queues."""
        command = [*self.command, str(seconds + DRAIN_S)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if process.stdout.readline() != "ready\n":
            raise SetupError(f"{' '.join(command)} does not start")
        began = time.monotonic()
        sent, sender_cpu_s = self.sender.send(seconds, rate_pps)
        elapsed = time.monotonic() - began
        printed, cpu_s = finished(process)
        count = int(printed)
        return trial_of(rate_pps, elapsed, (sent, sender_cpu_s), (count, count, cpu_s))


def trial_of(
    rate_pps: float, elapsed_s: float, sender: tuple[int, float], device: tuple[int, int, float]
) -> Trial:
    """`sender`: frames, CPU time (s); `device`: frames forwarded, reported, CPU time (s)."""
    sent, sender_cpu_s = sender
    forwarded, reported, device_cpu_s = device
    each_ns = 1e9 / max(sent, 1)
    return Trial(
        wanted_pps=rate_pps or sent / elapsed_s,
        offered_pps=sent / elapsed_s,
        forwarded_pps=forwarded / elapsed_s,
        reported_pps=reported / elapsed_s,
        loss=1 - min(forwarded, reported) / max(sent, 1),
        sender_cpu_ns=sender_cpu_s * each_ns,
        device_cpu_ns=device_cpu_s * each_ns,
    )


def most_offered(at: Bench | Repeater, seconds: float) -> float:
    """Returns the sender's frames per second: the best of three, as other work may disturb it."""
    return max(at.trial(min(seconds, 0.5), 0).offered_pps for _ in range(3))


def search(
    start: Callable[[Path], switches.Running], bench: partial, info: Info, seconds: float
) -> Highest:
    """Searches for the highest rate of a switch started for this purpose."""
    with tempfile.TemporaryDirectory() as logs:
        switch = start(Path(logs))
        try:
            configure(info)
            at = bench(switch)
            # Warms up caches and the program, then measures what the sender can do.
            at.sender.send(0.3, 0)
            return highest(partial(at.trial, seconds), most_offered(at, seconds))
        finally:
            switch.stop()


def segments_of(size: int) -> int:
    """Returns the number of segments in a super-frame."""
    payload = size - FCS_BYTES - HEADER_BYTES
    return min(44, (MOST_SUPER_BYTES - HEADER_BYTES) // payload)


def sides(size: int) -> dict[str, tuple[Callable[[Path], switches.Running], Path | None, int]]:
    """Returns the switches to measure: starter, binary if it counts itself, segments."""
    binary = switches.embedded_binary(REPOSITORY)

    def embedded(logs: Path) -> switches.Running:
        return switches.start_embedded(binary, PORTS, logs, merge=True, real_time=True)

    all_sides: dict = {"singles": (embedded, binary, 0)}
    if size >= LEAST_SUPER_BYTES:
        all_sides["supers"] = (embedded, binary, segments_of(size))
    try:
        bmv2 = switches.bmv2_binary()
    except SetupError:
        return all_sides

    def at_its_best(logs: Path) -> switches.Running:
        switch = switches.start_bmv2(bmv2, PORTS, logs, real_time=True)
        thrift = Thrift("127.0.0.1", switches.THRIFT_PORT)
        for port in PORTS:
            thrift.set_egress_queue_depth(port, QUEUE_PACKETS)
        return switch

    all_sides["bmv2"] = (at_its_best, None, 0)
    return all_sides


def measure(args: argparse.Namespace) -> dict:
    """Measures all frame sizes, with all sides in turn."""
    examples = switches.embedded_binary(REPOSITORY).parent / "examples"
    blast, repeater = examples / "blast", examples / "repeater"
    for program in (blast, repeater, examples / "bench"):
        if not program.exists():
            raise SetupError(f"{program} is missing: run `make bench-switch`")
    print("pipeline alone, one core:", flush=True)
    subprocess.run([str(examples / "bench"), "200000"], check=True)
    # Above both: this process times the trials.
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(12))
    result: dict = {"sizes": []}
    if "bmv2" not in sides(args.sizes[0]):
        print("SKIPPED: simple_switch_grpc is not on PATH, nothing to compare with")
    network.enter_new_namespace()
    network.make_links(PORTS)
    info = Info(str(PROGRAM.with_name("tidemark.p4info.txtpb")))
    for size in args.sizes:
        for name, (start, binary, segments) in sides(size).items():
            sender = Sender(blast, segments, size)
            bench = partial(Bench, sender=sender, binary=binary)
            put(result, size, name, search(start, bench, info, args.seconds))
            if name != "bmv2":
                at = Repeater(repeater, sender)
                most_pps = most_offered(at, args.seconds)
                found = highest(partial(at.trial, args.seconds), most_pps)
                put(result, size, f"{name} without program", found)
    headline(result)
    return result


def headline(result: dict) -> None:
    """Prints the share of the program-less repeater's rate at each size."""
    best = {(r["size_bytes"], r["side"]): r["best"] for r in result["sizes"] if r["best"]}
    print("share of a repeater without a program:")
    for (size, side), row in best.items():
        bare = best.get((size, f"{side} without program"))
        if bare is not None:
            share = row["offered_pps"] / bare["offered_pps"]
            cpu = bare["device_cpu_ns"] / row["device_cpu_ns"]
            print(f"{size:5} B {side:8}: {share:.0%} of its rate, {cpu:.0%} by CPU time")


def put(result: dict, size: int, name: str, found: Highest) -> None:
    """Adds a row to the raw figures and the table."""
    result["sizes"].append({"size_bytes": size, "side": name, **asdict(found)})
    print(line(size, name, found), flush=True)


def line(size: int, name: str, found: Highest) -> str:
    """Formats a row of the table."""
    if found.best is None:
        return f"{size:5} B {name:23}: no rate with at most 1 % loss"
    best = found.best
    return (
        f"{size:5} B {name:23}: {best.offered_pps / 1e3:8.1f} kpps"
        f"{', all that the sender has' if found.sender_limited else ''}; CPU each: "
        f"{best.device_cpu_ns:.0f} ns, sender {best.sender_cpu_ns:.0f} ns"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="sizes with FCS, bytes")
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of a trial")
    parser.add_argument("--json", type=Path, help="file for the raw figures")
    args = parser.parse_args()
    try:
        result = measure(args)
    except SetupError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")
        print(f"raw figures: {args.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
