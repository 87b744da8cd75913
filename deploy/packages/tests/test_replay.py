# SPDX-License-Identifier: Apache-2.0
"""`tidemark demo --replay` ends with the complete recorded run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
PACKAGES = REPOSITORY / "deploy" / "packages"
BIN_DIR = Path(os.environ.get("TIDEMARK_BIN_DIR", REPOSITORY / "target" / "release"))
# A run of 39 s, in which 7 reports are missing.
RECORDED = REPOSITORY / "collector" / "daemon" / "fixtures" / "import"
SECONDS = 39.3
RECEIVED, LOST = 2520, 7


def free_port() -> int:
    """Returns the first of four free ports."""
    for port in range(28400, 32000, 4):
        sockets = [socket.socket() for _ in range(4)]
        try:
            for i, s in enumerate(sockets):
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(("127.0.0.1", port + i))
        except OSError:
            continue
        finally:
            for s in sockets:
                s.close()
        return port
    raise AssertionError("no free ports")


class Demo:
    """A replayed demonstration: its terminal output, and the API at its address."""

    def __init__(self, tmp_path: Path) -> None:
        shutil.copytree(PACKAGES / "demo", tmp_path / "share" / "demo")
        for file in RECORDED.glob("*.gz"):
            shutil.copy(file, tmp_path / "share" / "demo")
        self.temporary = tmp_path / "tmp"
        self.temporary.mkdir()
        self.base = f"http://127.0.0.1:{(port := free_port())}"
        self.said = ""
        environment = os.environ | {
            "TIDEMARK_SHARE": str(tmp_path / "share"),
            "TIDEMARK_BIN_DIR": str(BIN_DIR),
            "TMPDIR": str(self.temporary),
        }
        command = [PACKAGES / "front" / "tidemark", "demo", "--replay"]
        self.process = subprocess.Popen(
            [*command, "--port", str(port), "--speed", "20"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def until(self, words: str) -> None:
        """Reads the terminal until a line contains these words."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.said += line
            if words in line:
                return
        raise AssertionError(f"it ended before it said {words!r}: {self.said}")

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(f"{self.base}/api/v1{path}", timeout=30) as answer:
            return json.load(answer)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    demo = Demo(tmp_path)
    yield demo
    demo.process.terminate()
    demo.process.communicate(timeout=60)


def test_it_ends_in_the_whole_run(demo: Demo):
    demo.until("Console: ")
    live = demo.get("/status")
    assert live["recording"] is None and live["collectors"], "it begins live"
    demo.until("The run has ended")
    (said_s,) = re.findall(r"shows all of it, ([\d.]+) s", demo.said)
    recording = demo.get("/status")["recording"]
    assert recording["read_fraction"] == 1.0 and recording["problem"] is None
    assert recording["notes"] == [], "the capture is closed, and no row of it is missing"
    assert recording["seconds"] == pytest.approx(SECONDS, abs=0.2)
    assert float(said_s) == pytest.approx(recording["seconds"], abs=0.06), "the words are true"
    (phase,) = demo.get("/phases")["phases"]
    assert phase["reports"]["received"] == RECEIVED and phase["reports"]["lost"] == LOST
    assert phase["join"]["matched_fraction"] > 0.98
    (link,) = phase["links"]
    assert link["start_s"] == 0 and link["end_s"] == pytest.approx(recording["seconds"])
    span = f"from_ns={link['start_ns']}&to_ns={link['end_ns']}"
    series = demo.get(f"/links/10/1/series?{span}&max_points=10000")
    packets = demo.get(f"/links/10/1/packets?{span}&max_packets=10000")
    assert len(packets["ingress_ns"]) == RECEIVED, "every packet, from the first to the last"
    assert sum(filter(None, series["drops"])) == sum(packets["dropped"]) > 0
    assert any(v is not None for v in series["occupancy_max_bytes"])


def test_nothing_is_left_behind(demo: Demo):
    demo.until("The run has ended")
    demo.process.send_signal(signal.SIGTERM)
    demo.process.communicate(timeout=60)
    assert demo.process.returncode == 143
    assert list(demo.temporary.iterdir()) == []
    with pytest.raises(urllib.error.URLError):
        demo.get("/status")
