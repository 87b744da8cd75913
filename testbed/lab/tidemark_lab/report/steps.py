# SPDX-License-Identifier: Apache-2.0
"""The figure of a run whose N_b changes in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from .style import DROP, GREY, LIMIT, RC, SECOND, WATER, subplots, to_document

if TYPE_CHECKING:
    from ..steps.record import Record


def draw(record: Record) -> str:
    """Plots limit, delay, loss and N_b over time; returns an SVG document."""
    with plt.rc_context(RC):
        figure, (limit, delay, loss, n_b) = subplots(4, height_in=6.2, sharex=True)
        _limit(limit, record)
        _delay(delay, record)
        _loss(loss, record)
        _n_b(n_b, record)
        for axes in (limit, delay, loss, n_b):
            for k in range(1, len(record.asked.flows)):
                axes.axvline(k * record.asked.seconds, color=GREY, linewidth=0.8)
            axes.set_ylim(bottom=0)
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        total_s = record.asked.seconds * len(record.asked.flows)
        n_b.set_xlim(0, total_s)
        n_b.set_xlabel("time since the first step (s)")
        return to_document(figure)


def _limit(axes: Axes, record: Record) -> None:
    axes.step(
        record.time_s, record.limit_bytes / 1e3, where="post", color=LIMIT, label="limit in force"
    )
    advice = np.array([s["advice_bytes"] or np.nan for s in record.samples]) / 1e3
    axes.plot(record.sample_s, advice, color=SECOND, linewidth=0.8, label="advice")
    axes.set_ylabel("kB")


def _delay(axes: Axes, record: Record) -> None:
    axes.plot(
        record.time_s,
        record.columns["delay_max_ms"],
        color=WATER,
        linewidth=0.8,
        label=f"largest in {record.step_s:g} s",
    )
    axes.axhline(record.asked.delay_ms, color=DROP, linestyle="--", linewidth=0.8, label="bound")
    axes.set_ylabel("delay (ms)")


def _loss(axes: Axes, record: Record) -> None:
    seconds, at = np.unique(np.floor(record.time_s), return_inverse=True)
    drops, arrivals = (np.bincount(at, record.columns[c]) for c in ("drops", "arrivals"))
    rates = 100 * drops / np.maximum(arrivals, 1)
    axes.step(seconds, rates, where="post", color=WATER, linewidth=0.8, label="in 1 s")
    axes.axhline(
        100 * record.asked.loss_rate, color=DROP, linestyle="--", linewidth=0.8, label="bound"
    )
    for k, step in enumerate(record.steps()):
        axes.hlines(
            100 * step.loss_rate,
            step.start_s + (step.end_s - step.start_s) / 4,
            step.end_s,
            color=SECOND,
            label="mean once settled" if k == 0 else None,
        )
    axes.set_ylabel("loss (%)")


def _n_b(axes: Axes, record: Record) -> None:
    values = [np.nan if s["n_b"] is None else s["n_b"] for s in record.samples]
    axes.plot(record.sample_s, values, color=WATER, label="estimate")
    edges = np.arange(len(record.asked.flows) + 1) * record.asked.seconds
    counts = [*record.asked.flows, record.asked.flows[-1]]
    axes.step(edges, counts, where="post", color=LIMIT, linestyle=(0, (5, 2)), label="truth")
    axes.set_ylabel(r"$N_b$")
