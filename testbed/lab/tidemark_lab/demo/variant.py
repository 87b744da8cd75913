# SPDX-License-Identifier: Apache-2.0
"""The demo's experiment file as its options change it. Pure.

BMv2 counts rates in packets per second and forwards some thousands of them. The demo's 100 Mb/s are
8127 full-size packets a second, and each one is reported, which takes a second pass through the
egress pipeline. So the capacity is a tenth, and the round-trip times are four times as long:
windows of the bottlenecked flows stay above ten packets, which their congestion control needs to
behave normally.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

from ..bmv2.rates import LEAST, MOST, PACKETS_PER_S, WIRE_BITS, mbit, packets_per_s, refusal
from ..experiment import load
from ..experiment.load import ExperimentError
from ..experiment.model import Experiment
from ..experiment.quantities import Limit, rate_bps
from ..json_types import JsonObject

# A switch that marks instead of dropping marks about one packet in 25. That would limit, here, any
# flow with more than six packets in flight, so remote flows get a third of their rate.
REMOTE_RATE_WITH_MARKS = 1 / 3
RTT_FACTOR = 4
# Windows need longer to grow and shrink.
TIMES_AS_LONG = 1.5
# A window has half as many packets to lose.
FLOWS_DIVISOR = 2


@dataclass(frozen=True)
class Variant:
    """Changes to the demo's file; None keeps the file's value."""

    bmv2: bool = False
    ecn: bool = False
    offloads: bool = True
    capacity_bps: int | None = None
    seed: int | None = None
    # Duration of each phase, of the warm-up, and of the time after the advice was applied.
    seconds: float | None = None
    warmup_s: float | None = None
    settle_s: float | None = None
    # Probability of meeting each target; how far inside the bounds to stay.
    confidence: float | None = None
    margin: float | None = None


def of(document: JsonObject, wanted: Variant) -> JsonObject:
    """Returns the changed file. Raises ExperimentError if BMv2 cannot forward the capacity."""
    out = copy.deepcopy(document)
    experiment = load.check(document, str(document.get("name", "demo")))
    (switch,) = out["topology"]["switches"]
    run = out.setdefault("run", {})
    long = TIMES_AS_LONG if wanted.bmv2 else 1.0
    if wanted.bmv2:
        _slower(out, experiment, wanted.capacity_bps)
    elif wanted.capacity_bps is not None:
        switch["rate"] = f"{wanted.capacity_bps}bit"
    if not wanted.offloads:
        out["topology"]["offloads"] = False
    if wanted.ecn:
        _marking(out, remote=1.0 if wanted.bmv2 else REMOTE_RATE_WITH_MARKS)
    if wanted.seed is not None:
        run["seed"] = wanted.seed
    for key in ("confidence", "margin"):
        if (value := getattr(wanted, key)) is not None:
            out.setdefault("targets", {})[key] = value
    run["warmup"] = _s(wanted.warmup_s or experiment.run.warmup * long)
    for phase, said in zip(out["phases"], experiment.phases, strict=True):
        phase["duration"] = _s(wanted.seconds or said.duration * long)
        if said.apply_advice:
            phase["settle"] = _s(wanted.settle_s or said.settle * long)
    return out


def _marking(out: JsonObject, remote: float) -> None:
    """Makes every flow ask for ECN, and the bottleneck mark where it would drop (RFC 3168). The
    limit exceeds the threshold by what all flows would add if they doubled at once: so a run shows
    how far marked flows overshoot by themselves."""
    (switch,) = out["topology"]["switches"]
    at = Limit.parse(switch.get("limit", "1bdp"))
    above = Limit(3 * at.number, at.unit)
    switch |= {"action": "mark_ce", "threshold": str(at), "limit": str(above)}
    for group in [*out["traffic"]["persistent"], *out["traffic"].get("open_loop", [])]:
        group["ecn"] = True
        _slow_down(group, remote)


def _slow_down(group: JsonObject, by: float) -> None:
    """Divides the rate of a group's slow link, if it has one."""
    if "remote" in group:
        group["remote"]["rate"] = f"{round(rate_bps(group['remote']['rate']) * by)}bit"


def _slower(out: JsonObject, experiment: Experiment, capacity_bps: int | None) -> None:
    rate = PACKETS_PER_S if capacity_bps is None else packets_per_s(capacity_bps)
    if refused := refusal(rate):
        raise ExperimentError(
            f"--capacity: {refused}; choose {LEAST} to {MOST} (default {mbit(PACKETS_PER_S)}), "
            "or --back-end embedded"
        )
    out["run"]["back_end"] = "bmv2"
    (switch,) = out["topology"]["switches"]
    capacity = rate * WIRE_BITS
    switch["rate"] = f"{capacity}bit"
    # BMv2 forwards whole packets only.
    out["topology"]["offloads"] = False
    rtts_s = []
    for hosts, said in zip(out["topology"]["hosts"], experiment.topology.hosts, strict=True):
        hosts["rtts"] = [f"{1e3 * RTT_FACTOR * rtt:g}ms" for rtt in said.rtts]
        rtts_s += [RTT_FACTOR * rtt for rtt in said.rtts]
    # C·T̄ over the hosts, because with half the flows the hosts' shares differ.
    switch["limit"] = f"{round(capacity / 8 * sum(rtts_s) / len(rtts_s))}B"
    for group, flows in zip(
        out["traffic"]["persistent"], experiment.traffic.persistent, strict=True
    ):
        group["spread"] = _s(2 * flows.spread)
        if flows.kind == "lbp":
            group["count"] = flows.most // FLOWS_DIVISOR
        _slow_down(group, capacity / experiment.topology.switches[0].rate)
    delay_s = experiment.targets.delay
    if delay_s is not None:
        out["targets"]["delay"] = f"{1e3 * RTT_FACTOR * delay_s:g}ms"


def _s(seconds: float) -> str:
    return f"{seconds:g}s"
