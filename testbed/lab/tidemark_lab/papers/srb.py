# SPDX-License-Identifier: Apache-2.0
"""Sizing Router Buffers (Appenzeller, Keslassy, McKeown 2004), Figs. 14, 15."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..report.style import GREY, LIMIT, SECOND, WATER
from . import runs
from .draw import Drawing, Line, Rows, curves
from .paper import Figure, within_factor
from .runs import Packets, RunData
from .study import Study

COUNT = "traffic.persistent.flow.count"
# Fig. 14: flows, buffer's multiple of BDP/√n (a phase), packets, then utilisation in per cent by
# the paper's model, its ns-2, and the router.
FIG_14 = (
    (100, "x05", 64, 96.9, 94.7, 94.9),
    (100, "x1", 129, 99.9, 99.3, 98.1),
    (100, "x2", 258, 100.0, 99.9, 99.8),
    (100, "x3", 387, 100.0, 99.8, 99.7),
    (200, "x05", 46, 98.8, 97.0, 98.6),
    (200, "x1", 91, 99.9, 99.2, 99.7),
    (200, "x2", 182, 100.0, 99.8, 99.8),
    (200, "x3", 273, 100.0, 100.0, 99.8),
    (300, "x05", 37, 99.5, 98.6, 99.6),
    (300, "x1", 74, 100.0, 99.3, 99.8),
    (300, "x2", 148, 100.0, 99.9, 99.8),
    (300, "x3", 222, 100.0, 100.0, 100.0),
    (400, "x05", 32, 99.7, 99.2, 99.5),
    (400, "x1", 64, 100.0, 99.8, 100.0),
    (400, "x2", 128, 100.0, 100.0, 100.0),
    (400, "x3", 192, 100.0, 100.0, 99.9),
)
# §5.2.1: RTT·C, packets; §5.2.2: the line card's own FIFO, not included in the printed packets.
BDP_PACKETS, FIFO_PACKETS = 1291, 43
# Percentage points of utilisation around the router's.
POINTS_OFF = 1.0
# Fig. 15: at these tail probabilities, the queue lengths are within this factor.
TAILS = (0.1, 0.01)
LENGTH_FACTOR = 1.3
# Segments of a transfer in srb-short.toml, and of its first burst.
TRANSFER_PACKETS, FIRST_BURST = 14, 2
# Packets of a flow belong to one burst if they are no further apart than this many times the packet
# time on the link; the next burst is a round trip away.
BURST_GAP = 2.0


def figures(study: Study) -> list[Figure]:
    """Returns the figures whose runs exist."""
    found = study.by_number("srb-oc3", COUNT)
    short = study.find("srb-short")
    return ([oc3(found)] if found else []) + [short_flows(r) for r in short[:1]]


def slow_start_bursts(packets: int, first: int) -> list[int]:
    """Burst sizes: `first`, twice that, and so on; the last round has the rest."""
    out: list[int] = []
    size = first
    while packets > 0:
        out.append(min(size, packets))
        packets -= size
        size *= 2
    return out


def tail(load: float, bursts: Sequence[int] | np.ndarray, queue_packets: float) -> float:
    """P(Q ≥ b) of M/G/1 fed by bursts (§4)."""
    mean = float(np.mean(bursts))
    square = float(np.mean(np.square(bursts)))
    return min(1.0, math.exp(-queue_packets * 2 * (1 - load) / load * mean / square))


def bursts_that_came(p: Packets, packet_s: float) -> np.ndarray:
    """Number of packets in each burst that a flow sent back to back. `packet_s`: a packet's time on
    the link, seconds."""
    order = np.lexsort((p.time_s, p.flow))
    flow, time_s = p.flow[order], p.time_s[order]
    begins = np.ones(len(flow), dtype=bool)
    begins[1:] = (np.diff(flow) != 0) | (np.diff(time_s) > BURST_GAP * packet_s)
    return np.diff(np.append(np.flatnonzero(begins), len(flow)))


def length_at(load: float, bursts: Sequence[int] | np.ndarray, probability: float) -> float:
    """Queue length b whose `tail` has this probability, packets."""
    per_packet = -math.log(tail(load, bursts, 1.0))
    return -math.log(probability) / per_packet


def gaussian(flows: int, packets: float) -> float:
    """Least utilisation, per cent, if the sum of the windows is normal and each window uniform from
    2/3 to 4/3 of its mean: erf(3√3/(2√2)·B√n/(2·T_p·C)), SRB's Gaussian model for a B far
    below the BDP. The excerpt lacks it; with the FIFO it gives the printed column within 0.1."""
    buffer = packets + FIFO_PACKETS
    return 100 * math.erf(3 * math.sqrt(3 / 8) * buffer * math.sqrt(flows) / BDP_PACKETS)


def oc3(found: Sequence[RunData]) -> Figure:
    """Fig. 14: utilisation of an OC3 link."""

    def fill(axes: Any, rows: Rows) -> None:
        lines: list[Line] = [
            (4, "s", GREY, "model, printed"),
            (6, "s-", LIMIT, "router"),
            (7, "o-", WATER, "ours"),
        ]
        for axis, n in zip(axes, (100, 200, 300, 400), strict=True):
            curves(axis, [r for r in rows if r[0] == n], *lines, x=2)
            buffers = [b for flows, _, b, *_ in FIG_14 if flows == n]
            at = list(range(buffers[0], buffers[-1] + 1, 4))
            axis.plot(at, [gaussian(n, b) for b in at], "--", color=GREY, label="model")
            axis.set_title(f"n = {n}", loc="left")

    figure = Figure(
        "Fig. 14",
        "Utilisation of an OC3 link over flows and buffers",
        Drawing("srb-14", 4, 2.0, fill, "packets", "utilisation (%)"),
        ("flows", "phase", "packets", "our_packets", "model", "ns2", "router", "ours"),
        note="Not scaled: 155 Mb/s of IP, mean round trip 98.4 ms; "
        f"{runs.seconds(found)} of each setting. Dashed: erf(3√3/(2√2)·B√n/(2·T_p·C)) with the "
        f"line card's FIFO of {FIFO_PACKETS} packets in B, within 0.1 of the printed values; "
        "without the FIFO it has 80 % at half of BDP/√n.",
        keys=3,
    )
    by_count = {int(r.setting(COUNT)): r for r in found}
    for n, phase, packets, model, simulated, router in FIG_14:
        run = by_count.get(n)
        ours = 100 * run.row(phase)["utilisation"] if run else None
        limit = run.limit(phase) if run else None
        figure.row(n, phase, packets, limit, model, simulated, router, ours)
        off = run and ours is not None and abs(ours - router) > POINTS_OFF
        figure.check(
            f"n = {n}, {packets} packets: utilisation (model {model:g} %, ns-2 {simulated:g} %)",
            f"{router:g} % (router)",
            ours,
            router - POINTS_OFF,
            router + POINTS_OFF,
            unit=" %",
            why=_why(run, phase) if run and off else "",
        )
    return figure


def _why(run: RunData, phase: str) -> str:
    together, apart = variation(run.packets(phase))
    return (
        f"not known; {runs.seconds([run], [phase])} of a seed; the sum of the windows has a "
        f"standard deviation of {together:.0f} packets, of independent windows it would be "
        f"{apart:.0f}: the paper has some synchronisation of 100 and 200 flows, how much it does "
        "not print, nor its round trips"
    )


# Number of times at which windows are summed.
INSTANTS = 500


def variation(p: Packets) -> tuple[float, float]:
    """Standard deviation over time of the windows' sum, and its value for independent flows: the
    root of the sum of their variances. Packets."""
    at = np.linspace(p.time_s[0], p.time_s[-1], INSTANTS)
    windows = []
    for flow in np.unique(p.flow):
        own = (p.flow == flow) & np.isfinite(p.window)
        if own.any():
            windows.append(np.interp(at, p.time_s[own], p.window[own]))
    found = np.array(windows)
    return float(found.sum(axis=0).std()), math.sqrt(float(found.var(axis=1).sum()))


def short_flows(run: RunData) -> Figure:
    """Fig. 15: distribution of the queue against M/G/1."""
    phase = run.phases[0]
    load = float(run.row(phase)["utilisation"])
    bursts = slow_start_bursts(TRANSFER_PACKETS, FIRST_BURST)
    packets = run.packets(phase)
    queue = packets.queue
    packet_s = 8 * runs.FRAME_BYTES / float(run.row(phase)["rate_bps"])
    came = bursts_that_came(packets.where(packets.payload_bytes > 0), packet_s)
    delayed = ": acknowledgements are delayed" if run.simulated else ""
    seen = run.queue_over_time(phase)
    most = int(np.ceil(seen.max())) if len(seen) else 0

    def fill(axes: Any, rows: Rows) -> None:
        curves(
            axes[0],
            rows,
            (1, "-", WATER, "ours, over time"),
            (2, ":", SECOND, "ours, met by packets"),
        )
        # Both are straight lines on this axis.
        ends = [rows[0], rows[-1]]
        curves(axes[0], ends, (3, "--", GREY, "M/G/1"), (4, "-.", GREY, "M/G/1, bursts that came"))
        axes[0].set_yscale("log")
        axes[0].set_ylim(1e-4, 1.2)

    figure = Figure(
        "Fig. 15",
        "Queue of short transfers against M/G/1",
        Drawing("srb-15", 1, 2.4, fill, "queue (packets)", "P(Q ≥ b)"),
        ("packets", "share_of_time", "share_of_packets", "m_g_1", "m_g_1_bursts_that_came"),
        note=f"Scaled: 50 Mb/s; transfers of {TRANSFER_PACKETS} segments in bursts of "
        f"{', '.join(map(str, bursts))}; the model's load is the utilisation measured, "
        f"{load:.2f}.",
        keys=1,
    )
    for b in range(most + 1):
        shares = float(np.mean(seen >= b)), float(np.mean(queue >= b))
        figure.row(b, *shares, tail(load, bursts, b), tail(load, came, b))
    for probability in TAILS:
        model = length_at(load, bursts, probability)
        figure.checks.append(
            within_factor(
                f"queue exceeded {probability:.0%} of the time, packets",
                model,
                float(np.quantile(seen, 1 - probability)),
                LENGTH_FACTOR,
                f"{model:.0f} (M/G/1)",
                why=f"the bursts that came have {came.mean():.1f} packets on average and at most "
                f"{came.max()}{delayed}. With them M/G/1 has "
                f"{length_at(load, came, probability):.0f} packets",
            )
        )
    return figure
