# SPDX-License-Identifier: Apache-2.0
"""Translates a plan into the scenario format of testbed/ns3. Pure."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..json_types import JsonObject
from . import sizes
from .backend import MeasuredPhase
from .plan import Limits, Plan
from .quantities import FRAME_BYTES, WIRE_BYTES
from .senders import DatagramFlow, Host, Transfers
from .traffic import ClosedLoop

IP_BYTES = 1500
# Size of a full packet in ns-3's device: one turn of fair queueing.
PPP_BYTES = IP_BYTES + 2
# The scenario counts IP bytes; with this factor a full packet takes as long as on the wire.
IP_SHARE = IP_BYTES / (FRAME_BYTES + WIRE_BYTES)
CONGESTION_CONTROLS = {
    "reno": "LinuxReno",
    # Grows half a segment per round trip with delayed acknowledgements, like ns-2's.
    "newreno": "NewReno",
    "cubic": "Cubic",
    "bbr": "Bbr",
    "scalable": "Scalable",
    "highspeed": "HighSpeed",
    "htcp": "Htcp",
    "dctcp": "Dctcp",
    "vegas": "Vegas",
    "westwood": "WestwoodPlus",
    "yeah": "Yeah",
    "illinois": "Illinois",
    "hybla": "Hybla",
    "veno": "Veno",
    "ledbat": "Ledbat",
}
# Lets packets in flight arrive after the last phase.
TAIL_S = 0.5


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
    """Returns the scenario as text."""
    experiment = plan.experiment
    out: list[JsonObject] = []
    for switch in range(len(experiment.topology.switches)):
        out += _link_records(plan, phases, switch)
    out.append(
        {
            "record": "run",
            "seconds": experiment.seconds + TAIL_S,
            "warmup_s": experiment.run.warmup,
            "seed": plan.seed,
            "jitter_packets": 1,
        }
    )
    if experiment.traffic.min_rto is not None:
        out.append({"record": "rto", "least_s": experiment.traffic.min_rto})
    out += [record for _, of_flow in records for record in of_flow]
    return "".join(line(r) for r in out)


def _link_records(plan: Plan, phases: list[MeasuredPhase], switch: int) -> list[JsonObject]:
    """Returns the records of a link: rate, limits, scheduling and changes of the limit."""
    described = plan.experiment.topology.switches[switch]
    first = plan.first_limits()[switch]
    out: list[JsonObject] = [
        {"record": "link", "capacity_bps": described.rate * IP_SHARE, **_limit_fields(first)}
    ]
    if described.scheduling == "fair":
        out.append({"record": "fair", "quantum_bytes": PPP_BYTES})
    begins = [plan.experiment.run.warmup, *(p.windows[switch].end_ns / 1e9 for p in phases)]
    limits = [first, *(p.limits[switch] for p in phases)]
    for (before, now), at in zip(pairwise(limits), begins, strict=False):
        if now != before:
            out.append({"record": "change", "at_s": at, **_limit_fields(now)})
    return out


def flow_records(plan: Plan) -> list[tuple[str, list[JsonObject]]]:
    """Returns each flow's name and records, in the order of their numbers."""
    out: list[tuple[str, list[JsonObject]]] = []
    for flow in plan.flows:
        remote = flow.remote
        record = tcp_record(
            len(out),
            flow.kind,
            CONGESTION_CONTROLS[flow.congestion_control],
            flow.host.rtt_s,
            flow.start_s,
            ecn=int(flow.host.ecn),
            stop_s=flow.stop_s or 0,
        )
        if flow.window_bytes:
            record["window_packets"] = max(1, round(flow.window_bytes / sizes.SEGMENT_BYTES))
        if remote:
            # A real host's token bucket includes Ethernet headers.
            record["access_bps"] = remote.rate * IP_BYTES / FRAME_BYTES
            record["access_packets"] = _packets(remote.queue)
        out.append((flow.name, _beside(record, flow.host)))
    out += [
        (udp.name, _beside(datagram_record(len(out) + i, udp), udp.host))
        for i, udp in enumerate(plan.datagrams)
    ]
    for number, transfers in enumerate(plan.transfers):
        # Its own random stream: draws of one source do not affect any other.
        rng = np.random.default_rng([plan.seed, number])
        for user in range(max(transfers.users, 1)):
            out += _transfers(plan, transfers, user, rng, len(out))
    return out


def _beside(flow: JsonObject, host: Host) -> list[JsonObject]:
    """Adds the first link that the flow passes, unless it is the first in the row, and the initial
    window, if given."""
    out = [flow]
    if host.switch:
        out.append({"record": "enters", "id": flow["id"], "link": host.switch})
    if host.initial_window is not None:
        out.append({"record": "opens", "id": flow["id"], "packets": host.initial_window})
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
    """Transfers of a Poisson source, or of one user, who starts each transfer a think time after
    the previous one ended."""
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
            ecn=int(source.ecn),
            bytes=sizes.draw(source.size, rng),
        )
        records = _beside(record, transfers.host)
        if closed and out:
            think = at - float(out[-1][1][0]["start_s"])
            records.append({"record": "after", "id": number, "flow": number - 1, "think_s": think})
        name = f"{transfers.name}-{user + 1}" if closed else transfers.name
        out.append((f"{name}-{len(out) + 1}", records))
    return out


# Default fields of a TCP flow: not used.
NOTHING = {
    "stop_s": 0,
    "bytes": 0,
    "window_packets": 0,
    "ecn": 0,
    "access_bps": 0,
    "access_packets": 0,
}


def tcp_record(
    number: int, kind: str, cc: str, rtt_s: float, start_s: float, **more: float
) -> JsonObject:
    """Returns the record of a TCP flow; `more` overrides NOTHING."""
    flow = {"kind": kind, "cc": cc, "rtt_s": rtt_s, "start_s": start_s}
    return {"record": "tcp", "id": number, **flow, **NOTHING, **more}


def line(record: JsonObject) -> str:
    fields = (f"{k}={v:.9g}" if isinstance(v, float) else f"{k}={v}" for k, v in record.items())
    return " ".join([record["record"], *list(fields)[1:]]) + "\n"
