# SPDX-License-Identifier: Apache-2.0
"""Buffer Sizing for Congested Internet Links (Dhamdhere, Jiang, Dovrolis 2005), Figs. 1-3."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..experiment.quantities import WIRE_BYTES
from ..report.style import GREY, LIMIT, SECOND, WATER
from ..theory import SQRT_CONSTANT
from . import runs
from .draw import Drawing, Rows, column, curves
from .paper import Figure
from .runs import RunData
from .study import Study

COUNT = "traffic.persistent.flow.count"
UTILISATION, LOSS_RATE = 0.98, 0.01
# §III-D on Fig. 1: alpha is "typically in the range 0.4-0.7"; held to 0.1 more on each side.
ALPHA_LOW, ALPHA_HIGH, ALPHA_OFF = 0.4, 0.7, 0.1
# Alpha of the models drawn in the paper.
ALPHA_FIG_2, ALPHA_FIG_3 = 0.6, 0.55
# "Follows closely": ours is within this factor of the model.
FACTOR = 1.5
# §III-D: for more loss, the probabilistic model is inaccurate.
MOST_LOSS = 0.04
# Fig. 1 has B = C·T_avg, 882 packets here: the next smaller one of our buffers.
NEAR_CT = "b600"
LEAST_LINEAR = 5
# The paper's duration per setting, and its number of runs for Fig. 1.
PAPER_S, PAPER_RUNS = 180, 10


def scaled(found: Sequence[RunData]) -> str:
    """Describes differences from the paper's setup, and common parts."""
    return (
        f"50 Mb/s, 18 round trips of 20 to 530 ms; {runs.seconds(found)} of each setting (the "
        f"paper: {PAPER_S} s, {PAPER_RUNS} seeds){runs.growth(found)}."
    )


def figures(study: Study) -> list[Figure]:
    """Returns the figures whose runs exist."""
    found = study.by_number("bscl-lbp", COUNT)
    if not found:
        return []
    return [loss_bursts(found), required(found, loss=False), required(found, loss=True)]


def q(n_b: float, mean_loss_burst: float) -> float:
    """Fraction of the flows that lose in a loss event (eq. 13)."""
    return 1 - (1 - 1 / n_b) ** mean_loss_burst


def utilisation_packets(c_te_packets: float, n_b: float, alpha: float) -> float:
    """B_rho (eq. 16), packets."""
    part = q(n_b, max(alpha * n_b, 1.0))
    return (part * c_te_packets - 2 * n_b * (1 - part)) / (2 - part)


def loss_packets(c_te_packets: float, n_b: float) -> float:
    """B_p for 1 % (eqs. 21, 22), packets."""
    return SQRT_CONSTANT / math.sqrt(LOSS_RATE) * n_b - c_te_packets


def packets_per_s(run: RunData, phase: str) -> float:
    return float(run.row(phase)["rate_bps"]) / 8 / (runs.FRAME_BYTES + WIRE_BYTES)


def c_te_packets(run: RunData) -> float:
    phase = run.phases[0]
    return packets_per_s(run, phase) * float(run.row(phase)["true_t_e_ms"]) / 1e3


def mean_burst(drops_s: np.ndarray, gap_s: float) -> float:
    """Mean drops per loss event, which ends after a gap without losses."""
    return len(drops_s) / (1 + int((np.diff(np.sort(drops_s)) >= gap_s).sum()))


def _with_delay(run: RunData, n: int) -> str:
    """Burst size if a loss event lasts a round trip including its queueing delay: the estimator
    uses only base round trips."""
    p, row = run.packets(NEAR_CT), run.row(NEAR_CT)
    drops_s = p.time_s[p.dropped]
    if not drops_s.size:
        return ""
    gap_s = (float(row["true_t_e_ms"]) + float(row["delay_mean_ms"])) / 1e3
    return (
        f"; the estimator ends one after T_e without a drop; after T_e and the mean delay of the "
        f"queue, {1e3 * gap_s:.0f} ms together, a burst is {mean_burst(drops_s, gap_s) / n:.2f} of "
        "N_b"
    )


def loss_bursts(found: Sequence[RunData]) -> Figure:
    """Fig. 1: packets lost in a loss event over N_b."""

    def fill(axes: Any, rows: Rows) -> None:
        curves(axes[0], rows, (1, "o-", WATER, "median"), (2, "o--", SECOND, "mean"))
        n = column(rows, 0)
        for alpha in (ALPHA_LOW, ALPHA_HIGH):
            axes[0].plot(n, [alpha * v for v in n], ":", color=GREY)

    figure = Figure(
        "Fig. 1",
        "Loss-burst length as a function of the number of flows",
        Drawing("bscl-1", 1, 2.2, fill, "N_b", "drops in a loss event"),
        ("n_b", "median_loss_burst", "mean_loss_burst", "loss_events"),
        note=scaled(found) + " B = 600 packets. Dotted: 0.4·N_b and 0.7·N_b.",
        keys=1,
    )
    for run in found:
        n, estimates = int(run.setting(COUNT)), run.estimates(NEAR_CT)
        burst = estimates.get("mean_loss_burst") or {"value": None, "samples": 0}
        median = estimates.get("median_loss_burst") or {"value": None}
        figure.row(n, median["value"], burst["value"], burst["samples"])
        if n > LEAST_LINEAR:
            figure.check(
                f"N_b = {n}: alpha, mean loss burst over N_b",
                f"{ALPHA_LOW:g} to {ALPHA_HIGH:g}",
                None if burst["value"] is None else burst["value"] / n,
                ALPHA_LOW - ALPHA_OFF,
                ALPHA_HIGH + ALPHA_OFF,
                why=f"{burst['samples']} loss events in "
                f"{runs.seconds([run], [NEAR_CT])} of a seed{_with_delay(run, n)}",
            )
    return figure


def crossing(
    points: Sequence[tuple[float, float]], meets: Callable[[float], bool], bound: float
) -> tuple[float | None, str]:
    """Smallest buffer that meets a bound, interpolated between the two of `points` (buffer, value;
    by buffer) around it, on a logarithmic axis; None with the reason if none enclose it."""
    if meets(points[0][1]):
        return None, f"at most {points[0][0]:.0f}"
    for (below, a), (above, b) in pairwise(points):
        if not meets(a) and meets(b):
            part = (bound - a) / (b - a) if b != a else 1.0
            return below * (above / below) ** part, ""
    return None, f"more than {points[-1][0]:.0f}"


def of_constant(run: RunData, constant: float) -> str:
    """Explains a loss by the constant of the loss law: √(3/2) for a window that grows by a packet
    per round trip, √(3/4) for ns-2's, by half of one (Mathis et al. 1997)."""
    why = "not known" if run.simulated else f"the kernel's Reno has {math.sqrt(1.5):.2f} in theory"
    return f"{why}; the loss law's constant is {constant:.2f} here for {SQRT_CONSTANT:g}"


def _why(run: RunData, n: int, c_te: float, loss_decides: bool) -> str:
    """Names the model's assumptions, as far as known, that do not hold in these runs."""
    if loss_decides:
        constant = math.sqrt(run.row("b300")["loss_rate"]) * (run.limit("b300") + c_te) / n
        return of_constant(run, constant)
    low = run.row("b25")["loss_rate"]
    if low > MOST_LOSS:
        return f"{low:.1%} are lost at 25 packets; the paper holds the model up to 4-5 %"
    burst = run.estimates(NEAR_CT).get("mean_loss_burst")
    return f"a burst is {burst['value'] / n:.2f} of N_b at 600 packets" if burst else ""


def required(found: Sequence[RunData], loss: bool) -> Figure:
    """Fig. 2: smallest buffer for 98 % utilisation; Fig. 3: for that and 1 % of loss."""
    number, alpha, equation = (3, ALPHA_FIG_3, 23) if loss else (2, ALPHA_FIG_2, 16)
    bounds = "98 % and a loss of at most 1 %" if loss else "98 %"
    buffers = found[-1].points("utilisation")
    figure = Figure(
        f"Fig. {number}",
        f"Smallest buffer for a utilisation of {bounds}",
        Drawing.of_curves(
            f"bscl-{number}",
            *("N_b", "smallest buffer (packets)"),
            (3, "--", GREY, "model"),
            (4, ":", LIMIT, "C·T_e"),
            (1, "o", WATER, "ours"),
        ),
        ("n_b", "smallest_buffer_packets", "not_enclosed", "model_packets", "c_te_packets"),
        note=f"{scaled(found)} Ours lies between two of {len(buffers)} buffers from "
        f"{buffers[0][0]:.0f} to {buffers[-1][0]:.0f} packets, if they enclose it.",
        keys=1,
    )
    for run in found:
        n, c_te = int(run.setting(COUNT)), c_te_packets(run)
        full = run.points("utilisation")
        ours, why = crossing(full, lambda u: u >= UTILISATION, UTILISATION)
        model, loss_decides = utilisation_packets(c_te, n, alpha), False
        if loss:
            losses = run.points("loss_rate")
            for_loss, why_loss = crossing(losses, lambda p: p <= LOSS_RATE, LOSS_RATE)
            if for_loss is not None or ours is None:
                enough = for_loss is None or ours is None or for_loss > ours
                ours, why = (for_loss, why_loss) if enough else (ours, why)
                loss_decides = enough
            model = max(model, loss_packets(c_te, n))
        figure.row(n, ours, why, model, c_te)
        figure.check(
            f"N_b = {n}: smallest buffer, packets",
            f"{model:.0f} (eq. {equation}, alpha = {alpha:g})",
            ours,
            max(model, 1) / FACTOR,
            max(model, 1) * FACTOR,
            why=_why(run, n, c_te, loss_decides),
            about=why,
        )
    return figure
