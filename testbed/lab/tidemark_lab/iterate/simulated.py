# SPDX-License-Identifier: Apache-2.0
"""The back end that simulates: a run of ns-3 at each limit, its reports imported as those of
a switch, and the controller's estimators and advice on the capture.

What limits did is carried from round to round in a file of evidence, as a running
controller carries it in its memory.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from ..errors import LabError
from ..json_types import JsonObject
from ..preflight import Paths
from ..trial.outcome import loss_rate, mean_range
from . import ns3
from .network import PACKET_BYTES, scenario_text
from .traffics import SimulatedTraffic

NODE, PORT = 10, 1
TIMEOUT_S = 900


@dataclass
class Simulated:
    """One traffic in a directory of its own."""

    traffic: SimulatedTraffic
    paths: Paths
    run_dir: Path
    seconds: float
    warmup_s: float
    seed: int
    # Without the senders' windows.
    passive: bool = False
    keep: bool = False
    # The limit above a threshold, where advice has said one.
    _above_packets: int | None = None

    def measure(self, number: int, limit_bytes: int) -> JsonObject:
        """A run with its own seed: the traffic is the same, its chances are not."""
        here = self.run_dir / f"round-{number}"
        network = self.traffic.network
        packets = round(limit_bytes / PACKET_BYTES)
        seed = 100 * self.seed + number
        scenario = scenario_text(
            network, packets, self.seconds, self.warmup_s, seed, self._above_packets
        )
        ns3.simulate(scenario, here)
        truth = json.loads((here / "truth.json").read_text())
        self._import(here)
        link = self._advise(here / "capture")
        if not self.keep:
            for name in ("reports.pcap", "tcp_probe.txt"):
                (here / name).unlink()
            shutil.rmtree(here / "capture")
        each = truth["each_s"]
        loss = loss_rate(each["drops"], each["arrivals"])
        used = [8 * b / network.capacity_bps for b in each["ip_bytes_out"]]
        estimated = link["estimates"]["n_b"]
        return {
            "measured": {
                # A packet that is cut by the end of the time counts as a whole.
                "utilisation": min(1.0, truth["utilisation"]),
                "utilisation_range": list(mean_range(used)),
                "loss_rate": loss.value,
                "loss_range": [loss.low, loss.high],
                "marked_rate": truth["ce_marks"] / max(truth["arrivals"], 1),
                "delay_mean_ms": truth["queue_delay_mean_s"] * 1e3,
                "delay_max_ms": truth["queue_delay_max_s"] * 1e3,
            },
            "n_b": {key: estimated[key] for key in ("value", "low", "high")},
            "n_b_true": network.n_b,
            "advice": link["advice"],
            "caveats": link["caveats"],
        }

    def apply(self, advice: JsonObject) -> int:
        """The next run has this limit, in whole packets; with marks, and the limit above it."""
        if marking := advice.get("marking"):
            self._above_packets = round(marking["limit_bytes"] / PACKET_BYTES)
        return max(1, round(advice["limit_bytes"] / PACKET_BYTES)) * PACKET_BYTES

    def _import(self, here: Path) -> None:
        nodes = here / "nodes.toml"
        port = {
            "name": "bottleneck",
            "capacity_bps": round(self.traffic.network.capacity_bps),
            "wire_overhead_bytes": 0,
            "queue_overhead_bytes": 0,
        }
        node = {"depth_unit": "packets", "packet_bytes": PACKET_BYTES, "ports": {str(PORT): port}}
        nodes.write_text(tomli_w.dumps({"nodes": {str(NODE): node}}))
        windows = [] if self.passive else ["--tcp-probe", here / "tcp_probe.txt"]
        self._run(
            "tidemark-collector",
            *("import", "--pcap", here / "reports.pcap", "--nodes", nodes),
            *("--out", here / "capture", "--json", *windows),
        )

    def _advise(self, capture: Path) -> JsonObject:
        """The link's record; the warm-up is left out."""
        wanted = self.traffic.targets
        targets: list[str] = ["--utilisation", f"{wanted['utilisation'] * 100:.9g}%"]
        loss, delay = wanted.get("loss_rate"), wanted.get("delay_ms")
        targets += ["--loss", "none" if loss is None else f"{loss * 100:.9g}%"]
        if delay is not None:
            targets += ["--delay", f"{delay:.9g}ms"]
        said = self._run(
            "tidemark-controller",
            *("advise", capture, "--json", "--from-ns", round(self.warmup_s * 1e9)),
            *("--evidence", self.run_dir / "evidence.json", *targets),
        )
        links: list[JsonObject] = json.loads(said)["links"]
        (capture.parent / "advice.json").write_text(json.dumps(links[0], indent=1) + "\n")
        return links[0]

    def _run(self, name: str, *arguments: object) -> str:
        argv = [str(self.paths.binary(name)), *(str(a) for a in arguments)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise LabError(f"{name} {arguments[0]}: {done.stderr.strip()[-1000:]}")
        return done.stdout
