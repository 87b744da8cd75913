# SPDX-License-Identifier: Apache-2.0
"""Open Issues in Router Buffer Sizing, Figs. 2-7: throughput and loss of single flows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..report.style import DROP, WATER
from . import flows, runs
from .draw import Drawing, Rows
from .flows import Flow
from .paper import Check, Figure, within, within_factor
from .runs import RunData

SMALL, LARGE = "b18", "b500"
# Experiment → figures of the throughput and of the loss.
NUMBERS = {
    "oi-persistent": (2, 3, "persistent flows and mice"),
    "oi-closed": (4, 5, "closed-loop transfers"),
    "oi-open": (6, 7, "open-loop transfers"),
}
# §4.3: tolerances for printed shares (0.15) and medians (a factor of 2).
SHARE_OFF = 0.15
MEDIAN_FACTOR = 2.0
# "Around 80 % of the persistent flows get a higher throughput" with the large buffer.
BETTER_WITH_LARGE = 0.8
# "About 50 % of the small flows (mice) do better with the small buffer".
MICE_BETTER_WITH_SMALL = 0.5
# "About 40 %-70 % of the mice do not see any losses, depending on the value of B".
MICE_WITHOUT_LOSS = (0.4, 0.7)
# Open loop: medians of large flows, bytes/s; large flows without a loss at the large buffer.
OPEN_MEDIANS = {SMALL: 10_000.0, LARGE: 15_000.0}
OPEN_WITHOUT_LOSS = 0.7
NOTE = "Small buffer 18 packets, large 500; large flows have more than 100 kB."


def figures(run: RunData, name: str) -> list[Figure]:
    """Throughput and loss figures for one kind of traffic."""
    found = {phase: flows.of_phase(run, phase) for phase in (SMALL, LARGE)}
    return [throughput(run, name, found), losses(run, name, found)]


def _why_not_more(run: RunData) -> str:
    large, small = run.row(LARGE), run.row(SMALL)
    delay = large["delay_p50_ms"] - small["delay_p50_ms"]
    return (
        f"not known; loss falls from {small['loss_rate']:.1%} to {large['loss_rate']:.1%}, each "
        f"round trip becomes {delay:.0f} ms longer, of 60 ms (harmonic mean)"
    )


def _why_faster(run: RunData, phase: str) -> str:
    there = flows.offered(run, phase).under_way
    if not there:
        return "no transfer is under way"
    mean = float(run.row(phase)["utilisation"]) * float(run.row(phase)["rate_bps"]) / 8 / there
    return (
        f"not known; {there:.0f} transfers are under way on average, each gets {mean:.0f} bytes/s, "
        "the paper does not print how many are in its own, nor the arrival rates of its three "
        f"sizes; of ours those count that begin and end in {runs.seconds([run], [phase])}"
    )


def better_with_large(found: dict[str, list[Flow]]) -> float | None:
    """Share of the persistent flows that get more with the large buffer."""
    small = {f.name: f.bytes_per_s for f in found[SMALL] if f.kind == "lbp" and f.bytes_per_s}
    both = [
        f.bytes_per_s > small[f.name]
        for f in found[LARGE]
        if f.kind == "lbp" and f.bytes_per_s and f.name in small
    ]
    return sum(both) / len(both) if both else None


# Quantiles at which two distributions are compared.
QUANTILES = [k / 100 for k in range(1, 100)]


def better_with_small(found: dict[str, list[Flow]]) -> float | None:
    """Share of the small flows that do better with the small buffer. Each phase has different
    flows, so equal quantiles of the two distributions are compared."""
    values = [flows.rates(found[phase], large=False) for phase in (SMALL, LARGE)]
    if not all(values):
        return None
    small, large = (np.quantile(v, QUANTILES) for v in values)
    return float(np.mean(small > large))


def _median_ratio(found: dict[str, list[Flow]], large: bool) -> float | None:
    """Median with the large buffer over that with the small one."""
    values = [flows.rates(found[phase], large) for phase in (LARGE, SMALL)]
    if not all(values):
        return None
    return statistics.median(values[0]) / statistics.median(values[1])


def _spread(found: Sequence[Flow]) -> float | None:
    """Standard deviation of the logarithms."""
    values = [math.log(v) for v in flows.rates(list(found), large=True)]
    return statistics.pstdev(values) if len(values) > 1 else None


def throughput(run: RunData, name: str, found: dict[str, list[Flow]]) -> Figure:
    """Figs. 2, 4, 6: distribution of the flows' throughput."""
    number, _, about = NUMBERS[name]
    inf = float("inf")
    counts = ", ".join(
        f"{len(flows.rates(found[p], large))} {'large' if large else 'small'} at {p[1:]} packets"
        for p in (SMALL, LARGE)
        for large in (True, False)
    )
    why = f"flows that begin and end in {runs.seconds([run], [SMALL, LARGE])}: {counts}"
    large, small = _median_ratio(found, True), _median_ratio(found, False)
    checks = []
    if name == "oi-persistent":
        better = better_with_large(found)
        what = "flows better with the large buffer"
        checks.append(within(what, BETTER_WITH_LARGE, better, SHARE_OFF, "80 %", why=why))
        mice = better_with_small(found)
        what = "mice better with the small buffer"
        checks.append(within(what, MICE_BETTER_WITH_SMALL, mice, SHARE_OFF, "50 %", why=why))
    elif name == "oi-closed":
        what = "median throughput, large buffer over small"
        checks += [
            Check(f"large flows: {what}", "most higher", large, 1.0, inf, why=_why_not_more(run)),
            Check(f"small flows: {what}", "most lower", small, 0.0, 1.0, why=why),
        ]
    else:
        what = "median throughput, large buffer over small"
        for size, ratio in (("large", large), ("small", small)):
            checks.append(Check(f"{size} flows: {what}", "much higher", ratio, 1.0, inf, why=why))
        for phase, said in OPEN_MEDIANS.items():
            own = flows.rates(found[phase], large=True)
            checks.append(
                within_factor(
                    f"large flows, {phase[1:]} packets: median throughput, bytes/s",
                    said,
                    statistics.median(own) if own else None,
                    MEDIAN_FACTOR,
                    f"{said:.0f}",
                    why=_why_faster(run, phase),
                )
            )
    spreads = [_spread(found[p]) for p in (LARGE, SMALL)]
    if name != "oi-open" and spreads[0] is not None and spreads[1]:
        ratio = spreads[0] / spreads[1]
        checks.append(
            Check(
                "spread of large flows, large buffer over small", "lower", ratio, 0.0, 1.0, why=why
            )
        )

    return Figure(
        f"Fig. {number}",
        f"Throughput of {about}",
        _distributions(f"oi-{number}", "bytes/s", None),
        ("buffer", "large", "bytes_per_s"),
        [(p, f.large, f.bytes_per_s) for p in found for f in found[p] if f.bytes_per_s],
        checks,
        NOTE + " Transfers that begin and end in the phase.",
        keys=None,
    )


def _distributions(name: str, label: str, most: float | None) -> Drawing:
    """Distribution functions of the third column with both buffers, for large and small flows; up
    to `most`, or on a logarithmic axis."""

    def fill(axes: Any, rows: Rows) -> None:
        for axis, is_large, title in ((axes[0], True, "large"), (axes[1], False, "small")):
            for phase, colour in ((SMALL, DROP), (LARGE, WATER)):
                values = sorted(float(str(r[2])) for r in rows if (r[0], r[1]) == (phase, is_large))
                share = [(i + 1) / len(values) for i in range(len(values))]
                axis.plot(values, share, color=colour, label=f"{phase[1:]} packets")
            if most is None:
                axis.set_xscale("log")
            else:
                axis.set_xlim(0, most)
            axis.set_title(f"{title} flows", loc="left")

    return Drawing(name, 2, 2.2, fill, label, "share of flows")


def losses(run: RunData, name: str, found: dict[str, list[Flow]]) -> Figure:
    """Figs. 3, 5, 7: distribution of the flows' loss."""
    _, number, about = NUMBERS[name]
    free = {(p, big): flows.without_loss(found[p], big) for p in found for big in (True, False)}
    checks = []
    if name == "oi-persistent":
        for phase in (SMALL, LARGE):
            low, high = MICE_WITHOUT_LOSS
            checks.append(
                Check(
                    f"mice without a loss, {phase[1:]} packets",
                    "40 % to 70 %, by the buffer",
                    free[phase, False],
                    low - SHARE_OFF,
                    high + SHARE_OFF,
                    why=f"{run.row(phase)['loss_rate']:.1%} of all packets are lost there",
                )
            )
    if name == "oi-open":
        why = f"in {runs.seconds([run], [SMALL, LARGE])}"
        checks += [
            within(
                "large flows without a loss, 500 packets",
                OPEN_WITHOUT_LOSS,
                free[LARGE, True],
                SHARE_OFF,
                "70 %",
                why=why,
            ),
            Check(
                "large flows without a loss, 18 packets",
                "few",
                free[SMALL, True],
                0.0,
                0.5,
                why=why,
            ),
        ]

    return Figure(
        f"Fig. {number}",
        f"Loss of {about}",
        _distributions(f"oi-{number}", "loss", 0.5),
        ("buffer", "large", "loss", "packets", "drops"),
        [(p, f.large, f.loss, f.packets, f.drops) for p in found for f in found[p]],
        checks,
        NOTE,
        keys=None,
    )
