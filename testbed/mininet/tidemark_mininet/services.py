# SPDX-License-Identifier: Apache-2.0
"""Collector and controller of a Mininet network, configured from its topology."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections import deque
from pathlib import Path

from .nodes import REPORT_PORT, TidemarkSwitch, program

FRAME_BYTES = 1514
UDP_PORT = 32766
HERE = Path(__file__).resolve()
PROGRAMS = (HERE.parents[3] / "p4src" / "build", Path("/usr/share/tidemark/p4"))
START_TIMEOUT_S = 30


def toml(value) -> str:
    """Formats a value as TOML; tables are inline."""
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{json.dumps(str(k))} = {toml(v)}" for k, v in value.items()) + " }"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    return json.dumps(value)


def document(tables: dict) -> str:
    return "".join(f"{json.dumps(k)} = {toml(v)}\n" for k, v in tables.items())


class Tidemark:
    """Collector and controller of a network; `url` is the console's.

    targets: of the controller, such as {"utilisation": 0.98, "loss_rate": 0.01}.
    tcp_probe: read the senders' windows (tracepoints, so root).
    directory: captures, logs and configurations; a temporary one, removed at the end, without it.
    """

    def __init__(self, net, targets=None, tcp_probe=True, directory=None, port=8080):
        self.switches = [s for s in net.switches if isinstance(s, TidemarkSwitch)]
        if not self.switches:
            raise ValueError("the network has no TidemarkSwitch")
        self.net = net
        self.targets = targets or {"utilisation": 0.98, "loss_rate": 0.01}
        self.tcp_probe = tcp_probe
        self.temporary = directory is None
        self.directory = Path(directory or tempfile.mkdtemp(prefix="tidemark-mininet-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = port
        self.processes: list[subprocess.Popen] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # --- what the topology says ------------------------------------------------

    def towards(self, switch: TidemarkSwitch, host) -> int | None:
        """Returns the switch's port on the shortest path to a host."""
        seen, waiting = {switch}, deque()
        for port in sorted(switch.shapes()):
            waiting.append((switch.neighbour(port), port))
        while waiting:
            node, first = waiting.popleft()
            if node is host:
                return first
            if node in seen or not isinstance(node, TidemarkSwitch):
                continue
            seen.add(node)
            waiting.extend((node.neighbour(p), first) for p in sorted(node.shapes()))
        return None

    def tree(self) -> set:
        """Returns links for broadcasts, without loops, in which broadcasts would never end."""
        kept, seen = set(), set()
        for root in self.switches:
            waiting = deque([root]) if root not in seen else deque()
            seen.add(root)
            while waiting:
                switch = waiting.popleft()
                for port in sorted(switch.shapes()):
                    node, link = switch.neighbour(port), switch.intfs[port].link
                    if not isinstance(node, TidemarkSwitch):
                        kept.add(link)
                    elif node not in seen:
                        seen.add(node)
                        kept.add(link)
                        waiting.append(node)
        return kept

    def reported(self, switch: TidemarkSwitch) -> dict[int, int]:
        """Returns ports with a rate, and their rate in bits/s: the possible bottlenecks."""
        shapes = switch.shapes()
        return {p: round(s.bw * 1e6) for p, s in sorted(shapes.items()) if s.bw is not None}

    def collector_config(self) -> dict:
        nodes = {}
        for switch in self.switches:
            ports = {
                p: {"name": str(switch.neighbour(p)), "capacity_bps": rate}
                for p, rate in self.reported(switch).items()
            }
            nodes[switch.node_id] = {
                "name": switch.name,
                "exporters": [switch.report_addresses[0]],
                "time_unit": "ns",
                "depth_unit": "bytes",
                "ports": ports,
            }
        return {
            "listen": [f"{s.report_addresses[1]}:{UDP_PORT}" for s in self.switches],
            "grpc": {"listen": f"127.0.0.1:{self.port + 1}"},
            "http": {"listen": f"127.0.0.1:{self.port + 2}"},
            "capture": {"dir": str(self.directory / "capture")},
            "tcp_probe": {"enabled": self.tcp_probe},
            "nodes": nodes,
        }

    def provision(self, switch: TidemarkSwitch, tree: set) -> dict:
        p4 = next((p for p in PROGRAMS if (p / "tidemark.json").exists()), None)
        if p4 is None:
            raise FileNotFoundError(f"tidemark.json: neither in {PROGRAMS[0]} nor in {PROGRAMS[1]}")
        ways = ((h, self.towards(switch, h)) for h in self.net.hosts)
        limits = {
            p: {"action": "drop_tail", "limit_bytes": s.max_queue_size * FRAME_BYTES}
            for p, s in switch.shapes().items()
            if s.max_queue_size is not None
        }
        source, destination = switch.report_interfaces
        return {
            "p4info": str(p4 / "tidemark.p4info.txtpb"),
            "program": str(p4 / "tidemark.json"),
            "flood_ports": [p for p in sorted(switch.shapes()) if switch.intfs[p].link in tree],
            "forward": [{"mac": h.MAC(), "port": p} for h, p in ways if p is not None],
            "watch": [{"protocol": 6, "egress_port": p} for p in self.reported(switch)],
            "reports": {
                "port": REPORT_PORT,
                "node_id": switch.node_id,
                "src_mac": _mac(source),
                "dst_mac": _mac(destination),
                "src_ip": switch.report_addresses[0],
                "dst_ip": switch.report_addresses[1],
                "udp_port": UDP_PORT,
            },
            "limits": limits,
        }

    def controller_config(self) -> dict:
        tree = self.tree()
        return {
            "collectors": [f"127.0.0.1:{self.port + 1}"],
            "http": {"listen": f"127.0.0.1:{self.port}"},
            "targets": self.targets,
            "control": {
                "mode": "confirm",
                "audit_log": str(self.directory / "audit.jsonl"),
            },
            "links": [
                {"node": s.node_id, "port": p} for s in self.switches for p in self.reported(s)
            ],
            "switches": [
                {
                    "node": s.node_id,
                    "address": f"127.0.0.1:{s.grpc_port}",
                    "provision": self.provision(s, tree),
                }
                for s in self.switches
            ],
        }

    # --- running ----------------------------------------------------------------

    def start(self) -> None:
        """Starts everything; returns when every switch has its program and its limits."""
        for name, config in (
            ("collector", self.collector_config()),
            ("controller", self.controller_config()),
        ):
            path = self.directory / f"{name}.toml"
            path.write_text(document(config))
            log = (self.directory / f"{name}.log").open("w")
            command = [program(f"tidemark-{name}"), "run", "--config", str(path)]
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
        end = time.monotonic() + START_TIMEOUT_S
        while not self.ready():
            self.check()
            if time.monotonic() > end:
                raise RuntimeError(
                    f"the switches are not ready; see {self.directory}/controller.log"
                )
            time.sleep(0.1)

    def check(self) -> None:
        """Raises an error if a program has ended."""
        for process in self.processes:
            if process.poll() is not None:
                name = Path(process.args[0]).name.removeprefix("tidemark-")
                told = (self.directory / f"{name}.log").read_text().strip()
                raise RuntimeError(f"the {name} ended with code {process.returncode}: {told}")

    def ready(self) -> bool:
        try:
            return all(s["ready"] for s in self.get("/status")["switches"])
        except OSError:
            return False

    def get(self, path: str) -> dict:
        """Returns an answer of the controller's REST interface, for a path such as "/links"."""
        with urllib.request.urlopen(f"{self.url}/api/v1{path}", timeout=10) as answer:
            return json.load(answer)

    def link(self, switch: TidemarkSwitch, neighbour) -> dict:
        """Returns the state of the switch's port towards a node."""
        port = next(p for p in switch.shapes() if switch.neighbour(p) is neighbour)
        return self.get(f"/links/{switch.node_id}/{port}")

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)
        self.processes = []
        if self.temporary:
            shutil.rmtree(self.directory, ignore_errors=True)


def _mac(interface: str) -> str:
    return Path(f"/sys/class/net/{interface}/address").read_text().strip()
