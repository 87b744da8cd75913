# SPDX-License-Identifier: Apache-2.0
"""Buffer Sizing for Congested Internet Links, Fig. 8: utilisation with few flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..report.style import DROP, LIMIT, SECOND, WATER
from . import bscl, runs
from .bscl_mix import COUNT, STANFORD, THUMB, Estimated, estimated, value_at
from .draw import Drawing
from .paper import Check, Figure, within
from .runs import RunData
from .study import Study

EXPERIMENT = "bscl-few"
# §VII: with BSCL "a more significant underutilization (80%) when Nb is just two flows".
FEWEST, UTILISATION_OF_FEWEST, UTILISATION_OFF = 2, 0.80, 0.10
# Table I's row of two flows: BSCL's packets as a fraction of C·T_avg.
PART_OF_FEWEST = 336 / 1600
# With a few more flows it "can slightly underestimate" if the burst is its median: at most this
# much below full.
SLIGHTLY_BELOW = 0.90
# "Remains at 100% with all three schemes, as long as the number of LBP flows is more than 10-20":
# held to the sizing's target.
ENOUGH_FLOWS, FULL = 10, bscl.UTILISATION
# A phase's utilisation may exceed 1 by the packets cut off at its ends.
MOST = 1.01
# "A few very long loss-bursts that make the average significantly longer than the median."
LONGER, LONGEST = 1.2, 10.0


def scaled(found: Sequence[RunData]) -> str:
    """Describes differences from the paper's setup."""
    times = runs.seconds(found, [p for p in found[0].phases if p != THUMB])
    return (
        "10 Mb/s, a fifth of the paper's, with a fifth of its other flows; Reno that grows a "
        f"segment a round trip, to regain a window in a tenth of the time; {times} of each setting "
        f"(the paper: {bscl.PAPER_S} s), {runs.seconds(found, [THUMB])} at the rule of thumb. "
        f"Utilisation at BSCL's buffer between two of {len(found[0].phases)} measured ones, its "
        "estimates from the rule of thumb's phase."
    )


def figures(study: Study) -> list[Figure]:
    """Returns Fig. 8, if its runs exist."""
    found = study.by_number(EXPERIMENT, COUNT)
    return [few_flows(found)] if found else []


def _with_median(run: RunData, known: Estimated | None) -> Estimated | None:
    """The estimates with the loss bursts' median instead of the mean."""
    median = run.estimates(THUMB).get("median_loss_burst")
    if known is None or median is None:
        return None
    return replace(known, mean_loss_burst=float(median["value"]))


def few_flows(found: Sequence[RunData]) -> Figure:
    """Fig. 8: utilisation over N_b with three sizings, BSCL's with the mean burst and with the
    median."""
    figure = Figure(
        "Fig. 8",
        "Utilisation with few flows and three sizings, C_e = 90 % of C",
        Drawing.of_curves(
            "bscl-8",
            *("N_b", "utilisation"),
            (1, "o-", LIMIT, "C·T_avg"),
            (2, "o-", DROP, "Stanford"),
            (3, "o-", WATER, "BSCL, mean burst"),
            (4, "o-", SECOND, "BSCL, median burst"),
            level=FULL,
        ),
        (
            *("n_b", "utilisation_ct", "utilisation_stanford"),
            *("utilisation_bscl_mean", "utilisation_bscl_median"),
            *("bscl_mean_packets", "bscl_median_packets"),
            *("mean_loss_burst", "median_loss_burst"),
        ),
        note=scaled(found) + f" Dashed: the wanted {FULL:.0%}.",
        keys=1,
    )
    for run in found:
        n, by_mean = int(run.setting(COUNT)), estimated(run)
        both = (by_mean, _with_median(run, by_mean))
        buffers = [e.buffer() if e else None for e in both]
        ours = [value_at(run.points("utilisation"), b) if b else None for b in buffers]
        fixed = [float(run.row(p)["utilisation"]) for p in (THUMB, STANFORD)]
        bursts = [e.mean_loss_burst if e else None for e in both]
        figure.row(n, *fixed, *ours, *buffers, *bursts)
        figure.checks += _checks(run, n, fixed, ours, bursts)
    return figure


def _checks(
    run: RunData,
    n: int,
    fixed: Sequence[float],
    ours: Sequence[float | None],
    bursts: Sequence[float | None],
) -> list[Check]:
    by_mean, by_median = ours
    why = _events(run)
    if n >= ENOUGH_FLOWS:
        labels = ("rule of thumb", "Stanford", "BSCL")
        return [
            Check(f"{n} flows, {label}: utilisation", "100 %", value, FULL, MOST, why=why)
            for label, value in zip(labels, (*fixed, by_mean), strict=True)
        ]
    what = f"{n} flows, BSCL with the median burst: utilisation"
    if n == FEWEST:
        both = f"{why}; {_at_table_i(run)}"
        first = within(what, UTILISATION_OF_FEWEST, by_median, UTILISATION_OFF, "80 %", why=both)
    else:
        first = Check(what, "slightly below", by_median, SLIGHTLY_BELOW, MOST, why=why)
    mean, median = bursts
    ratio = mean / median if mean is not None and median else None
    what = f"{n} flows: mean loss burst over its median"
    return [first, Check(what, "significantly longer", ratio, LONGER, LONGEST, why=why)]


def _at_table_i(run: RunData) -> str:
    """Utilisation here at the paper's own buffer, as a fraction of C·T_avg."""
    there = value_at(run.points("utilisation"), PART_OF_FEWEST * run.limit(THUMB))
    part = f"the {PART_OF_FEWEST:.0%} of C·T_avg that Table I has"
    return f"{part} would give {there:.0%} here" if there else f"{part} was not measured"


def _events(run: RunData) -> str:
    """Describes how often the flows lose, and with what burst size."""
    known, burst = estimated(run), run.estimates(THUMB).get("mean_loss_burst")
    if known is None or not burst:
        return "no loss event in the rule of thumb's phase"
    return (
        f"{burst['samples']} loss events at the rule of thumb; a mean burst of "
        f"{known.mean_loss_burst:.1f} packets gives BSCL {known.buffer():.0f} packets, C_e·T_e is "
        f"{known.c_te:.0f}"
    )
