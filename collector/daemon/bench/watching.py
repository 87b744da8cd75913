# SPDX-License-Identifier: Apache-2.0
"""Cost of watching a TCP sender: goodput and CPU time without, with `tcp_probe` alone, and with
the agent, in turns, at the highest rate of this machine.

    python collector/daemon/bench/watching.py [--flows 4] [--seconds 4] [--json FILE]

Bulk flows go over a veth pair between two network namespaces, as fast as sender and receiver
can. `tcp_probe alone`: the kernel records the tracepoint of those flows and nobody reads it.
`agent`: `tidemark-collector agent` pushes to a collector on the same machine, whose CPU time is not
counted; its share of the cores still takes goodput, which a collector elsewhere would not.

Needs root, tracefs and `cargo build --release -p tidemark-collector`."""

import argparse
import contextlib
import ctypes
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
TRACING = Path("/sys/kernel/tracing")
INSTANCE = TRACING / "instances" / "tidemark-bench"
SENDER, RECEIVER = "tm-bench-tx", "tm-bench-rx"
PORT = 5201
BLOCK_BYTES = 1 << 20
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
GRPC = "127.0.0.1:19555"
WARM_UP_S = 0.5


def ip(*words: str) -> None:
    """Runs `ip` and fails with its message."""
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """A veth pair between two namespaces, gone at the end."""
    for name in (SENDER, RECEIVER):
        subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
        ip("netns", "add", name)
    try:
        ip("link", "add", "tx0", "netns", SENDER, "type", "veth", "peer", "rx0", "netns", RECEIVER)
        for name, device, host in ((SENDER, "tx0", 1), (RECEIVER, "rx0", 2)):
            ip("-n", name, "addr", "add", f"10.55.0.{host}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
        yield
    finally:
        for name in (SENDER, RECEIVER):
            ip("netns", "del", name)


def enter(name: str) -> None:
    """Moves this process into a namespace."""
    with Path(f"/run/netns/{name}").open() as file:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(file.fileno(), 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), f"setns {name}")


def receive(flows: int, pipe) -> None:
    """Accepts `flows` connections and reads each to its end."""
    enter(RECEIVER)
    with socket.create_server(("10.55.0.2", PORT), backlog=64) as server:
        pipe.send("ready")
        children = []
        for _ in range(flows):
            connection, _ = server.accept()
            child = multiprocessing.Process(target=drain, args=(connection,))
            child.start()
            connection.close()
            children.append(child)
    for child in children:
        child.join()


def drain(connection: socket.socket) -> None:
    """Reads to the end and keeps nothing."""
    buffer = bytearray(BLOCK_BYTES)
    while connection.recv_into(buffer):
        pass


def send(seconds: float, results) -> None:
    """Sends as fast as the socket takes, and tells the bytes acknowledged after the warm-up."""
    enter(SENDER)
    block = bytes(BLOCK_BYTES)
    with socket.create_connection(("10.55.0.2", PORT)) as s:
        begin = time.monotonic() + WARM_UP_S
        end = begin + seconds
        first, started = None, begin
        while (now := time.monotonic()) < end:
            if first is None and now >= begin:
                first, started = acknowledged(s), now
            s.sendall(block)
        results.put((acknowledged(s) - (first or 0), time.monotonic() - started))


def acknowledged(s: socket.socket) -> int:
    """Bytes acknowledged (tcpi_bytes_acked of Linux's struct tcp_info)."""
    info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int.from_bytes(info[120:128], sys.byteorder)


def busy_s() -> float:
    """CPU time of all cores that were not idle."""
    fields = [int(v) for v in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / TICKS_PER_S


def process_s(process: subprocess.Popen | None) -> float:
    """CPU time of all threads of a process; 0 without a process."""
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def transfer(flows: int, seconds: float, others: list[subprocess.Popen | None]) -> dict:
    """One transfer: goodput, and CPU time without that of the first of `others`."""
    ours, theirs = multiprocessing.Pipe()
    receiver = multiprocessing.Process(target=receive, args=(flows, theirs))
    receiver.start()
    ours.recv()
    results = multiprocessing.Queue()
    senders = [multiprocessing.Process(target=send, args=(seconds, results)) for _ in range(flows)]
    for sender in senders:
        sender.start()
    time.sleep(WARM_UP_S)
    before, each = busy_s(), [process_s(p) for p in others]
    time.sleep(seconds - 0.2)
    busy = busy_s() - before
    used = [process_s(p) - b for p, b in zip(others, each, strict=True)]
    done = [results.get() for _ in senders]
    for process in [*senders, receiver]:
        process.join()
    rate = sum(sent / took for sent, took in done)
    return {
        "goodput_gbps": rate * 8 / 1e9,
        "cpu_s_per_gb": (busy - used[0]) / (rate * (seconds - 0.2) / 1e9),
        "agent_cores": used[1] / (seconds - 0.2),
        "collector_cores": used[0] / (seconds - 0.2),
    }


@contextlib.contextmanager
def nothing() -> Iterator[list]:
    """Without any watching."""
    yield [None, None]


@contextlib.contextmanager
def tcp_probe() -> Iterator[list]:
    """The kernel records the tracepoint of the port, and nobody reads."""
    INSTANCE.mkdir(exist_ok=True)
    event = INSTANCE / "events" / "tcp" / "tcp_probe"
    try:
        (event / "filter").write_text(f"sport == {PORT} || dport == {PORT}")
        (event / "enable").write_text("1")
        yield [None, None]
    finally:
        (event / "enable").write_text("0")
        INSTANCE.rmdir()


@contextlib.contextmanager
def agent(program: Path) -> Iterator[list]:
    """The agent, and a collector that takes what it pushes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program), "run", "--agents", "true", "--grpc", GRPC]
        command += ["--http", "127.0.0.1:19556", "--listen", "127.0.0.1:19557"]
        collector = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
        command = [str(program), "agent", "--to", GRPC, "--port", str(PORT), "--json"]
        pusher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            time.sleep(1.5)
            for process in (collector, pusher):
                if process.poll() is not None:
                    raise SystemExit(f"error: {' '.join(process.args)} ended at its start")
            yield [collector, pusher]
        finally:
            pusher.terminate()
            told = json.loads(pusher.communicate(timeout=20)[0])
            collector.terminate()
            collector.wait(20)
            AGENT_TOLD.append(told)


AGENT_TOLD: list[dict] = []


def measure(args: argparse.Namespace) -> dict:
    """Measures all ways in turns; returns the median of each."""
    program = Path(os.environ.get("TIDEMARK_BIN_DIR", REPOSITORY / "target/release"))
    program = program / "tidemark-collector"
    ways = {
        "none": ("nothing", nothing),
        "tcp_probe": ("tcp_probe alone", tcp_probe),
        "agent": ("the agent", lambda: agent(program)),
    }
    runs: dict[str, list[dict]] = {name: [] for name in ways}
    with namespaces():
        for _ in range(args.rounds):
            for name, (what, watch) in ways.items():
                with watch() as others:
                    runs[name].append(transfer(args.flows, args.seconds, others))
                last = runs[name][-1]
                print(f"{what:16} {last['goodput_gbps']:6.2f} Gb/s", flush=True)
    result: dict = {"flows": args.flows, "seconds": args.seconds, "ways": {}, "agent": AGENT_TOLD}
    for name, (what, _) in ways.items():
        keys = runs[name][0].keys()
        middle = {k: statistics.median(r[k] for r in runs[name]) for k in keys}
        pairs = zip(runs[name], runs["none"], strict=True)
        ratios = [a["goodput_gbps"] / b["goodput_gbps"] for a, b in pairs]
        middle |= {"what": what, "goodput_ratio": statistics.median(ratios), "runs": runs[name]}
        result["ways"][name] = middle
        print(
            f"{what:16} goodput {middle['goodput_gbps']:.2f} Gb/s, {middle['goodput_ratio']:.3f} "
            f"of none; CPU {middle['cpu_s_per_gb']:.3f} s/GB; agent {middle['agent_cores']:.3f} "
            "cores"
        )
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--flows", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=4.0, help="of a transfer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where the raw figures go")
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("error: needs root, for network namespaces and tracefs", file=sys.stderr)
        return 2
    if not (TRACING / "events" / "tcp" / "tcp_probe").exists():
        print(
            f"error: no tracefs at {TRACING}: `mount -t tracefs tracefs {TRACING}`", file=sys.stderr
        )
        return 2
    result = measure(args)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
