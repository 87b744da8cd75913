# SPDX-License-Identifier: Apache-2.0
"""The back end that simulates: the plan as a scenario of testbed/ns3, whose reports and
senders' windows become a capture by the collector's importer, and its flows the truth."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import tomli_w

from ..errors import LabError, PreflightError
from ..iterate import ns3
from ..iterate.network import SEGMENT_BYTES, line, tcp_record
from ..json_types import JsonObject
from ..outcome import write_json
from ..preflight import Paths
from ..progress import Progress
from . import sizes
from .backend import MeasuredPhase, Place, Window
from .plan import DatagramFlow, Limits, Plan, Transfers
from .quantities import FRAME_BYTES, WIRE_BYTES
from .traffic import ClosedLoop

NODE, PORT = 10, 1
IP_BYTES = 1500
# A full packet as ns-3's device counts it: a turn of fair queueing.
PPP_BYTES = IP_BYTES + 2
# The scenario counts IP bytes: at this rate a full packet takes as long as on the wire.
IP_SHARE = IP_BYTES / (FRAME_BYTES + WIRE_BYTES)
CONGESTION_CONTROLS = {
    "reno": "LinuxReno",
    # Half a segment a round trip with delayed acknowledgements, as ns-2's.
    "newreno": "NewReno",
    "cubic": "Cubic",
    "bbr": "Bbr",
    "scalable": "Scalable",
    "highspeed": "HighSpeed",
    "htcp": "Htcp",
    "dctcp": "Dctcp",
    "vegas": "Vegas",
    "westwood": "WestwoodPlus",
}
MOST_FLOWS = 60_000
IMPORT_TIMEOUT_S = 900
# What is under way when the last phase ends still arrives.
TAIL_S = 0.5
PROGRAMS = ("tidemark-collector", "tidemark-controller")


@dataclass
class Ns3:
    """Simulated TCP over one bottleneck; needs no root. The same seed gives the same run."""

    paths: Paths = field(default_factory=Paths.find)
    name: str = "ns3"

    def refuse(self, plan: Plan) -> list[str]:
        found = []
        experiment = plan.experiment
        if len(experiment.topology.switches) > 1:
            found.append("topology.switches: ns3 has one bottleneck: take embedded for several")
        live = "needs a running controller: take embedded"
        for number, phase in enumerate(experiment.phases):
            for key in ("mode", "targets", "apply_advice"):
                if getattr(phase, key):
                    found.append(f"phases[{number}].{key}: {live}")
        if experiment.controller:
            found.append(f"controller: {live}")
        if (count := len(flow_records(plan))) > MOST_FLOWS:
            found.append(f"traffic: {count} flows and transfers, at most {MOST_FLOWS}")
        return found

    def ready(self, out: Path) -> None:
        try:
            ns3.program()
        except ns3.Ns3Missing as error:
            raise PreflightError(f"ns-3 is not there: {error}", "or take embedded") from error
        for name in PROGRAMS:
            if not self.paths.binary(name).exists():
                raise PreflightError(f"{name} is not at {self.paths.bin_dir}", "run: make build")
        out.mkdir(parents=True, exist_ok=True)

    def place(self, plan: Plan, switch: int) -> Place:
        return Place(NODE, PORT)

    def offloads(self, plan: Plan) -> None:
        """ns-3's hosts send whole packets."""

    def versions(self) -> JsonObject:
        return {"ns3": ns3.VERSION}

    def run(self, plan: Plan, run_dir: Path, progress: Progress) -> list[MeasuredPhase]:
        progress.show(f"{plan.experiment.name}: simulating {plan.experiment.seconds:.0f} s")
        phases = timed_phases(plan)
        records = flow_records(plan)
        ns3.simulate(scenario_text(plan, phases, records), run_dir)
        raw = json.loads((run_dir / "truth.json").read_text())
        (run_dir / "truth.json").rename(run_dir / "ns3.json")
        write_json(run_dir / "truth.json", traffic_truth(raw, [n for n, _ in records], plan.seed))
        self._import(plan, run_dir)
        return phases

    def _import(self, plan: Plan, run_dir: Path) -> None:
        switch = plan.experiment.topology.switches[0]
        port = {
            "name": switch.name,
            "capacity_bps": round(switch.rate),
            "wire_overhead_bytes": FRAME_BYTES + WIRE_BYTES - IP_BYTES,
            "queue_overhead_bytes": FRAME_BYTES - IP_BYTES,
        }
        node = {
            "name": switch.name,
            "depth_unit": "packets",
            "packet_bytes": FRAME_BYTES,
            "ports": {str(PORT): port},
        }
        nodes = run_dir / "nodes.toml"
        nodes.write_text(tomli_w.dumps({"nodes": {str(NODE): node}}))
        reports, windows = run_dir / "reports.pcap", run_dir / "tcp_probe.txt"
        argv: list[object] = [self.paths.binary("tidemark-collector"), "import", "--json"]
        argv += ["--pcap", reports, "--nodes", nodes, "--tcp-probe", windows]
        argv += ["--out", run_dir / "capture"]
        done = subprocess.run(
            [str(a) for a in argv],
            capture_output=True,
            text=True,
            timeout=IMPORT_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise LabError(f"import of {reports}: {done.stderr.strip()[-1000:]}")
        # They are in the capture now, a tenth as large.
        reports.unlink()
        windows.unlink()


def timed_phases(plan: Plan) -> list[MeasuredPhase]:
    """When each phase is, in simulated time; the clock of switch and hosts is one."""
    at = plan.experiment.run.warmup
    limits = plan.first_limits()
    out = []
    for phase in plan.experiment.phases:
        limits = plan.limits_in(phase, limits)
        start = at + phase.settle
        at = start + phase.duration
        window = Window(*(round(1e9 * t) for t in (start, at, start, at)))
        out.append(MeasuredPhase(phase.name, limits, [window]))
    return out


def _packets(size_bytes: int) -> int:
    return max(1, round(size_bytes / FRAME_BYTES))


def _limit_fields(limits: Limits) -> JsonObject:
    threshold = limits.threshold_bytes
    return {
        "limit_packets": _packets(limits.limit_bytes),
        "mark_packets": 0 if threshold is None else _packets(threshold),
    }


def scenario_text(
    plan: Plan, phases: list[MeasuredPhase], records: list[tuple[str, list[JsonObject]]]
) -> str:
    """As testbed/ns3 reads it."""
    experiment = plan.experiment
    out: list[JsonObject] = [
        {
            "record": "link",
            "capacity_bps": experiment.topology.switches[0].rate * IP_SHARE,
            **_limit_fields(plan.first_limits()[0]),
        }
    ]
    if experiment.topology.switches[0].scheduling == "fair":
        out.append({"record": "fair", "quantum_bytes": PPP_BYTES})
    begins = [experiment.run.warmup, *(p.windows[0].end_ns / 1e9 for p in phases)]
    limits = [plan.first_limits()[0], *(p.limits[0] for p in phases)]
    for (before, now), at in zip(pairwise(limits), begins, strict=False):
        if now != before:
            out.append({"record": "change", "at_s": at, **_limit_fields(now)})
    out.append(
        {
            "record": "run",
            "seconds": experiment.seconds + TAIL_S,
            "warmup_s": experiment.run.warmup,
            "seed": plan.seed,
            "jitter_packets": 1,
        }
    )
    out += [record for _, of_flow in records for record in of_flow]
    return "".join(line(r) for r in out)


def flow_records(plan: Plan) -> list[tuple[str, list[JsonObject]]]:
    """Every flow in the order of its number, with its name."""
    out: list[tuple[str, list[JsonObject]]] = []
    for flow in plan.flows:
        remote = flow.remote
        record = tcp_record(
            len(out),
            flow.kind,
            CONGESTION_CONTROLS[flow.congestion_control],
            flow.host.rtt_s,
            flow.start_s,
            ecn=flow.host.ecn,
            window_packets=max(1, round(flow.window_bytes / SEGMENT_BYTES))
            if flow.window_bytes
            else 0,
            # The token bucket of a real host counts Ethernet's header.
            access_bps=remote.rate * IP_BYTES / FRAME_BYTES if remote else 0,
        )
        record["stop_s"] = flow.stop_s or 0
        if remote:
            record["access_packets"] = _packets(remote.queue)
        out.append((flow.name, [record]))
    out += [
        (udp.name, [datagram_record(len(out) + i, udp)]) for i, udp in enumerate(plan.datagrams)
    ]
    for number, transfers in enumerate(plan.transfers):
        # A stream of its own: what one source draws changes no other's.
        rng = np.random.default_rng([plan.seed, number])
        for user in range(max(transfers.users, 1)):
            out += _transfers(plan, transfers, user, rng, len(out))
    return out


def datagram_record(number: int, udp: DatagramFlow) -> JsonObject:
    return {
        "record": "udp",
        "id": number,
        "kind": "udp",
        "rtt_s": udp.host.rtt_s,
        "start_s": udp.start_s,
        "stop_s": udp.stop_s or 0,
        "rate_bps": udp.rate_bps,
        "ip_bytes": udp.packet_bytes,
    }


def _transfers(
    plan: Plan, transfers: Transfers, user: int, rng: np.random.Generator, first: int
) -> list[tuple[str, list[JsonObject]]]:
    """Of a Poisson source, or of one user, who starts each a thinking time after the end of the
    one before."""
    source = transfers.source
    closed = isinstance(source, ClosedLoop)
    end = min(plan.experiment.seconds, source.stop or float("inf"))
    mean_gap = source.think if isinstance(source, ClosedLoop) else 1 / transfers.arrivals_per_s
    at = source.start
    out: list[tuple[str, list[JsonObject]]] = []
    while (at := at + float(rng.exponential(mean_gap))) < end:
        number = first + len(out)
        record = tcp_record(
            number,
            "short",
            CONGESTION_CONTROLS[source.congestion_control],
            transfers.host.rtt_s,
            at,
            ecn=source.ecn,
            size_bytes=sizes.draw(source.size, rng),
        )
        records = [record]
        if closed and out:
            think = at - float(out[-1][1][0]["start_s"])
            records.append({"record": "after", "id": number, "flow": number - 1, "think_s": think})
        name = f"{transfers.name}-{user + 1}" if closed else transfers.name
        out.append((f"{name}-{len(out) + 1}", records))
    return out


def traffic_truth(raw: JsonObject, names: list[str], seed: int) -> JsonObject:
    """The simulator's truth as tidemark-traffic writes it; its time is Unix time. Flows that
    never began are left out."""
    flows = []
    for name, flow in zip(names, raw["flows"], strict=True):
        if flow["start_s"] is None:
            continue
        ended = flow["stop_s"]
        flows.append(
            {
                "name": name,
                "kind": flow["kind"],
                "congestion_control": flow["cc"],
                # Of datagrams the simulator tells no addresses.
                "source": f"{flow['src']}:{flow['sport']}" if "src" in flow else None,
                "destination": f"{flow['dst']}:{flow['dport']}" if "dst" in flow else None,
                "protocol": flow["proto"],
                "start": {"unix_ns": round(flow["start_s"] * 1e9)},
                "stop": {"unix_ns": round((ended or raw["duration_s"]) * 1e9)},
                "base_rtt_ms": flow["base_rtt_s"] * 1e3,
                "bytes_wanted": flow["size_bytes"] or None,
                "complete": bool(flow["size_bytes"]) and ended is not None,
                "error": None,
                "tcp": {
                    "bytes_acked": flow["bytes_delivered"],
                    "retransmitted_segments": flow["retransmissions"],
                },
            }
        )
    return {"version": 1, "seed": seed, "flows": flows}
