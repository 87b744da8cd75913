# SPDX-License-Identifier: Apache-2.0
"""Buffer Sizing for Congested Internet Links, Figs. 5-7, 9 and Table I: mixed traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..report.style import DROP, LIMIT, SECOND, WATER
from ..theory import loss_of_flows
from . import bscl, runs
from .draw import Drawing
from .paper import Figure, within_factor
from .runs import RunData
from .study import Study

COUNT = "traffic.persistent.lbp.count"
# Experiment → figure of the paper, and share of the bottlenecked flows, per cent.
FIGURES = {"bscl-mix95": (5, 95), "bscl-mix90": (6, 90), "bscl-mix80": (7, 80)}
THUMB, STANFORD = "ct", "stanford"
# §VII: "For 300 LBP flows, the loss rate is about 4% and 10% with the CT formula and with the
# Stanford scheme"; held to a factor in either direction.
MANY, LOSS_OF_MANY = 300, {THUMB: 0.04, STANFORD: 0.10}
LOSS_FACTOR = 1.5
# "Close to the 1 % threshold" while C_e is 90 % or more: at most this multiple of it.
CLOSE_FACTOR = 1.5
# From this many flows on, the loss decides (Ñ_b is 17 in the paper).
LOSS_DECIDES = 20
# Fig. 9: an N_b 20 % too small costs up to 0.5 % of loss with fewer than 200 flows; the largest
# cost is held to the same factor.
TOO_SMALL, MOST_EXCESS, EXCESS_FLOWS = 0.8, 0.005, 200
DRAWN = " Dotted: loss law (0.87·N_b / (B + C_e·T_e))² (eqs. 21, 22), estimates; dashed: 1 %."


def scaled(found: Sequence[RunData]) -> str:
    """Describes differences from the paper's setup, and common parts."""
    return (
        f"50 Mb/s, 18 round trips of 20 to 530 ms; {runs.seconds(found)} of each setting (the "
        f"paper: {bscl.PAPER_S} s); loss at BSCL's buffer between two of {len(found[0].phases)} "
        f"measured ones, its estimates from the rule of thumb's phase{runs.growth(found)}."
    )


@dataclass(frozen=True)
class Estimated:
    """Inputs of BSCL, estimated from the phase with the rule of thumb's buffer."""

    n_b: float
    # C_e·T_e, packets.
    c_te: float
    mean_loss_burst: float

    def loss(self, buffer: float) -> float:
        """Loss at a buffer, by the loss law."""
        return loss_of_flows(self.n_b, self.c_te, buffer)

    def buffer(self, n_b_factor: float = 1.0) -> float:
        """Buffer by eq. 26, packets; `n_b_factor` makes N_b wrong."""
        n_b = self.n_b * n_b_factor
        part = bscl.q(n_b, max(self.mean_loss_burst, 1.0))
        by_utilisation = (part * self.c_te - 2 * n_b * (1 - part)) / (2 - part)
        return max(by_utilisation, bscl.loss_packets(self.c_te, n_b), 1.0)


def estimated(run: RunData) -> Estimated | None:
    """None if the phase lacks these estimates."""
    row = run.row(THUMB)
    values = [row[k] for k in ("n_b", "t_e_ms", "c_e_share", "mean_loss_burst")]
    if any(v is None for v in values):
        return None
    n_b, t_e_ms, share, burst = map(float, values)
    return Estimated(n_b, share * bscl.packets_per_s(run, THUMB) * t_e_ms / 1e3, burst)


def value_at(points: Sequence[tuple[float, float]], buffer: float) -> float | None:
    """Interpolates the value at a buffer between the two of `points` (buffer, value; sorted by
    buffer) around it, with a logarithmic buffer axis; None outside their range."""
    if not points or not points[0][0] <= buffer <= points[-1][0]:
        return None
    buffers, values = zip(*points, strict=True)
    return float(np.interp(math.log(buffer), np.log(buffers), values))


def loss_at(points: Sequence[tuple[float, float]], buffer: float) -> float | None:
    """Loss at a buffer, like `value_at` with both axes logarithmic; None also without losses."""
    found = value_at([(b, math.log(p) if p > 0 else -math.inf) for b, p in points], buffer)
    loss = 0.0 if found is None else math.exp(found)
    return loss if loss > 0 else None


def figures(study: Study) -> list[Figure]:
    """Returns the figures whose runs exist."""
    made = []
    for name in FIGURES:
        found = study.by_number(name, COUNT)
        if not found:
            continue
        made.append(three_sizings(name, found))
        if name == "bscl-mix90":
            made.append(underestimated(found))
    return made


def _why(run: RunData, phase: str) -> str:
    """Explains a phase by the loss law: p = (0.87·N_b / (B + C_e·T_e))² (eqs. 21, 22)."""
    known, packets = estimated(run), run.limit(phase)
    if known is None:
        return ""
    constant = math.sqrt(run.row(phase)["loss_rate"]) * (packets + known.c_te) / known.n_b
    return (
        f"{bscl.of_constant(run, constant)}; C_e·T_e is {known.c_te:.0f} packets, a full buffer's "
        f"share of a flow {packets / known.n_b:.1f}"
    )


def three_sizings(name: str, found: Sequence[RunData]) -> Figure:
    """Figs. 5-7: loss over N_b with three sizings."""
    number, share = FIGURES[name]
    figure = Figure(
        f"Fig. {number}",
        f"Loss over N_b with three sizings, C_e = {share} % of C",
        Drawing.of_curves(
            f"bscl-{number}",
            *("N_b", "loss"),
            (1, "o-", LIMIT, "C·T_avg"),
            (5, ":", LIMIT, None),
            (2, "o-", DROP, "Stanford"),
            (6, ":", DROP, None),
            (3, "o-", WATER, "BSCL"),
            (7, ":", WATER, None),
            level=bscl.LOSS_RATE,
        ),
        (
            *("n_b", "loss_ct", "loss_stanford", "loss_bscl", "bscl_packets"),
            *("law_ct", "law_stanford", "law_bscl"),
        ),
        note=scaled(found) + DRAWN,
        keys=1,
    )
    close = share >= 90
    for run in found:
        n, known = int(run.setting(COUNT)), estimated(run)
        buffer = known.buffer() if known else None
        ours = loss_at(run.points("loss_rate"), buffer) if buffer else None
        losses = {p: float(run.row(p)["loss_rate"]) for p in (THUMB, STANFORD)}
        limits = [run.limit(p) for p in losses]
        laws = [known.loss(b) if known and b else None for b in (*limits, buffer)]
        figure.row(n, losses[THUMB], losses[STANFORD], ours, buffer, *laws)
        if n == MANY:
            figure.checks += [
                within_factor(
                    f"{n} flows, {label}: loss",
                    LOSS_OF_MANY[phase],
                    losses[phase],
                    LOSS_FACTOR,
                    f"about {LOSS_OF_MANY[phase]:.0%}",
                    why=_why(run, phase),
                )
                for phase, label in ((THUMB, "rule of thumb"), (STANFORD, "Stanford"))
            ]
        if n >= LOSS_DECIDES:
            beyond = f"{buffer:.0f} packets: beyond what was measured" if buffer else ""
            figure.check(
                f"{n} flows, BSCL: loss",
                "close to 1 %" if close else "violates 1 %",
                ours,
                0.0 if close else bscl.LOSS_RATE,
                bscl.LOSS_RATE * CLOSE_FACTOR if close else 1.0,
                why=_why(run, THUMB),
                about="" if ours else beyond,
            )
    return figure


def underestimated(found: Sequence[RunData]) -> Figure:
    """Fig. 9: loss if BSCL uses an N_b that is 20 % too small."""
    figure = Figure(
        "Fig. 9",
        "Loss with BSCL and an N_b that is 20 % too small",
        Drawing.of_curves(
            "bscl-9",
            *("N_b", "loss"),
            (1, "o-", WATER, "N_b as estimated"),
            (2, "o-", SECOND, "20 % less"),
            (5, ":", WATER, None),
            (6, ":", SECOND, None),
            level=bscl.LOSS_RATE,
        ),
        (
            *("n_b", "loss", "loss_underestimated", "bscl_packets", "bscl_packets_underestimated"),
            *("law", "law_underestimated"),
        ),
        note=scaled(found) + DRAWN,
        keys=1,
    )
    for run in found:
        n, known = int(run.setting(COUNT)), estimated(run)
        if known is None:
            continue
        buffers = known.buffer(), known.buffer(TOO_SMALL)
        right, wrong = (loss_at(run.points("loss_rate"), b) for b in buffers)
        figure.row(n, right, wrong, *buffers, *(known.loss(b) for b in buffers))
        if LOSS_DECIDES <= n < EXCESS_FLOWS:
            figure.check(
                f"{n} flows: loss beyond 1 %",
                "up to 0.5 %",
                None if wrong is None else wrong - bscl.LOSS_RATE,
                0.0,
                MOST_EXCESS * LOSS_FACTOR,
                why=_why(run, THUMB),
            )
    return figure
