# SPDX-License-Identifier: Apache-2.0
"""Buffer Sizing for Elastic Traffic (Augé, Roberts 2006), §§III-B, IV: Figs. 3, 5."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..report.style import DROP, GREY, WATER
from . import ngi_packets, ngi_protocols, runs
from .draw import Drawing, Rows, column, curves
from .ngi_runs import residual_share, traced
from .paper import Check, Figure, within
from .runs import RunData
from .study import Study

COUNT = "traffic.persistent.flow.count"
ALGORITHM = "traffic.persistent.flow.congestion_control"
SCHEDULING = "topology.switches.s1.scheduling"
# §IV-B: with 20 packets one flow acquires "around 40 % of the residual bandwidth".
SMALL_SHARE, SHARE_OFF = 0.4, 0.15
FULL = 0.98
LARGER = ("b100", "b625")
# §III-B: with processor sharing at load 0.5, there are more than 4 flows with probability 0.03.
LOAD_OF_TEXT, MANY_FLOWS, MANY_PROBABILITY = 0.5, 4, 0.03
MANY_OFF = 0.03
# "Approximately fair".
LEAST_JAIN = 0.8
THEORY = (
    "Dashed: the window that fills what the background leaves, (C - background)·RTT; dotted: with "
    "a full buffer (§I: the rule of thumb applied to the residual link capacity)."
)


def figures(study: Study) -> list[Figure]:
    """Returns the figures whose runs exist."""
    one = {(r.setting(ALGORITHM), r.setting(SCHEDULING)): r for r in study.find("ngi-one")}
    made = [under_way(run) for run in study.find("ngi-sharing")[:1]]
    made += [transparent(run) for run in study.find("ngi-transparent")[:1]]
    small = one.get(("reno", "fifo"))
    if small:
        large = study.find("ngi-buffer")[:1]
        made.append(over_buffer([(small, "b20"), *((r, p) for r in large for p in LARGER)]))
        made.append(ngi_packets.around_a_loss(small))
        if more := study.by_number("ngi-flows", COUNT):
            made.append(over_flows([small, *more]))
    four = {str(r.setting(SCHEDULING)): r for r in study.find("ngi-four")}
    mixed = {str(r.setting(SCHEDULING)): r for r in study.find("ngi-mixed")}
    for number, scheduling in ((6, "fifo"), (7, "fair")):
        if small and scheduling in four and scheduling in mixed:
            made.append(ngi_protocols.protocols(number, one, mixed, four))
    return made


def sharing(load: float, flows: int) -> float:
    """P(this many flows) under processor sharing (§III-B)."""
    return (1 - load) * load**flows


def transparent_loss(load: float, buffer_packets: float) -> float:
    """§IV-A: about load^n."""
    return load**buffer_packets


def in_progress(run: RunData, phase: str, step_s: float = 0.01) -> np.ndarray:
    """Number of transfers in progress, by the truth, at regular times in a phase."""
    start, end = run.unix_ns(phase)
    flows = json.loads((run.path / "truth.json").read_text())["flows"]
    at = np.arange(start, end, round(step_s * 1e9))
    began = np.sort([f["start"]["unix_ns"] for f in flows])
    ended = np.sort([f["stop"]["unix_ns"] for f in flows])
    found: np.ndarray = np.searchsorted(began, at, "right") - np.searchsorted(ended, at, "right")
    return found


def under_way(run: RunData) -> Figure:
    """§III-B: number of elastic transfers in progress."""
    phase = run.phases[0]
    load, count = float(run.row(phase)["utilisation"]), in_progress(run, phase)
    length = runs.seconds([run])

    def fill(axes: Any, rows: Rows) -> None:
        axes[0].bar(column(rows, 0), column(rows, 1), color=WATER, label="ours")
        curves(axes[0], rows, (2, "o--", GREY, "(1-r)r^k"))

    figure = Figure(
        "Section III-B",
        "Elastic transfers under way against processor sharing",
        Drawing("ngi-sharing", 1, 2.0, fill, "transfers under way", "share of time"),
        ("flows", "ours", "processor_sharing", "processor_sharing_at_half"),
        note="50 Mb/s, 10 ms, transfers of 1 MB on average; "
        f"{run.row(phase)['true_short']} in {length}.",
        keys=1,
    )
    for k in range(11):
        figure.row(k, float(np.mean(count == k)), sharing(load, k), sharing(LOAD_OF_TEXT, k))
    # The load of so short a time is random, so the formula uses the measured load.
    wanted = load ** (MANY_FLOWS + 1)
    said = f"{wanted:.2g} (r^5 at r = {load:.2f}; {MANY_PROBABILITY} at {LOAD_OF_TEXT})"
    what = f"probability of more than {MANY_FLOWS} transfers"
    more = float(np.mean(count > MANY_FLOWS))
    figure.checks.append(within(what, wanted, more, MANY_OFF, said, why=f"not known; {length}"))
    return figure


def transparent(run: RunData) -> Figure:
    """§IV-A: loss of Poisson packets over the buffer."""

    def fill(axes: Any, rows: Rows) -> None:
        at = column(rows, 0)
        axes[0].plot(at, [max(v, 1e-6) for v in column(rows, 2)], "o", color=DROP, label="ours")
        curves(axes[0], rows, (3, "--", GREY, "r^n"))
        axes[0].set_yscale("log")

    figure = Figure(
        "Section IV-A",
        "Transparent regime: loss of Poisson packets",
        Drawing("ngi-transparent", 1, 2.0, fill, "buffer (packets)", "loss"),
        ("buffer_packets", "load", "loss", "model"),
        note="Packets of one size, of which fewer are lost than of the exponential sizes of the "
        "model.",
        keys=1,
    )
    for phase in run.phases:
        row, packets = run.row(phase), run.limit(phase)
        loss, load = row["loss_rate"], float(row["utilisation"]) / (1 - float(row["loss_rate"]))
        model = transparent_loss(load, packets)
        figure.row(round(packets), load, loss, model)
        what, law = f"{packets:.0f} packets: loss", f"at most {model:.2g} (r^n)"
        figure.check(what, law, loss, 0.0, model, about=f"load {load:.2f}")
    return figure


def over_buffer(found: Sequence[tuple[RunData, str]]) -> Figure:
    """Fig. 3: one Reno flow with background traffic, over the buffer."""
    shares = {phase: residual_share(run, phase) for run, phase in found}
    cases = [(f"{phase[1:]} packets", run, phase) for run, phase in found]
    why = f"not known; {runs.seconds([found[0][0]])} of a seed"
    checks = [
        within(
            "20 packets: share of the residual bandwidth",
            SMALL_SHARE,
            shares["b20"],
            SHARE_OFF,
            "around 40 %",
            why=why,
        )
    ]
    if "b625" in shares:
        full = found[-1][0].row("b625")["utilisation"]
        what = "100 packets: share of the residual bandwidth, over that of 20 packets"
        more = shares["b100"] / shares["b20"]
        checks += [
            Check("625 packets: utilisation", "100 %", full, FULL, 1.01),
            Check(what, "reasonable throughput", more, 1.0, float("inf")),
        ]
    told = ", ".join(f"{k[1:]} packets {v:.2f}" for k, v in shares.items())
    return traced(
        *("Fig. 3", "One Reno flow over the buffer"),
        cases,
        checks,
        f" Shares: {told}. {THEORY}",
        theory=True,
    )


def over_flows(found: Sequence[RunData]) -> Figure:
    """Fig. 5: one, two and four Reno flows with 20 packets of buffer."""
    counts = [int(r.setting(COUNT) or 1) for r in found]
    shares = [residual_share(r, "b20") for r in found]
    cases = [(f"{n} flows", r, "b20") for n, r in zip(counts, found, strict=True)]
    checks = [
        Check(
            f"utilisation of {counts[-1]} flows over that of one",
            "improves",
            found[-1].row("b20")["utilisation"] / found[0].row("b20")["utilisation"],
            1.0,
            2.0,
        ),
        Check(
            f"{counts[-1]} flows: Jain's index of their rates",
            "approximately fair",
            found[-1].row("b20")["jain"],
            LEAST_JAIN,
            1.0,
            why=f"not known; {runs.seconds(found[-1:])} of a seed",
        ),
    ]
    told = ", ".join(f"n = {n} {s:.2f}" for n, s in zip(counts, shares, strict=True))
    return traced(
        *("Fig. 5", "Reno flows over the background, 20 packets"),
        cases,
        checks,
        f" Shares of the residual bandwidth: {told}.",
    )
