# SPDX-License-Identifier: Apache-2.0
"""Open Issues in Router Buffer Sizing (Dhamdhere, Dovrolis 2006), Fig. 1 and §3.2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..report.style import DROP, GREY, LIMIT, SECOND, WATER
from . import flows, oi_flows, runs
from .draw import Drawing, Rows, column, curves
from .paper import Figure
from .runs import RunData
from .study import Study

TRAFFICS = {"oi-persistent": "persistent", "oi-closed": "closed loop", "oi-open": "open loop"}
COLOURS = {"oi-persistent": WATER, "oi-closed": SECOND, "oi-open": DROP}
# §4.3 on Fig. 1: loss with the small and the large buffer, lowest and highest as printed.
LOSS = {
    ("oi-persistent", "b18"): (0.07, 0.08),
    ("oi-closed", "b18"): (0.07, 0.08),
    ("oi-open", "b18"): (0.12, 0.12),
    ("oi-persistent", "b500"): (0.02, 0.02),
    ("oi-closed", "b500"): (0.04, 0.04),
    ("oi-open", "b500"): (0.0, 0.01),
}
LOSS_FACTOR = 1.5
# The small and the large buffer.
SHOWN = ("b18", "b500")
# "Almost 100 %".
LEAST_UTILISATION = 0.97
# §3.2: offered load of links that are never saturated; tolerance: a tenth of the capacity.
NEVER_SATURATED: dict[str, tuple[str, float | None]] = {
    "oi-dsl": ("60 DSL users of 1 Mb/s at 100 Mb/s", 0.60),
    "oi-window": ("100 flows with windows of 32 kB and 100 ms at OC-12", 260 / 620),
    "oi-elsewhere": ("those limited by their last mile at OC-12", None),
}
LOAD_OFF = 0.05
# The paper gives no number for the third example: ours is bounded by its last miles.
MOST_ELSEWHERE = 8 * 2 / 50
MOST_LOSS = 0.01
PERSISTENT = 200


def scaled(found: Sequence[RunData]) -> str:
    """Describes differences from the paper's setup, and common parts."""
    shown = [p for p in found[0].phases if p in SHOWN]
    others = [p for p in found[0].phases if p not in SHOWN]
    return (
        "50 Mb/s, 18 round trips of 20 to 530 ms; "
        f"{runs.seconds(found, shown)} with the small and the large buffer, "
        f"{runs.seconds(found, others)} with others{runs.growth(found)}. A sender's "
        "first burst has 2 packets."
    )


def figures(study: Study) -> list[Figure]:
    """Returns the figures whose runs exist."""
    found = {name: run for name in TRAFFICS for run in study.find(name)[:1]}
    made = [loss_over_buffer(found)] if found else []
    for name, run in found.items():
        made += oi_flows.figures(run, name)
    small = {name: run for name in NEVER_SATURATED for run in study.find(name)[:1]}
    return made + ([never_saturated(small)] if small else [])


def loss_persistent(flows: int, bdp_packets: float, buffer_packets: float) -> float:
    """Loss rate of persistent flows, eq. 3."""
    return min(1.0, (0.87 * flows) ** 2 / (bdp_packets + buffer_packets) ** 2)


def loss_over_buffer(found: dict[str, RunData]) -> Figure:
    """Fig. 1: loss by buffer and kind of traffic."""

    def fill(axes: Any, rows: Rows) -> None:
        axis = axes[0]
        for name in found:
            own = [r for r in rows if r[0] == TRAFFICS[name]]
            own.sort(key=lambda r: float(str(r[1])))
            curves(axis, own, (2, "o-", COLOURS[name], TRAFFICS[name]), x=1)
        at = list(range(18, 501, 4))
        model = [loss_persistent(PERSISTENT, 250, b) for b in at]
        axis.plot(at, model, "--", color=GREY, label="eq. 3, persistent")
        axis.axvline(18, color=LIMIT, linewidth=0.8)
        axis.set_ylim(0, 0.2)

    figure = Figure(
        "Fig. 1",
        "Loss over the buffer for three kinds of traffic",
        Drawing("oi-1", 1, 2.4, fill, "buffer (packets)", "loss"),
        ("traffic", "buffer_packets", "loss", "utilisation", "transfers", "drops"),
        note=scaled(list(found.values())) + " Red: the small buffer of 18 packets.",
        keys=2,
    )
    measured: dict[tuple[str, str], float] = {}
    for name, run in found.items():
        for phase in run.phases:
            row, packets = run.row(phase), run.limit(phase)
            loss = measured[name, phase] = float(row["loss_rate"])
            utilisation = row["utilisation"]
            figure.row(TRAFFICS[name], packets, loss, utilisation, row["true_short"], row["drops"])
            if (said := LOSS.get((name, phase))) is None:
                continue
            low, high = said
            what = f"{TRAFFICS[name]}, {packets:.0f} packets"
            figure.check(
                f"{what}: loss",
                f"{low:.0%}" if low == high else f"{low:.0%} to {high:.0%}",
                loss,
                low / LOSS_FACTOR,
                high * LOSS_FACTOR,
                why=_why(run, phase),
            )
            figure.check(
                f"{what}: utilisation",
                "almost 100 %",
                utilisation,
                LEAST_UTILISATION,
                1.01,
                why=_why(run, phase),
            )
    if {"oi-open", "oi-closed"} <= set(found):
        falls = {
            n: measured[n, "b18"] / max(measured[n, "b500"], 1e-6) for n in ("oi-open", "oi-closed")
        }
        figure.check(
            "how much less the large buffer loses, open over closed loop",
            "much slower reduction in the closed loop",
            falls["oi-open"] / falls["oi-closed"],
            1.5,
            float("inf"),
        )
    return figure


def _why(run: RunData, phase: str) -> str:
    there, row = flows.offered(run, phase), run.row(phase)
    return (
        f"not known; {there.under_way:.0f} transfers are under way on average, those that begin in "
        f"these {row['seconds']:.0f} s are {there.load:.0%} of the rate without headers"
    )


def never_saturated(found: dict[str, RunData]) -> Figure:
    """§3.2: links that no buffer saturates."""

    def fill(axes: Any, rows: Rows) -> None:
        at = range(len(rows))
        for number, label, colour, off in ((1, "paper", GREY, 0.2), (2, "ours", WATER, -0.2)):
            values = [v or 0 for v in column(rows, number)]
            axes[0].barh([a + off for a in at], values, 0.35, color=colour, label=label)
        axes[0].set_yticks(list(at), [str(r[0]) for r in rows])
        axes[0].set_xlim(0, 1)

    figure = Figure(
        "Section 3-2",
        "Links that are never saturated",
        Drawing("oi-s32", 1, 1.8, fill, "load"),
        ("link", "load_of_the_paper", "load", "loss"),
        note="Scaled to 50 Mb/s: users and flows as the capacity; the third example, without a "
        "number in the paper, has 8 last miles of 2 Mb/s. Loads follow from the settings.",
        keys=1,
    )
    for name, run in found.items():
        about, load = NEVER_SATURATED[name]
        row = run.row(run.phases[0])
        figure.row(about, load, row["utilisation"], row["loss_rate"])
        # The load is configured in the file: the check confirms the scaling.
        figure.check(
            f"{about}: load",
            "never saturated" if load is None else f"{load:.2f}",
            row["utilisation"],
            0.0 if load is None else load - LOAD_OFF,
            MOST_ELSEWHERE if load is None else load + LOAD_OFF,
            computed=True,
        )
        what = f"{about}: loss with 20 packets"
        figure.check(what, "a very small number of buffers", row["loss_rate"], 0.0, MOST_LOSS)
    return figure
