# SPDX-License-Identifier: Apache-2.0
"""Two priority queues of a port, in virtual time: from packets to the rows and links of each.

The expected fate of each packet comes from an independent model of strict priority."""

import csv
import json
import struct
import subprocess
from collections import deque

from test_int_md_program import checksum, write_pcap

from tidemark_lab.preflight import Paths

EXPEDITED = 46
RATE_BPS = 10_000_000
LIMITS = {0: 9_000, 1: 4_000}
PACKETS = 3000
OVERHEAD_BYTES = 24

COMMANDS = f"""
table_add l2_forward forward 02:00:00:00:00:02 => 2
table_set_default queue_count set_queue_count 2
table_add queue_of take_queue 0&&&0 {EXPEDITED}&&&63 => 1 1
table_add queue_limit drop_tail 2 => {LIMITS[0]}
table_add priority_queue_limit drop_tail 2 1 => {LIMITS[1]}
table_add watch report 0&&&0 0&&&0 0&&&0 0&&&0 0&&&0 0&&&0 0&&&0 => 0 1
table_set_default report_to set_destination 02:00:00:00:00:51 02:00:00:00:00:52 \
10.9.0.1 10.9.0.2 32766 3 10
mirroring_add 1 5
"""


def queue_of(n: int) -> int:
    """Bursts of the upper queue among the packets that fill the lower one."""
    return 1 if n % 300 < 60 or n % 7 == 0 else 0


def frame(n: int) -> bytes:
    payload = bytes(500 + n * 37 % 800)
    dscp = EXPEDITED if queue_of(n) else n % 40
    ip = struct.pack(">BBHHHBBH", 0x45, dscp << 2, 40 + len(payload), n, 0x4000, 64, 6, 0)
    ip += bytes([10, 0, 0, 1, 10, 0, 0, 2])
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    # One flow per code point; the packet's number is its sequence number.
    tcp = struct.pack(">HHIIBBHHH", 40_000 + dscp, 80, n, 1, 0x50, 0x10, 512, 0xABCD, 0)
    return bytes.fromhex("020000000002020000000001") + b"\x08\x00" + ip + tcp + payload


def expected(frames: list[tuple[int, bytes]]) -> list[tuple[int, int, bool]]:
    """For each packet, its queue, the bytes waiting there, and whether it was refused."""
    waiting = {q: deque() for q in LIMITS}
    free_ns, met = 0.0, []

    def serve(until_ns: float):
        nonlocal free_ns
        while free_ns <= until_ns and any(waiting.values()):
            queue = 1 if waiting[1] else 0
            free_ns += (waiting[queue].popleft() + OVERHEAD_BYTES) * 8e9 / RATE_BPS

    for n, (us, data) in enumerate(frames):
        now_ns = us * 1e3
        serve(now_ns)
        queue = queue_of(n)
        occupancy = sum(waiting[queue])
        refused = occupancy >= LIMITS[queue]
        met.append((queue, occupancy, refused))
        if not refused:
            waiting[queue].append(len(data))
            if free_ns <= now_ns:
                free_ns = now_ns
                serve(now_ns)
    return met


def test_neither_counts_nor_names_the_other(binary, tmp_path):
    # About 1.2 times the port's capacity, at times that coincide with no departure.
    frames = [(n * 647 + n % 3, frame(n)) for n in range(PACKETS)]
    came, commands = tmp_path / "sent.pcap", tmp_path / "commands.txt"
    write_pcap(came, frames)
    commands.write_text(COMMANDS)
    program = Paths.find().p4_dir / "tidemark.json"
    argv = [binary("tidemark-switch"), "pcap", "--program", program, "--entries", commands]
    argv += ["--in", f"1={came}", "--out", tmp_path, "--port", f"2=rate={RATE_BPS}bit"]
    argv += ["--priority-queues", "2"]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)

    capture = tmp_path / "capture"
    argv = [binary("tidemark-collector"), "import", "--pcap", tmp_path / "port-5.pcap"]
    subprocess.run([*argv, "--out", capture], check=True, capture_output=True)
    argv = [binary("tidemark-collector"), "export", capture, "--csv"]
    subprocess.run([*argv, "--out", tmp_path / "rows.csv"], check=True, capture_output=True)
    with (tmp_path / "rows.csv").open() as file:
        rows = {int(r["tcp_seq"]): r for r in csv.DictReader(file)}
    met = expected(frames)
    for n, (queue, occupancy, refused) in enumerate(met):
        row = rows[n]
        told = (int(row["queue"]), int(row["occupancy_bytes"]), row["dropped"] == "true")
        assert told == (queue, occupancy, refused), f"packet {n}"
        assert int(row["limit_bytes"]) == LIMITS[queue]
    for queue, limit in LIMITS.items():
        of_queue = [m for m in met if m[0] == queue]
        assert sum(m[2] for m in of_queue) > 20, "each queue was full at times"
        assert max(m[1] for m in of_queue) >= limit

    argv = [binary("tidemark-controller"), "analyze", capture, "--json"]
    told = subprocess.run(argv, check=True, capture_output=True, text=True)
    links = {link["queue"]: link for link in json.loads(told.stdout)["links"]}
    assert set(links) == set(LIMITS)
    for queue, link in links.items():
        of_queue = [m for m in met if m[0] == queue]
        assert (link["node"], link["port"], link["limit_bytes"]) == (10, 2, LIMITS[queue])
        assert link["arrivals"] == len(of_queue)
        assert link["drops"] == sum(m[2] for m in of_queue)
        assert link["shares_port"]
