# SPDX-License-Identifier: Apache-2.0
"""NGI Figs. 6, 7: HSTCP, and fair queueing with drop from the longest queue."""

from __future__ import annotations

import json

import numpy as np

from .. import summary
from . import ngi_runs, runs
from .paper import Check, Figure
from .runs import RunData

One = dict[tuple[str, str], RunData]
# §V-B: fair queueing "barely alleviates" what one flow loses with 20 packets: within this factor.
BARELY = 1.5
# With it "the HSTCP flow gains slightly more throughput".
SLIGHTLY = 1.5
# "Non-bottlenecked flows remain loss free".
LOSS_FREE = 1e-4
# "Unable to compete fairly": HSTCP gets at least this multiple of Reno's rate.
UNFAIR = 2.0


def rate_ratio(run: RunData, phase: str) -> float | None:
    """HSTCP's rate over Reno's; None if one of them sent nothing."""
    rates = _named(run, phase)
    if {"highspeed", "reno"} - set(rates) or not rates["reno"]:
        return None
    return rates["highspeed"] / rates["reno"]


def _named(run: RunData, phase: str) -> dict[str, float]:
    """Rate of each TCP flow, by the flow's group."""
    truth = json.loads((run.path / "truth.json").read_text())["flows"]
    pairs = summary.matched(run.link(phase)["flows"], [f for f in truth if f["protocol"] == 6])
    return {f["name"].rpartition("-")[0]: seen["rate_bps"] for f, seen in pairs if seen}


def _in_turn(run: RunData, phase: str) -> str:
    """Describes the rates of the flows through a queue with fair queueing."""
    rates = " and ".join(f"{v / 1e6:.1f}" for v in _named(run, phase).values())
    return f"flows that always have packets in the queue are served in turn: {rates} Mb/s"


def background_loss(run: RunData, phase: str) -> float | None:
    """Loss rate of the datagrams."""
    own = [f for f in run.link(phase)["flows"] if f["key"]["protocol"] == 17]
    came = sum(f["packets"] + f["drops"] for f in own)
    return sum(f["drops"] for f in own) / came if came else None


def window_spread(run: RunData, phase: str) -> float:
    """Spread of the windows: standard deviation over mean, averaged over time."""
    p = run.packets(phase)
    known = np.isfinite(p.window)
    p = p.where(known)
    seconds = p.time_s.astype(int)
    spreads = []
    for second in np.unique(seconds):
        here = p.where(seconds == second)
        means = [here.window[here.flow == f].mean() for f in np.unique(here.flow)]
        if len(means) > 1:
            spreads.append(float(np.std(means) / np.mean(means)))
    return float(np.mean(spreads)) if spreads else 0.0


def protocols(number: int, one: One, mixed: dict[str, RunData], four: dict[str, RunData]) -> Figure:
    """Fig. 6: HSTCP with FIFO; Fig. 7: fair queueing."""
    fair = number == 7
    scheduling = "fair" if fair else "fifo"
    left = one[("reno", "fair")] if fair else one[("highspeed", "fifo")]
    cases = [
        ("1 Reno, 20 packets" if fair else "1 HSTCP, 20 packets", left, "b20"),
        ("HSTCP and Reno, 625", mixed[scheduling], "b625"),
        ("4 HSTCP, 625", four[scheduling], "b625"),
    ]
    checks = _fair(one, mixed, four) if fair else _fifo(one, mixed)
    title = "fair queueing, drop from the longest" if fair else "first come, first served"
    about = f"HSTCP and Reno over the background, {title}"
    return ngi_runs.traced(f"Fig. {number}", about, cases, checks)


def _drops(run: RunData) -> int:
    return sum(f["drops"] for f in run.link("b20")["flows"] if f["key"]["protocol"] == 6)


def _fifo(one: One, mixed: dict[str, RunData]) -> list[Check]:
    inf = float("inf")
    shares = {n: ngi_runs.residual_share(one[(n, "fifo")], "b20") for n in ("highspeed", "reno")}
    return [
        Check(
            "20 packets: share of the residual bandwidth, HSTCP over Reno",
            "more efficiently",
            shares["highspeed"] / shares["reno"],
            1.0,
            inf,
            why=f"not known; HSTCP loses {_drops(one[('highspeed', 'fifo')])} packets, Reno "
            f"{_drops(one[('reno', 'fifo')])}",
        ),
        Check(
            "625 packets: rate of HSTCP over that of Reno",
            "Reno is unable to compete fairly",
            rate_ratio(mixed["fifo"], "b625"),
            UNFAIR,
            inf,
            why=f"not known; {runs.seconds([mixed['fifo']])} from a common start",
        ),
    ]


def _fair(one: One, mixed: dict[str, RunData], four: dict[str, RunData]) -> list[Check]:
    shares = {s: ngi_runs.residual_share(one[("reno", s)], "b20") for s in ("fair", "fifo")}
    spread = {s: window_spread(four[s], "b625") for s in four}
    lost = [
        background_loss(run, phase)
        for run, phase in (
            (one[("reno", "fair")], "b20"),
            (mixed["fair"], "b625"),
            (four["fair"], "b625"),
        )
    ]
    checks = [
        Check(
            "20 packets, one Reno flow: share of the residual bandwidth, fair over FIFO",
            "barely alleviates the loss",
            shares["fair"] / shares["fifo"],
            1 / BARELY,
            BARELY,
            why="not known",
        ),
        Check(
            "loss of the background, largest of the three",
            "loss free",
            None if None in lost else max(v for v in lost if v is not None),
            0.0,
            LOSS_FREE,
        ),
        Check(
            "625 packets: rate of HSTCP over that of Reno",
            "slightly more",
            rate_ratio(mixed["fair"], "b625"),
            1.0,
            SLIGHTLY,
            why=_in_turn(mixed["fair"], "b625"),
        ),
    ]
    if "fifo" in spread:
        checks.append(
            Check(
                "4 HSTCP: spread of the windows, fair over FIFO",
                "counters the chaotic behaviour",
                spread["fair"] / spread["fifo"] if spread["fifo"] else None,
                0.0,
                0.9,
            )
        )
    return checks
