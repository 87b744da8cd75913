# SPDX-License-Identifier: Apache-2.0
"""Collector, controller and Prometheus on loopback, fed a golden run."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BIN_DIR = Path(os.environ.get("TIDEMARK_BIN_DIR", REPOSITORY / "target" / "release"))
RUN = "bscl_n20_bdp"
NODE, PORT = 10, 1
TEXT, OPENMETRICS = "text/plain", "application/openmetrics-text; version=1.0.0"

COLLECTOR = """
listen = ["127.0.0.1:{reports}"]
[grpc]
listen = "127.0.0.1:{grpc}"
[http]
listen = "127.0.0.1:{collector}"
[agents]
accept = true
[capture]
dir = "{dir}/capture"
[nodes.10]
name = "simulated"
time_unit = "ns"
depth_unit = "packets"
packet_bytes = 1500
[nodes.10.ports.1]
name = "bottleneck"
capacity_bps = 50000000
wire_overhead_bytes = 0
queue_overhead_bytes = 0
"""
# Nobody listens at the switch's address, so it is shown as not ready.
CONTROLLER = """
collectors = ["127.0.0.1:{grpc}"]
[http]
listen = "127.0.0.1:{controller}"
[targets]
utilisation = 0.98
loss_rate = 0.01
delay_ms = 50.0
[[links]]
node = 10
port = 1
[[switches]]
node = 10
address = "127.0.0.1:{switch}"
"""


def eventually(what: str, test: Callable[[], object], timeout_s: float = 60) -> None:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if test():
            return
        time.sleep(0.1)
    raise AssertionError(f"it does not happen: {what}")


def get(url: str, accept: str = "*/*") -> str:
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def answers(url: str) -> bool:
    try:
        get(url)
    except OSError:
        return False
    return True


@dataclass
class Live:
    """Running programs, and how to query them."""

    ports: dict[str, int]
    directory: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    # Time when the run had been replayed.
    replayed: float = 0

    def start(self, *command: object) -> None:
        log = (self.directory / f"{Path(str(command[0])).name}.log").open("w")
        self.processes.append(
            subprocess.Popen([str(c) for c in command], stdout=log, stderr=subprocess.STDOUT)
        )

    def metrics(self, program: str, accept: str) -> str:
        return get(f"http://127.0.0.1:{self.ports[program]}/metrics", accept)

    def ask(self, what: str, **parameters: object) -> object:
        """Returns Prometheus's answer."""
        query = urllib.parse.urlencode(parameters)
        url = f"http://127.0.0.1:{self.ports['prometheus']}/api/v1/{what}?{query}"
        return json.loads(get(url))["data"]

    def query(self, expr: str, at: float | None = None) -> list[dict]:
        """Returns Prometheus's answer to an instant query, for now or a given time."""
        return self.ask("query", query=expr, time=at or time.time())["result"]

    def drawn(self, expr: str) -> list[dict]:
        """Returns the labels of the series in a graph of the whole run."""
        now = time.time()
        span = {"start": now - 300, "end": now, "step": 2}
        series = self.ask("query_range", query=expr, **span)["result"]
        finite = lambda s: any(math.isfinite(float(v)) for _, v in s["values"])  # noqa: E731
        return [s["metric"] for s in series if finite(s)]

    def value(self, expr: str, at: float | None = None) -> float:
        (one,) = self.query(expr, at)
        return float(one["value"][1])

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)


def free_ports(names: list[str]) -> dict[str, int]:
    sockets = {name: socket.socket() for name in names}
    try:
        for s in sockets.values():
            s.bind(("127.0.0.1", 0))
        return {name: s.getsockname()[1] for name, s in sockets.items()}
    finally:
        for s in sockets.values():
            s.close()


def prometheus_config(ports: dict[str, int]) -> str:
    """Returns deploy's configuration with the test's ports and shorter times."""
    text = (REPOSITORY / "deploy" / "prometheus" / "prometheus.yml").read_text()
    text = text.replace("127.0.0.1:9561", f"127.0.0.1:{ports['collector']}")
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{ports['controller']}")
    rules = REPOSITORY / "deploy" / "prometheus" / "tidemark.rules.yml"
    text = text.replace("tidemark.rules.yml", str(rules))
    return text.replace("_interval: 5s", "_interval: 1s")


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The programs just after the golden run was replayed at its own speed."""
    for program in ("prometheus", "promtool"):
        assert shutil.which(program), (
            f"{program} is not on PATH (Debian: apt-get install prometheus)"
        )
    directory = tmp_path_factory.mktemp("live")
    names = ["reports", "grpc", "collector", "controller", "switch", "prometheus"]
    live = Live(free_ports(names), directory)
    ports = live.ports
    golden = REPOSITORY / "common" / "test-support" / "golden" / "reduce.py"
    subprocess.run([sys.executable, golden, "--unpack", RUN, "--out", directory], check=True)
    (directory / "collector.toml").write_text(COLLECTOR.format(dir=directory, **ports))
    (directory / "controller.toml").write_text(CONTROLLER.format(**ports))
    (directory / "prometheus.yml").write_text(prometheus_config(ports))
    try:
        for name in ("collector", "controller"):
            program = BIN_DIR / f"tidemark-{name}"
            live.start(program, "run", "--config", directory / f"{name}.toml")
            url = f"http://127.0.0.1:{ports[name]}/metrics"
            eventually(f"the {name} answers", lambda url=url: answers(url))
        live.start(
            "prometheus", f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{ports['prometheus']}",
        )  # fmt: skip
        ready = f"http://127.0.0.1:{ports['prometheus']}/-/ready"
        eventually("Prometheus is ready", lambda: answers(ready))
        subprocess.run(
            [
                BIN_DIR / "tidemark-collector", "replay", "--pcap", directory / "reports.pcap.gz",
                "--tcp-probe", directory / "tcp_probe.txt.gz",
                "--to", f"127.0.0.1:{ports['reports']}", "--agent", f"127.0.0.1:{ports['grpc']}",
            ],
            check=True,
        )  # fmt: skip
        live.replayed = time.time()
        eventually(
            "Prometheus has read the estimates",
            lambda: live.query("tidemark_controller_locally_bottlenecked_flows"),
        )
        yield live
    finally:
        live.stop()


READ = """
import json, sys, urllib.request
answers = []
for accept in sys.argv[1:]:
    request = urllib.request.Request("http://127.0.0.1:9562/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request) as answer:
        answers.append(answer.read().decode())
print(json.dumps(answers))
"""
# A switch with one port, in its own network, which ends with it.
SWITCH = """
ip link set lo up
ip link add left type veth peer name right
ip link set left up
ip link set right up
"$1" run --program "$2" --port 1=left,rate=100mbit --metrics 127.0.0.1:9562 >&2 &
switch=$!
trap 'kill $switch; wait $switch' EXIT
tries=0
until "$3" -c "$4" "$5" "$6" 2>/dev/null; do
  kill -0 $switch
  tries=$((tries + 1))
  [ $tries -lt 100 ]
  sleep 0.2
done
"""


@pytest.fixture(scope="session")
def switch_metrics() -> dict[str, str]:
    """Returns the metrics of a one-port switch with the telemetry program, by format."""
    # Root is not needed: in its own user namespace every user has root's rights.
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    program = REPOSITORY / "p4src/build/tidemark.json"
    words = [BIN_DIR / "tidemark-switch", program, sys.executable, READ, TEXT, OPENMETRICS]
    command = [*alone, "sh", "-euc", SWITCH, "switch", *(str(w) for w in words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 143), done.stderr
    return dict(zip((TEXT, OPENMETRICS), json.loads(done.stdout), strict=True))
