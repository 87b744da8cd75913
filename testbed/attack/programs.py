# SPDX-License-Identifier: Apache-2.0
"""The collector and the controller under attack."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import reports

REPOSITORY = Path(__file__).resolve().parents[2]
BIN_DIR = Path(os.environ.get("TIDEMARK_BIN_DIR", REPOSITORY / "target" / "release"))
MIB = 1 << 20
NODES = """
[nodes.10]
name = "s1"
time_unit = "ns"
depth_unit = "bytes"
exporters = ["127.0.0.1", "127.0.0.2"]
[nodes.10.ports.1]
name = "bottleneck"
capacity_bps = 100000000
"""


class Succeeded(AssertionError):
    """An attack that did what it should not."""


def claim(holds: bool, what: str) -> None:
    """Ends the attack as one that succeeded unless `holds`."""
    if not holds:
        raise Succeeded(what)


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def eventually(what: str, test: Callable[[], object], timeout_s: float = 60.0) -> None:
    end = time.monotonic() + timeout_s
    while not test():
        claim(time.monotonic() < end, f"it does not happen: {what}")
        time.sleep(0.05)


class Program:
    """A daemon with an HTTP interface and its memory."""

    def __init__(self, name: str, config: str, directory: Path, ready: str):
        self.http = free_port()
        path = directory / f"{name}.toml"
        path.write_text(config.replace("HTTP", f"127.0.0.1:{self.http}"))
        self.log = (directory / f"{name}.log").open("w+")
        self.most_mib = 0.0
        self.process = subprocess.Popen(
            [BIN_DIR / f"tidemark-{name}", "run", "--config", path],
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        text = Path(self.log.name)
        try:
            eventually(f"{name} is ready: {text}", lambda: ready in text.read_text(), 20)
        except Succeeded:
            self.kill()
            raise

    def get(self, path: str) -> Any:
        return json.loads(self.raw(path))

    def raw(self, path: str, timeout_s: float = 30.0) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=timeout_s) as a:
            return a.read()

    def rss_mib(self) -> float:
        """Memory now; the most is kept."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        claim(found is not None, "the program is gone")
        mib = int(found[1]) * 1024 / MIB
        self.most_mib = max(self.most_mib, mib)
        return mib

    def log_text(self) -> str:
        return Path(self.log.name).read_text()

    def end(self, timeout_s: float = 60.0) -> float:
        """SIGTERM; how long it took, s."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout_s)
        return time.monotonic() - begin

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Lab:
    """A collector, and a controller that listens to it."""

    def __init__(self, controller: bool = True, nodes: str = NODES, settings: str = ""):
        self._directory = tempfile.TemporaryDirectory(prefix="tidemark-attack-")
        self.directory = Path(self._directory.name)
        self.udp, self.grpc = free_port(socket.SOCK_DGRAM), free_port()
        self.collector = Program(
            "collector",
            f'listen = ["127.0.0.1:{self.udp}"]\n{settings}'
            f'[grpc]\nlisten = "127.0.0.1:{self.grpc}"\n[http]\nlisten = "HTTP"\n{nodes}',
            self.directory,
            "ready:",
        )
        self.controller: Program | None = None
        try:
            if controller:
                self.controller = Program(
                    "controller",
                    f'collectors = ["127.0.0.1:{self.grpc}"]\n[http]\nlisten = "HTTP"\n'
                    f'token_file = "{self.directory / "token"}"\n',
                    self.directory,
                    "console: ",
                )
        except Succeeded:
            self.collector.kill()
            raise
        self._watching = threading.Event()
        self._watch = threading.Thread(target=self._sample, daemon=True)

    def _sample(self) -> None:
        while not self._watching.wait(0.5):
            try:
                for program in (self.collector, self.controller):
                    if program:
                        program.rss_mib()
            except (OSError, Succeeded):
                return

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watching.set()
        self._watch.join()
        for program in (self.controller, self.collector):
            if program:
                program.kill()
        self._directory.cleanup()

    def status(self) -> dict[str, Any]:
        return self.collector.get("/status")

    def counter(self, name: str) -> int:
        return self.status()["pipeline"][name]

    def link(self) -> dict[str, Any]:
        assert self.controller
        return self.controller.get(f"/api/v1/links/{reports.NODE}/{reports.PORT}")

    def links(self) -> list[dict[str, Any]]:
        assert self.controller
        return self.controller.get("/api/v1/links")["links"]

    def lag_s(self) -> float:
        """How far the newest record of the honest port is behind the switch's clock."""
        return time.time() - self.link()["recent"]["start_ns"] / 1e9

    def memory(self) -> str:
        parts = [f"collector {self.collector.most_mib:.0f}"]
        if self.controller:
            parts.append(f"controller {self.controller.most_mib:.0f}")
        return " and ".join(parts) + " MiB at most"

    def claim_memory(self, collector_mib: float, controller_mib: float) -> None:
        claim(
            self.collector.most_mib < collector_mib, f"collector {self.collector.most_mib:.0f} MiB"
        )
        if self.controller:
            most = self.controller.most_mib
            claim(most < controller_mib, f"controller {most:.0f} MiB")
