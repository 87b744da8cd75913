# SPDX-License-Identifier: Apache-2.0
"""A front on its own port, which can be killed and restarted; and a source of reports."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tidemark_clickhouse.statements import split

REPOSITORY = Path(__file__).resolve().parents[3]
DEPLOY = REPOSITORY / "deploy" / "clickhouse"
BIN_DIR = Path(os.environ.get("TIDEMARK_BIN_DIR", REPOSITORY / "target" / "release"))
COLLECTOR = BIN_DIR / "tidemark-collector"
NODE = (
    '[nodes.10]\nname = "s"\ntime_unit = "ns"\ndepth_unit = "bytes"\n'
    "[nodes.10.ports.1]\ncapacity_bps = 100000000\n"
)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def eventually(what: str, test: Callable[[], object], timeout_s: float = 60) -> None:
    """Waits until `test` returns something true."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if test():
            return
        time.sleep(0.02)
    raise AssertionError(f"it does not happen: {what}")


class Front:
    """`python -m tidemark_clickhouse` and a client of it."""

    def __init__(self, path: Path, port: int, *arguments: str):
        self.path = path
        self.arguments = arguments
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Front:
        command = [sys.executable, "-m", "tidemark_clickhouse", "--path", str(self.path)]
        command += ["--listen", f"127.0.0.1:{self.port}", "--schema", str(DEPLOY / "schema.sql")]
        command += self.arguments
        if os.geteuid() == 0:
            command += ["--user", "nobody"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("ready: "), line
        return self

    def kill(self) -> None:
        """Kills the front with SIGKILL."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process = None

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            assert self.process.wait(timeout=30) == 0
            self.process.stdout.close()
            self.process = None

    def query(self, sql: str, database: str = "tidemark", **params: object) -> list[list[str]]:
        """Runs a query; returns rows of text."""
        pairs = {"database": database} | {f"param_{k}": str(v) for k, v in params.items()}
        url = f"{self.url}/?{urllib.parse.urlencode(pairs)}"
        try:
            with urllib.request.urlopen(url, data=sql.encode(), timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{e.code}: {e.read().decode()}") from None
        return [line.split("\t") for line in text.splitlines()]

    def number(self, sql: str, **params: object) -> int:
        return int(self.query(sql, **params)[0][0])

    def file(self, name: str, **params: object) -> list[dict[str, str]]:
        """Runs a query of deploy/clickhouse/queries; returns rows by column name."""
        sql = (DEPLOY / "queries" / f"{name}.sql").read_text() + "\nFORMAT TSVWithNames"
        names, *rows = self.query(sql, **params)
        return [dict(zip(names, row, strict=True)) for row in rows]


class Container(Front):
    """A real server in a container of image TIDEMARK_CLICKHOUSE_IMAGE."""

    def __init__(self, image: str, port: int):
        super().__init__(Path(), port)
        self.name = f"tidemark-clickhouse-test-{port}"
        self.docker(
            "create", "--name", self.name, "--publish", f"127.0.0.1:{port}:8123",
            "--env", "CLICKHOUSE_SKIP_USER_SETUP=1", image,
        )  # fmt: skip

    def docker(self, *arguments: str) -> None:
        subprocess.run(["docker", *arguments], check=True, stdout=subprocess.DEVNULL)

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/ping", timeout=5) as answer:
                return answer.read() == b"Ok.\n"
        except OSError:
            return False

    def start(self) -> Container:
        self.docker("start", self.name)
        eventually("the server answers", self.answers)
        self.query("CREATE DATABASE IF NOT EXISTS tidemark", database="default")
        for statement in split((DEPLOY / "schema.sql").read_text()):
            self.query(statement)
        return self

    def kill(self) -> None:
        self.docker("kill", "--signal", "KILL", self.name)

    def stop(self) -> None:
        self.docker("stop", self.name)

    def remove(self) -> None:
        self.docker("rm", "--force", "--volumes", self.name)


@pytest.fixture
def front() -> Iterator[Front]:
    if image := os.environ.get("TIDEMARK_CLICKHOUSE_IMAGE"):
        container = Container(image, free_port())
        try:
            yield container.start()
        finally:
            container.remove()
        return
    # Not below tmp_path, which only its owner may enter.
    with tempfile.TemporaryDirectory(prefix="tidemark-front-") as directory:
        Path(directory).chmod(0o755)
        f = Front(Path(directory) / "tables", free_port()).start()
        yield f
        f.stop()


class Switch:
    """Sends telemetry reports 2.0 of one queue, in the P4 program's layout."""

    FLOWS = 8
    SERVICE_NS = 123_040
    DROP_EVERY = 101

    def __init__(self, port: int):
        self.address = ("127.0.0.1", port)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sent = 0
        self.dropped = 0
        self.kept = [0, 0]  # Sequence numbers by hw_id.

    def close(self) -> None:
        self.socket.close()

    def report(self) -> bytes:
        """Returns the next packet's report."""
        i = self.sent
        dropped = i % self.DROP_EVERY == self.DROP_EVERY - 1
        arrived_ns = 5_000_000_000 + i * self.SERVICE_NS
        occupancy_bytes = 1514 * (i % 50)
        hw_id = int(dropped)
        head = 2 << 28 | hw_id << 22 | self.kept[hw_id] & 0x3FFFFF
        self.kept[hw_id] += 1
        ports = struct.pack(">II", 2 << 16 | 1, occupancy_bytes)
        policy = struct.pack(">II", 75_700, 0)
        if dropped:
            bits, words, flags = 0x5801, 7, 0xA0
            metadata = ports + struct.pack(">QI", arrived_ns, 71 << 16) + policy
        else:
            bits, words, flags = 0x5C00, 8, 0x20
            left_ns = arrived_ns + occupancy_bytes * 81
            metadata = ports + struct.pack(">QQ", arrived_ns, left_ns) + policy
        flow = i % self.FLOWS
        ip = struct.pack(
            ">BBHIBBH4s4s",
            0x45, 0, 1500, 0, 63, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 1, 1]),
        )  # fmt: skip
        tcp_seq = 1460 * (i // self.FLOWS)
        tcp = struct.pack(">HHIIBBHI", 40_000 + flow, 5001, tcp_seq, 0, 0x50, 0x10, 0, 0)
        length = 0x14 << 24 | (2 + words + 10) << 16 | words << 8 | flags
        fixed = struct.pack(">IIIII", head, 10, length, bits << 16 | 0x544D, 0xC000 << 16)
        self.sent += 1
        self.dropped += dropped
        return fixed + metadata + ip + tcp

    def send(self, reports: int, per_s: float = 20_000) -> None:
        """Sends reports at a limited rate, so that the receiver's buffer does not overflow."""
        begin = time.monotonic()
        for i in range(reports):
            self.socket.sendto(self.report(), self.address)
            if i % 50 == 49:
                ahead = (i + 1) / per_s - (time.monotonic() - begin)
                if ahead > 0:
                    time.sleep(ahead)


class Daemon:
    """A program that runs until it is stopped."""

    process: subprocess.Popen[str] | None = None

    def launch(self, command: list[str], stream: str, ready: str) -> None:
        """Starts the program and waits for a line that begins with `ready`."""
        self.process = subprocess.Popen(command, text=True, **{stream: subprocess.PIPE})
        lines = getattr(self.process, stream)
        for line in lines:
            if line.startswith(ready):
                break
        else:
            raise AssertionError(f"{command[0]} does not start")
        # The pipe must not fill up.
        threading.Thread(target=lines.read, daemon=True).start()

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(timeout=90) == 0
        self.process = None

    def kill(self) -> None:
        """Kills the program with SIGKILL."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Collector(Daemon):
    """`tidemark-collector run` with a ClickHouse sink."""

    def __init__(self, directory: Path, url: str, extra: str = ""):
        self.udp, self.grpc, self.http = free_port(), free_port(), free_port()
        self.config = directory / "collector.toml"
        self.spool = directory / "spool"
        self.config.write_text(
            f'listen = ["127.0.0.1:{self.udp}"]\n'
            f'[grpc]\nlisten = "127.0.0.1:{self.grpc}"\n'
            f'[http]\nlisten = "127.0.0.1:{self.http}"\n'
            f'[clickhouse]\nurl = "{url}"\nspool_dir = "{self.spool}"\n'
            f"batch_ms = 100\nretry_max_ms = 200\nfinish_s = 60\n{extra}"
            f"[pipeline]\nreorder_ms = 10\n{NODE}"
        )

    def start(self) -> Collector:
        self.launch([str(COLLECTOR), "run", "--config", str(self.config)], "stderr", "ready:")
        return self

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=10) as answer:
            return answer.read().decode()

    def metric(self, name: str) -> float:
        """Returns a metric, summed over its labels."""
        lines = self.get("/metrics").splitlines()
        prefix = f"tidemark_collector_{name}"
        values = [float(line.split()[-1]) for line in lines if re.match(rf"{prefix}(\{{|\s)", line)]
        assert values, f"no metric {prefix}"
        return sum(values)
