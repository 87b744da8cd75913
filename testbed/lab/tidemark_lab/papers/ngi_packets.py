# SPDX-License-Identifier: Apache-2.0
"""NGI Fig. 4: single packets of one Reno flow and of the background, around a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..experiment.quantities import WIRE_BYTES
from ..report.style import DROP, GREY, WATER
from .draw import Drawing, Rows, column
from .ngi_runs import scaled
from .paper import Check, Figure
from .runs import FRAME_BYTES, Packets, RunData

PHASE = "b20"
# Time shown before and after a loss of the flow; a round trip is 150 ms.
BEFORE_S, AFTER_S = 0.03, 0.19
# "The TCP window mechanism tends to emit packets in bursts": this share of the flow's packets come
# within two packet times of the previous one.
BURST_PACKETS, LEAST_IN_BURSTS = 2.0, 0.5
# "Recognized one RTT later leading to a halving of the current window size".
HALVED, HALVED_OFF = 0.5, 0.1
# Dots are spread evenly over this fraction of their half.
HALF, GOLDEN = 0.9, 0.618034


def around_a_loss(run: RunData) -> Figure:
    """Draws the flow's packets in the upper half, the background's in the lower half."""
    p, rate = run.packets(PHASE), float(run.row(PHASE)["rate_bps"])
    own = np.isin(p.flow, np.unique(p.flow[np.isfinite(p.window)]))
    flow = p.where(own)
    at = _first_loss_s(flow)
    gap_s = BURST_PACKETS * 8 * (FRAME_BYTES + WIRE_BYTES) / rate
    here = (p.time_s > at - BEFORE_S) & (p.time_s < at + AFTER_S)

    def fill(axes: Any, rows: Rows) -> None:
        for kind, low, colour in (("background", 0.0, GREY), ("flow", 1.0, WATER)):
            times = [r[0] for r in rows if r[1] == kind]
            heights = [low + HALF * (k * GOLDEN % 1) for k in range(len(times))]
            # Dots as short lines in one path: a marker per dot would take three times the space.
            x = [v for t in times for v in (t, t, None)]
            y = [v for h in heights for v in (h, h + 0.02, None)]
            axes[0].plot(x, y, color=colour, linewidth=1, label=kind)
        lost = [r for r in rows if r[2]]
        height = [1.95 if r[1] == "flow" else 0.95 for r in lost]
        axes[0].plot(column(lost, 0), height, "x", color=DROP, markersize=4, label="lost")
        axes[0].set_yticks([])

    return Figure(
        "Fig. 4",
        "Packets of one Reno flow and of the background, 20 packets",
        Drawing("ngi-4", 1, 2.2, fill, "ms after a loss"),
        ("ms_after_a_loss", "kind", "lost"),
        [
            (round(1e3 * (t - at), 3), "flow" if f else "background", bool(d))
            for t, f, d in zip(p.time_s[here], own[here], p.dropped[here], strict=True)
        ],
        [
            Check(
                f"flow's packets within {BURST_PACKETS:g} packet times of the one before",
                "tends to emit packets in bursts",
                float(np.mean(np.diff(flow.time_s) < gap_s)),
                LEAST_IN_BURSTS,
                1.0,
                why="not known",
            ),
            Check(
                "window after the loss over before",
                "a halving, one RTT later",
                _window_after(flow, at),
                HALVED - HALVED_OFF,
                HALVED + HALVED_OFF,
                why="not known",
            ),
        ],
        scaled([("", run, PHASE)]) + " Heights mean nothing, as in the paper; crosses: lost.",
    )


def _first_loss_s(flow: Packets) -> float:
    """Time of a loss whose surroundings are all in the phase; the start if there is none."""
    lost = flow.time_s[flow.dropped]
    inside = lost[(lost > BEFORE_S) & (lost < flow.time_s[-1] - 2 * AFTER_S)]
    return float(inside[0]) if inside.size else 0.0


def _window_after(flow: Packets, at: float) -> float | None:
    """Smallest window within two round trips after a loss, over the last one before it."""
    before = flow.window[(flow.time_s <= at) & np.isfinite(flow.window)]
    near = (flow.time_s > at) & (flow.time_s < at + 2 * AFTER_S) & np.isfinite(flow.window)
    return float(flow.window[near].min() / before[-1]) if before.size and near.any() else None
