# SPDX-License-Identifier: Apache-2.0
"""Updating the Theory of Buffer Sizing (Spang, Arslan, McKeown 2021), Figs. 1-3: one flow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..report.style import DROP, GREY, LIMIT, WATER
from ..theory import BBR_DRAIN, BETA, least_queue
from . import runs
from .draw import MOST_BINS, Bins, Drawing, Rows, band, bins, column
from .paper import Check, Figure
from .runs import Packets, RunData
from .study import Study

ALGORITHM = "traffic.persistent.flow.congestion_control"
# §3.6: "Utilization is well-predicted by our models above a queue depth of about twenty
# packets"; how well, the paper does not say.
UTILISATION_OFF = 0.05
LEAST_PACKETS = 20
# §3.6 on Fig. 2, of a BDP: how far each drains the queue. Our tolerance is 0.1 on each side.
DRAINS = {"reno": (1.0, 1.0), "cubic": (0.6, 0.7), "bbr": (0.25, 0.25), "scalable": (0.11, 0.25)}
DRAIN_OFF = 0.1
SCALED = (
    "Scaled: 100 Mb/s and 20 ms have the paper's BDP of 165 packets (1514 bytes for 9000, a "
    "hundredth of the rate)."
)


def theory_utilisation(algorithm: str, buffer_bdp: float) -> float:
    """μ(B) of one flow (UTB §3.5): smallest utilisation after a window reduction."""
    if algorithm == "bbr":
        return min(1 - BBR_DRAIN + buffer_bdp, 1.0)
    return min(BETA[algorithm] * (1 + buffer_bdp), 1.0)


def figures(study: Study) -> list[Figure]:
    """Returns the figures whose runs exist."""
    found = {str(r.setting(ALGORITHM)): r for r in study.find("utb-single")}
    first = [through_a_loss(found["reno"])] if "reno" in found else []
    return [*first, over_time(found), over_buffer(found)] if found else []


def through_a_loss(run: RunData) -> Figure:
    """Fig. 1: window and queue, packet by packet, around a loss at 1 BDP."""
    p = run.packets("b100")
    row = run.row("b100")
    drops = p.time_s[p.dropped]
    # The first loss whose whole reaction is in the phase.
    at = float(drops[drops < p.time_s[-1] - 1.0][0]) if (drops < p.time_s[-1] - 1.0).any() else 0.0
    rtt_ms = 1e3 * 2 * 8 * float(row["bdp_bytes"]) / float(row["rate_bps"])
    here = (p.time_s > at - rtt_ms / 1e3) & (p.time_s < at + 6 * rtt_ms / 1e3)
    ms = 1e3 * (p.time_s[here] - at)
    window, queue = p.window[here], p.queue[here]
    before = float(np.nanmax(window[ms < 0])) if (ms < 0).any() else float("nan")
    after = float(np.nanmin(window[ms > 0]))

    end_ms = float(ms[-1] - ms[0]) + 1e-6

    def fill(axes: Any, rows: Rows) -> None:
        at = np.array(column(rows, 0), dtype=float)
        for axis, number, label, colour in (
            (axes[0], 1, "window (packets)", WATER),
            (axes[1], 2, "queue (packets)", LIMIT),
        ):
            found = bins(at - at[0], np.array(column(rows, number), dtype=float), end_ms)
            band(axis, Bins(found.time_s + at[0], found.low, found.high), colour)
            axis.axvline(0, color=DROP, linewidth=0.8)
            axis.set_ylabel(label)
        axes[0].axhline(before / 2, color=GREY, linestyle="--")

    return Figure(
        "Fig. 1",
        "Window and queue through one loss, Reno with PRR, B = BDP",
        Drawing("utb-1", 2, 2.2, fill, "ms after the loss"),
        ("ms_after_the_loss", "window_packets", "queue_packets"),
        [(round(a, 4), b, c) for a, b, c in zip(ms, window, queue, strict=True)],
        [
            Check("window after the loss over before", "halved", after / before, 0.45, 0.55),
            Check(
                "smallest queue after it, of the buffer",
                "nearly empty",
                float(queue[ms > 0].min()) / run.limit("b100"),
                0.0,
                0.1,
            ),
        ],
        SCALED + " Band: least to largest of each 1/300 of the time. Red: the drop; dashed: half "
        "the window before.",
    )


# Round trip of utb-single.toml with an empty queue; and ten of them.
ROUND_TRIP_S = 0.02
PART_S = 10 * ROUND_TRIP_S


def _drain(p: Packets, bdp: float, algorithm: str) -> float:
    """Part of a BDP from the fullest to the emptiest queue. For BBR, the median over cycles of its
    gains (eight round trips) in which it probes for bandwidth, because it fills the queue for
    seconds after each probe of the round trip."""
    if algorithm != "bbr":
        return _depth(p.queue) / bdp
    part = (p.time_s / PART_S).astype(int)
    kept = np.flatnonzero(runs.probes_bandwidth(p, PART_S, int(part.max()) + 1))
    return float(np.median([_depth(p.queue[part == k]) for k in kept])) / bdp


def _depth(queue: np.ndarray) -> float:
    return float(np.quantile(queue, 0.999) - np.quantile(queue, 0.001))


def over_time(found: dict[str, RunData]) -> Figure:
    """Fig. 2: queue over time at 1 BDP, one algorithm each."""
    names = [a for a in DRAINS if a in found]

    def fill(axes: Any, rows: Rows) -> None:
        for axis, name in zip(axes, names, strict=True):
            own = [r for r in rows if r[0] == name]
            band(axis, Bins.of(own, 1), WATER)
            limit, least = float(str(own[0][4])), float(str(own[0][5]))
            axis.axhline(limit, color=LIMIT, linestyle=":", linewidth=0.8)
            axis.axhline(least, color=GREY, linestyle="--", linewidth=0.8)
            axis.set_title(name, loc="left")
            axis.set_ylim(0, limit * 1.08)

    figure = Figure(
        "Fig. 2",
        "Queue over time of one flow, B = BDP",
        Drawing("utb-2", len(names), 1.9, fill, "s", "queue (packets)"),
        ("algorithm", "s", "low_packets", "high_packets", "limit_packets", "least_packets"),
        note=SCALED + " Band: least to largest of each 1/150 of the time. Dotted: the limit; "
        "dashed: the theory's least, β·(BDP + B) - BDP, of BBR B - BDP/4 (§3.5). BBR v1: the drain "
        "of a cycle of its gains while it probes for bandwidth (Table 1).",
    )
    for name in names:
        run = found[name]
        p, bdp, limit = run.packets("b100"), run.bdp("b100"), run.limit("b100")
        seen = bins(p.time_s, p.queue, float(run.row("b100")["seconds"]), MOST_BINS // 2)
        least = least_queue(1, bdp, limit, name)
        figure.rows += [(*row, limit, least) for row in seen.rows(name, digits=4)]
        low, high = DRAINS[name]
        figure.check(
            f"{name}: drains, in BDP",
            f"{low:g}" if low == high else f"{low:g} to {high:g}",
            _drain(p, bdp, name),
            low - DRAIN_OFF,
            high + DRAIN_OFF,
            why=runs.disturbance(p, name, run.simulated),
        )
    return figure


def _lowest(run: RunData, phase: str, algorithm: str) -> float:
    """1st percentile of the utilisation over ten round trips; for BBR only while it probes for
    bandwidth."""
    if algorithm != "bbr":
        return float(run.link(phase)["utilisation_parts"]["p01"])
    parts = run.utilisation(phase, PART_S)
    kept = parts[runs.probes_bandwidth(run.packets(phase), PART_S, len(parts))]
    return float(np.quantile(kept, 0.01))


def _why(run: RunData, phase: str, algorithm: str) -> str:
    """Explains a utilisation that differs from theory, if the packets show why."""
    p = run.packets(phase)
    if (said := runs.disturbance(p, algorithm, run.simulated)) or algorithm != "bbr":
        return said
    parts = run.utilisation(phase, ROUND_TRIP_S)
    kept = parts[runs.probes_bandwidth(p, ROUND_TRIP_S, len(parts))]
    return (
        "BBR drains the queue for one round trip of eight: of single round trips the 1st "
        f"percentile is {np.quantile(kept, 0.01):.3f}"
    )


def over_buffer(found: dict[str, RunData]) -> Figure:
    """Fig. 3: 1st percentile of the utilisation over the buffer."""

    def fill(axes: Any, rows: Rows) -> None:
        for axis, name in zip(axes, found, strict=True):
            own = sorted((float(str(r[2])), float(str(r[3]))) for r in rows if r[0] == name)
            axis.plot([p for p, _ in own], [u for _, u in own], "o-", color=WATER, markersize=3)
            # A straight line up to the point where it reaches 1.
            x = [0.0, BBR_DRAIN if name == "bbr" else 1 / BETA[name] - 1, 1.1]
            theory = [theory_utilisation(name, v) for v in x]
            axis.plot(x, theory, color=GREY, linestyle="--")
            axis.set_title(name, loc="left")
            axis.set_ylim(0, 1.03)

    figure = Figure(
        "Fig. 3",
        "Utilisation of one flow over the buffer",
        Drawing("utb-3", len(found), 1.9, fill, "B / BDP", "utilisation, 1st percentile"),
        ("algorithm", "buffer_packets", "buffer_bdp", "utilisation_p01", "utilisation", "theory"),
        note=SCALED + " Of ten round trips, by departures (the paper: iperf's of 10 ms); of BBR "
        "without its probes of the round trip. Dashed: theory of §3.5, above 20 packets held "
        f"to within {UTILISATION_OFF:g}.",
        keys=3,
    )
    for name, run in found.items():
        for phase in run.phases:
            packets, part = run.limit(phase), run.limit_bdp(phase)
            measured, theory = _lowest(run, phase, name), theory_utilisation(name, part)
            average = run.row(phase)["utilisation"]
            figure.row(name, packets, part, measured, average, theory)
            if packets > LEAST_PACKETS:
                figure.check(
                    f"{name}, {part:.2f} BDP: utilisation, 1st percentile",
                    f"{theory:.3f} (§3.5)",
                    measured,
                    theory - UTILISATION_OFF,
                    theory + UTILISATION_OFF,
                    why=_why(run, phase, name),
                )
    return figure
