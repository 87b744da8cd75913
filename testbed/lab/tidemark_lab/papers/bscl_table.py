# SPDX-License-Identifier: Apache-2.0
"""Buffer Sizing for Congested Internet Links, Table I: buffers by three sizings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..report.style import DROP, LIMIT, WATER
from . import bscl, bscl_mix
from .draw import Drawing
from .paper import Check, Figure, within_factor
from .runs import RunData
from .study import Study

# N_b, then C·T_avg, Stanford, BSCL in packets; C_e = 90 % of C.
TABLE_I = {
    2: (1600, 1131, 336),
    7: (1159, 438, 233),
    13: (953, 264, 196),
    15: (850, 219, 100),
    17: (881, 213, 93),
    20: (838, 187, 115),
    40: (767, 121, 282),
    60: (673, 86, 396),
    80: (714, 79, 583),
    100: (710, 71, 688),
    120: (672, 61, 898),
    140: (696, 58, 1092),
    160: (696, 55, 1281),
    180: (672, 50, 1508),
    200: (689, 48, 1659),
    250: (687, 43, 2078),
    300: (672, 38, 2459),
    350: (682, 36, 2882),
    400: (682, 34, 3200),
}
C_E_SHARE = 0.9
# Full packets per second at 50 Mb/s, counted as in the paper: 1500 bytes.
PACKETS_PER_S = 50e6 / 8 / 1500
# "When N_b becomes larger than 17 flows, the BSCL buffer requirement is determined by the maximum
# loss rate rather than the utilization constraint".
LOSS_DECIDES_ABOVE = 17
# For rows where the utilisation decides, since no loss trace says more (§VI).
ALPHA = 0.55
FACTOR = 1.5


def c_te_of_row(n: int) -> float:
    """C_e·T_e of a row, packets: the table has no T_e, which follows from the row's BSCL buffer
    (eq. 21, or eq. 16 with a burst of 0.55·N_b)."""
    buffer = TABLE_I[n][2]
    if n > LOSS_DECIDES_ABOVE:
        return bscl.loss_packets(0.0, n) - buffer
    part = bscl.q(n, max(ALPHA * n, 1.0))
    return (buffer * (2 - part) + 2 * n * (1 - part)) / part


def t_e_ms_of_row(n: int) -> float:
    return 1e3 * c_te_of_row(n) / (C_E_SHARE * PACKETS_PER_S)


def figures(study: Study) -> list[Figure]:
    """Returns Table I, if its runs exist."""
    found = study.find("bscl-mix90")
    return [table_i(found)] if found else []


def table_i(found: Sequence[RunData]) -> Figure:
    """All rows of the paper, with our values where we have runs."""
    by_count = {int(r.setting(bscl_mix.COUNT)): r for r in found}
    t_e = [t_e_ms_of_row(n) for n in TABLE_I if n > LOSS_DECIDES_ABOVE]
    columns = ("ct", "stanford", "bscl")
    figure = Figure(
        "Table I",
        "Buffer of three sizings over N_b, C_e = 90 % of C",
        Drawing.of_curves(
            "bscl-table-i",
            *("N_b", "buffer (packets)"),
            (1, "o", LIMIT, "C·T_avg"),
            (4, ":", LIMIT, None),
            (2, "o", DROP, "Stanford"),
            (5, ":", DROP, None),
            (3, "o", WATER, "BSCL"),
            (6, ":", WATER, None),
            (7, "x", WATER, "BSCL, the row's T_e"),
            yscale="log",
        ),
        (
            *("n_b", *columns, *(f"paper_{c}" for c in columns)),
            *("bscl_with_row_t_e", "c_te_packets", "row_c_te_packets", "row_t_e_ms"),
        ),
        note=f"{bscl_mix.scaled(found)} {len(by_count)} of the paper's {len(TABLE_I)} rows "
        "(dotted). C·T_avg and Stanford follow from the settings, a row's T_e from its buffer, so "
        "that its last value tests our N_b, C_e and burst alone; where the loss decides it is "
        f"{min(t_e):.0f} to {max(t_e):.0f} ms, at times below the shortest round trip of 20 ms.",
        keys=1,
    )
    for n, paper in TABLE_I.items():
        run = by_count.get(n)
        ours = _ours(run, n) if run else (None,) * 5
        figure.row(n, *ours[:3], *paper, *ours[3:], c_te_of_row(n), t_e_ms_of_row(n))
        if run:
            figure.checks += _checks(n, paper, ours, _bursts(run))
    return figure


def _ours(run: RunData, n: int) -> tuple[float | None, ...]:
    """C·T_avg, Stanford, BSCL, BSCL with the row's T_e, our C_e·T_e; packets."""
    limits = [run.limit(p) for p in (bscl_mix.THUMB, bscl_mix.STANFORD)]
    known_here = bscl_mix.estimated(run)
    if known_here is None:
        return (*limits, None, None, None)
    share = float(run.row(bscl_mix.THUMB)["c_e_share"])
    theirs = replace(known_here, c_te=c_te_of_row(n) * share / C_E_SHARE)
    return (*limits, known_here.buffer(), theirs.buffer(), known_here.c_te)


def _bursts(run: RunData) -> str:
    """Describes N_b and the mean loss burst, on which the buffer depends in addition to T_e."""
    known = bscl_mix.estimated(run)
    if known is None:
        return ""
    return f"N_b is {known.n_b:.1f} here, a mean loss burst of {known.mean_loss_burst:.1f} packets"


def _checks(
    n: int, paper: Sequence[float], ours: Sequence[float | None], bursts: str
) -> list[Check]:
    thumb, stanford, own, with_row, c_te = ours
    why = "" if c_te is None else f"C_e·T_e is {c_te:.0f} packets here, {c_te_of_row(n):.0f} there"
    computed = [
        replace(within_factor(f"N_b = {n}: {label}, packets", said, value, FACTOR), computed=True)
        for label, said, value in (("C·T_avg", paper[0], thumb), ("Stanford", paper[1], stanford))
    ]
    what = f"N_b = {n}: BSCL, packets"
    return [
        *computed,
        within_factor(f"{what}, our T_e", paper[2], own, FACTOR, why=why),
        within_factor(
            f"{what}, the row's T_e of {t_e_ms_of_row(n):.0f} ms",
            paper[2],
            with_row,
            FACTOR,
            why=bursts,
        ),
    ]
