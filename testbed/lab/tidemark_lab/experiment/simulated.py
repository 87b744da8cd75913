# SPDX-License-Identifier: Apache-2.0
"""The simulating back end: runs a plan as a scenario of testbed/ns3, and imports its reports and
windows as a capture, its flows as the truth."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w

from ..errors import LabError, PreflightError
from ..json_types import JsonObject
from ..outcome import write_json
from ..preflight import Paths, check_programs
from ..processes import run_within
from ..progress import Progress
from . import ns3
from .backend import BackEnd, MeasuredPhase, Place, Window, without_aqm
from .ns3_scenario import CONGESTION_CONTROLS, IP_BYTES, flow_records, scenario_text
from .pace import patience_s
from .plan import FIRST_NODE, Plan
from .quantities import FRAME_BYTES, MTU, WIRE_BYTES
from .traffic import ClosedLoop, OpenLoop, Persistent, Traffic, one_or_more

# Egress port of every node, towards the next switch or the receiver.
PORT = 1
MOST_FLOWS = 60_000
MOST_IMPORT_CPU_S = 900.0
PROGRAMS = ("tidemark-collector", "tidemark-controller")


@dataclass
class Ns3(BackEnd):
    """Simulated TCP over links in a row; needs no root. Equal seeds give equal runs."""

    paths: Paths = field(default_factory=Paths.find)
    name: str = "ns3"
    several: bool = True

    def refuse(self, plan: Plan) -> list[str]:
        found = without_aqm(plan)
        experiment = plan.experiment
        live = "needs a running controller: take embedded"
        for number, phase in enumerate(experiment.phases):
            for key in ("mode", "targets", "apply_advice"):
                if getattr(phase, key):
                    found.append(f"phases[{number}].{key}: {live}")
        if experiment.controller:
            found.append(f"controller: {live}")
        if any(s.program for s in experiment.topology.switches):
            found.append("topology.switches: program: only embedded runs programs of others")
        if plan.congestion_controls("quic"):
            found.append("traffic: transport: ns-3 has TCP only: take embedded")
        if experiment.topology.mtu != MTU or any(h.mtu != MTU for h in plan.hosts):
            found.append(f"topology: mtu: is {MTU} in ns-3: take embedded")
        if unknown := unknown_controls(experiment.traffic):
            found += unknown
        elif (count := len(flow_records(plan))) > MOST_FLOWS:
            found.append(f"traffic: {count} flows and transfers, at most {MOST_FLOWS}")
        return found

    def ready(self, out: Path) -> list[str]:
        try:
            ns3.program()
        except ns3.Ns3Missing as error:
            raise PreflightError(f"ns-3 is missing: {error}", "or take embedded") from error
        check_programs(self.paths, PROGRAMS)
        out.mkdir(parents=True, exist_ok=True)
        return []

    def place(self, plan: Plan, switch: int) -> Place:
        return Place(FIRST_NODE + switch, PORT)

    def versions(self) -> JsonObject:
        return {"ns3": ns3.VERSION}

    def run(self, plan: Plan, run_dir: Path, progress: Progress) -> list[MeasuredPhase]:
        progress.show(f"{plan.experiment.name}: simulating {plan.experiment.seconds:.0f} s")
        phases = timed_phases(plan)
        records = flow_records(plan)
        most_cpu_s = max(ns3.MOST_CPU_S, patience_s(plan.experiment))
        ns3.simulate(scenario_text(plan, phases, records), run_dir, most_cpu_s)
        raw = json.loads((run_dir / "truth.json").read_text())
        (run_dir / "truth.json").rename(run_dir / "ns3.json")
        write_json(run_dir / "truth.json", traffic_truth(raw, [n for n, _ in records], plan.seed))
        self._import(plan, run_dir)
        return phases

    def _import(self, plan: Plan, run_dir: Path) -> None:
        nodes = run_dir / "nodes.toml"
        nodes.write_text(tomli_w.dumps({"nodes": described_nodes(plan)}))
        reports, windows = run_dir / "reports.pcap", run_dir / "tcp_probe.txt"
        argv: list[object] = [self.paths.binary("tidemark-collector"), "import", "--json"]
        argv += ["--pcap", reports, "--nodes", nodes, "--out", run_dir / "capture"]
        # Of datagrams alone the trace is empty, and an empty trace is an error.
        traffic = plan.experiment.traffic
        if traffic.persistent or traffic.open_loop or traffic.closed_loop:
            argv += ["--tcp-probe", windows]
        most_cpu_s = max(MOST_IMPORT_CPU_S, patience_s(plan.experiment))
        try:
            done = run_within([str(a) for a in argv], most_cpu_s)
        except LabError as error:
            raise LabError(f"import of {reports}: {error}") from None
        if done.returncode != 0:
            raise LabError(f"import of {reports}: {done.stderr.strip()[-1000:]}")
        # The capture has the reports now, at a tenth of the size.
        reports.unlink()
        windows.unlink()


def unknown_controls(traffic: Traffic) -> list[str]:
    """Returns why ns-3 cannot send this traffic."""
    groups: list[Persistent | OpenLoop | ClosedLoop] = [*traffic.persistent, *traffic.open_loop]
    groups += traffic.closed_loop
    wanted = {c for g in groups for c in one_or_more(g.congestion_control)}
    return [
        f"traffic: ns-3 has no {c}: take embedded" for c in sorted(wanted - {*CONGESTION_CONTROLS})
    ]


def described_nodes(plan: Plan) -> JsonObject:
    """Node descriptions for the importer: a node for each switch."""
    return {
        str(FIRST_NODE + number): {
            "name": switch.name,
            "depth_unit": "packets",
            "packet_bytes": FRAME_BYTES,
            "ports": {
                str(PORT): {
                    "name": switch.name,
                    "capacity_bps": round(switch.rate),
                    "wire_overhead_bytes": FRAME_BYTES + WIRE_BYTES - IP_BYTES,
                    "queue_overhead_bytes": FRAME_BYTES - IP_BYTES,
                }
            },
        }
        for number, switch in enumerate(plan.experiment.topology.switches)
    }


def timed_phases(plan: Plan) -> list[MeasuredPhase]:
    """Returns the phases in simulated time; switch and hosts have the same clock."""
    at = plan.experiment.run.warmup
    limits = plan.first_limits()
    out = []
    for phase in plan.experiment.phases:
        limits = plan.limits_in(phase, limits)
        start = at + phase.settle
        at = start + phase.duration
        window = Window(*(round(1e9 * t) for t in (start, at, start, at)))
        out.append(MeasuredPhase(phase.name, limits, [window] * len(limits)))
    return out


def traffic_truth(raw: JsonObject, names: list[str], seed: int) -> JsonObject:
    """Converts the simulator's truth to tidemark-traffic's format; simulated time is used as Unix
    time. Leaves out flows that never began."""
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
                # The simulator gives no addresses for datagram flows.
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
