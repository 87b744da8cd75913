# SPDX-License-Identifier: Apache-2.0
"""Simulated runs that nothing was fitted to: each seed draws its own capacity, flows, round
trips, congestion controls, limit or marking threshold, and a step of N_b. They have the form
that `make truth` reads with TIDEMARK_RUNS."""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import LabError
from ..json_types import JsonObject
from ..outcome import EXIT_FAILED, EXIT_OK
from ..progress import Progress
from . import ns3
from .network import PACKET_BITS, Network, line, scenario_text

NODE, PORT = 10, 1
CONTROLS = (("LinuxReno",), ("Cubic",), ("LinuxReno", "Cubic"), ("LinuxReno", "Cubic", "Bbr"))
CONTROL_WEIGHTS = (0.35, 0.3, 0.25, 0.1)
FLOWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 50)
CAPACITIES_BPS = (10e6, 20e6, 50e6, 100e6)
# Of C·T̄.
LIMITS = (0.1, 1.5)
SECONDS, WARMUP_S = 40.0, 12.0


@dataclass(frozen=True)
class Unseen:
    """One run before it is simulated."""

    seed: int
    network: Network
    limit_packets: int
    # This part of the long flows starts, or ends, in the middle.
    joining: float
    leaving: float

    @property
    def name(self) -> str:
        ecn = "_ecn" if self.network.ecn else ""
        mix = "_".join(f"{cc.removeprefix('Linux').lower()}{n}" for cc, n in self._lbp())
        return f"s{self.seed}_{mix}{ecn}_b{self.limit_packets}"

    def _lbp(self) -> list[tuple[str, int]]:
        return [(cc, n) for cc, n in self.network.lbp.items() if n]

    def scenario(self) -> str:
        """The file that the simulator reads."""
        text = scenario_text(self.network, self.limit_packets, SECONDS, WARMUP_S, self.seed)
        records = self.network.flows(SECONDS, self.seed)
        head = text.splitlines(keepends=True)[: -len(records)]
        return "".join([*head, *(line(r) for r in self._stepped(records))])

    def _stepped(self, records: list[JsonObject]) -> list[JsonObject]:
        rng = np.random.default_rng([self.seed, 1])
        middle_s = (SECONDS + WARMUP_S) / 2
        out = []
        for record in records:
            if record["kind"] == "lbp":
                chance = rng.uniform()
                if chance < self.joining:
                    record = {**record, "start_s": middle_s + float(rng.uniform(0, 1))}
                elif chance < self.joining + self.leaving:
                    record = {**record, "stop_s": middle_s + float(rng.uniform(0, 1))}
            out.append(record)
        return out


def draw(seed: int) -> Unseen:
    """The run of a seed."""
    rng = np.random.default_rng(seed)
    controls = CONTROLS[rng.choice(len(CONTROLS), p=CONTROL_WEIGHTS)]
    flows = int(rng.choice(FLOWS))
    capacity_bps = float(rng.choice(CAPACITIES_BPS))
    # A flow has room for some packets, and the simulation an end.
    flows = min(flows, int(capacity_bps / 0.5e6))
    lbp = {cc: flows // len(controls) for cc in controls}
    lbp[controls[0]] += flows - sum(lbp.values())
    rtts_s = np.sort(rng.uniform(0.01, rng.choice([0.05, 0.12, 0.3]), int(rng.integers(1, 7))))
    ecn = bool(rng.uniform() < 0.25 and "Bbr" not in controls)
    step = rng.uniform() < 0.3
    network = Network(
        capacity_bps=capacity_bps,
        lbp=lbp,
        other_cc=controls[0] if controls[0] != "Bbr" else "Cubic",
        rtts_s=tuple(round(float(t), 4) for t in rtts_s),
        ecn=ecn,
        rbp=int(rng.integers(0, 7)),
        rbp_bps=0.01 * capacity_bps,
        wl=int(rng.integers(0, 7)),
        # Three packets and more in flight.
        wl_bps=max(0.005 * capacity_bps, 3 * PACKET_BITS / float(rtts_s[0])),
        short_share=float(rng.uniform(0, 0.05)),
        udp_share=float(rng.choice([0.0, 0.0, 0.2])),
    )
    path = capacity_bps * network.mean_rtt_s / PACKET_BITS
    limit = path * float(np.exp(rng.uniform(*np.log(LIMITS))))
    return Unseen(
        seed,
        network,
        max(8, round(limit)),
        joining=0.4 if step and flows > 2 else 0.0,
        leaving=0.3 if step and flows > 2 else 0.0,
    )


def write(run: Unseen, out: Path) -> JsonObject:
    """Simulates a run into a folder of `out`; its truth."""
    with tempfile.TemporaryDirectory() as partial:
        raw = Path(partial)
        ns3.simulate(run.scenario(), raw)
        truth: JsonObject = json.loads((raw / "truth.json").read_text())
        # What other generators of such runs say, too.
        # Datagrams have no flow of their own in it.
        truth["flows"] = [flow for flow in truth["flows"] if "sport" in flow]
        truth["n_flows"] = {"lbp": run.network.n_b}
        truth["command"] = f"tidemark-lab unseen --seeds {run.seed}"
        truth["capture"] = {
            "node": NODE,
            "egress_port": PORT,
            "occupancy_unit": "packets",
            "switch_clock_minus_host_clock_s": 0.0,
            "switch_drift_ppm": 0.0,
            "seconds": SECONDS,
            **truth["capture"],
        }
        folder = out / run.name
        folder.mkdir(parents=True)
        for name in ("reports.pcap", "tcp_probe.txt"):
            with (raw / name).open("rb") as plain, gzip.open(folder / f"{name}.gz", "wb", 1) as z:
                shutil.copyfileobj(plain, z)
        (folder / "truth.json").write_text(json.dumps(truth))
    return truth


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("runs/unseen"), help="folder of the runs")
    parser.add_argument("--seeds", type=_seeds, default=range(1, 11), metavar="FIRST-LAST")
    parser.add_argument("--list", action="store_true", help="what the seeds draw, nothing is run")


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        seeds = range(int(first), int(last or first) + 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: two numbers, like 1-10") from None
    if not seeds or seeds[0] < 0:
        raise argparse.ArgumentTypeError(f"{text}: the first at most the last, none below 0")
    return seeds


def from_arguments(arguments: argparse.Namespace) -> int:
    progress = Progress()
    failed = 0
    for run in map(draw, arguments.seeds):
        if arguments.list or (arguments.out / run.name).exists():
            progress.say(run.name)
            continue
        try:
            truth = write(run, arguments.out)
        except LabError as error:
            # Some networks take a simulator hours: the other seeds do not wait for them.
            progress.say(f"{run.name}: {error}")
            failed += 1
            continue
        progress.say(
            f"{run.name}: utilisation {truth['utilisation']:.2%}, loss "
            f"{truth['drops'] / max(truth['arrivals'], 1):.2%}"
        )
    if failed:
        progress.say(f"{failed} of {len(arguments.seeds)} seeds have no run")
    return EXIT_FAILED if failed else EXIT_OK
