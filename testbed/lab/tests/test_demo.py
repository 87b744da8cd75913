# SPDX-License-Identifier: Apache-2.0
"""The demo as users run it, shortened. Needs root and everything built."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tidemark_lab import netns, tracing
from tidemark_lab.offline import output
from tidemark_lab.state import recorded
from tidemark_lab.verdict import sentence

pytestmark = pytest.mark.root
TIMEOUT_S = 240


class Demo:
    def __init__(self, out: Path, *options: str):
        self.log = out / "output.txt"
        self._output = self.log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tidemark_lab", "run", "demo", "--out", str(out), *options],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def text(self) -> str:
        return self.log.read_text()

    def wait_for(self, pattern: str) -> str:
        deadline = time.monotonic() + TIMEOUT_S
        while not (found := re.search(pattern, self.text())):
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.01)
        return found.group(0)

    def wait(self) -> int:
        return self.process.wait(TIMEOUT_S)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.wait()
        self._output.close()


@pytest.fixture
def demo(tmp_path):
    """Starts demos; at the end, checks that nothing new is left."""
    before = surroundings()
    started = []

    def start(*options: str) -> Demo:
        started.append(Demo(tmp_path, *options))
        return started[-1]

    yield start
    for one in started:
        one.end()
    assert surroundings() == before


def surroundings() -> dict:
    return {
        "namespaces": netns.names(),
        "interfaces": {path.name for path in Path("/sys/class/net").iterdir()},
        "records": [path for path, _ in recorded()],
        "tracing": tracing.snapshot() if tracing.is_mounted() else None,
        "programs": sorted(
            name
            for path in Path("/proc").iterdir()
            if path.name.isdigit() and (name := program(path)).startswith("tidemark-")
        ),
    }


def program(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return ""


def run_dir(tmp_path: Path) -> Path:
    (found,) = [p for p in tmp_path.iterdir() if p.is_dir()]
    return found


def test_it_measures_advises_applies_and_measures_again(demo, binary, tmp_path):
    one = demo("--seconds", "10")
    assert one.wait() == 0, one.text()
    print(one.text())
    out = run_dir(tmp_path)
    summary = json.loads((out / "summary.json").read_text())
    first, second = summary["phases"]
    assert (first["name"], second["name"]) == ("first", "second")
    for phase in (first, second):
        assert phase["reports"]["lost"] == 0
        assert phase["reports"]["malformed"] == 0
        assert phase["reports"]["received"] > 10_000
        assert phase["join"]["matched_fraction"] >= 0.95
        assert phase["occupancy_bytes"]["max"] <= phase["limit_bytes"] + 1514
        assert phase["truth"] == pytest.approx(
            {**phase["truth"], "n_b": 12, "rbp": 2, "wl": 2, "t_e_ms": 19.2}
        )
    assert first["limit_bytes"] == 312_500
    assert first["advice"]["limit_bytes"] == second["limit_bytes"]
    for phase in (first, second):
        assert phase["verdict"]["set_bytes"] in (phase["advice"]["limit_bytes"], None)
        assert f"phase {phase['name']}: {sentence(phase['verdict'])}" in one.text()
    analyzed = json.loads(output(binary("tidemark-controller"), "analyze", out, "--json"))["links"]
    for phase in (first, second):
        (same,) = [link for link in analyzed if link["phase"] == phase["name"]]
        if phase["why_not_trusted"]:
            # On a busy machine the demo says so and draws no conclusion.
            assert phase["verdict"]["answer"] == "cannot_say"
            continue
        assert phase["verdict"] == {key: same["verdict"][key] for key in phase["verdict"]}
    assert abs(first["estimates"]["n_b"]["value"] - 12) <= 1.5
    assert abs(first["estimates"]["t_e_ms"]["value"] - 19.2) <= 0.15 * 19.2
    assert first["utilisation"] >= 0.95
    assert (out / "report.html").stat().st_size > 10_000
    files = list((out / "capture").glob("postcards-*.parquet"))
    assert files
    for file in files:
        pq.ParquetFile(file, page_checksum_verification=True).read()
    assert "the same estimates from the capture" in one.text()
    # The run has rows like any other.
    (record,) = [json.loads((out / "run.json").read_text())]
    assert [r["phase"] for r in record["rows"]] == ["first", "second"]
    assert record["rows"][1]["limit_bytes"] == second["limit_bytes"]
    # Applications are judged by these flows also.
    for phase, row in zip((first, second), record["rows"], strict=True):
        seen = phase["application"]
        assert seen["transfers"]["completed"] == row["transfers"] > 20
        times = seen["transfers"]["completion_ms"]
        assert times["p50"] == pytest.approx(row["completion_p50_ms"])
        assert 0 < times["p50"] < min(times["p95"], seen["page"]["load_ms"])
        assert 1 < seen["voice"]["mos"] < 4.41
    assert "console: http://127.0.0.1:8080/" in one.text()


@pytest.mark.parametrize("moment", ["network:", "console:", "phase first"])
def test_ctrl_c_at_any_moment_removes_everything(demo, tmp_path, moment):
    one = demo("--seconds", "20")
    one.wait_for(moment)
    one.process.send_signal(signal.SIGINT)
    # A second signal must not stop the cleanup.
    one.process.send_signal(signal.SIGINT)
    assert one.wait() == 130, one.text()
    assert "removed every namespace" in one.text()


def test_kept_it_runs_until_ctrl_c_and_then_ends_well(demo, tmp_path):
    one = demo("--keep", "--seconds", "6", "--no-report")
    one.wait_for("running until Ctrl-C")
    early = json.loads((run_dir(tmp_path) / "summary.json").read_text())
    assert early["phases"][0]["truth"]["n_b"] == 12
    one.process.send_signal(signal.SIGINT)
    assert one.wait() == 0, one.text()
    final = json.loads((run_dir(tmp_path) / "summary.json").read_text())
    assert final["phases"][1]["limit_bytes"] == early["phases"][1]["limit_bytes"]
    assert json.loads((run_dir(tmp_path) / "truth.json").read_text())["interrupted"]


def test_a_program_that_dies_ends_the_demo_with_its_log(demo, tmp_path):
    one = demo("--seconds", "20")
    one.wait_for("traffic:")
    (state,) = [s for _, s in recorded()]
    (switch,) = [p for p in state.processes if p.name == "switch-1"]
    os.kill(switch.pid, signal.SIGKILL)
    assert one.wait() == 1, one.text()
    assert "switch-1 ended (signal 9)" in one.text()


def test_a_run_after_a_killed_one_works(demo, tmp_path):
    killed = demo("--seconds", "20")
    killed.wait_for("traffic:")
    killed.process.kill()
    killed.wait()
    assert any(name.startswith("tm-") for name in netns.names())
    again = demo("--seconds", "20")
    again.wait_for("removed what run .* had left")
    again.wait_for("phase first")
    again.process.send_signal(signal.SIGINT)
    assert again.wait() == 130, again.text()


def test_a_second_run_beside_the_first_is_refused(demo, tmp_path):
    first = demo("--seconds", "20")
    first.wait_for("console:")
    second = subprocess.run(
        [sys.executable, "-m", "tidemark_lab", "run", "demo", "--out", str(tmp_path / "second")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert second.returncode == 2
    assert f"kill -INT {first.process.pid}" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1
