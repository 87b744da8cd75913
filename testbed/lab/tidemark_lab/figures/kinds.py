# SPDX-License-Identifier: Apache-2.0
"""The figures of a port, each over the phases of its run, with theory drawn in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import theory
from ..papers.paper import Figure
from ..report.style import DROP, GREY, LIMIT, SECOND, WATER, styled, subplots, to_svg
from . import series
from .data import Packets
from .source import Port

COLOURS = (WATER, SECOND, LIMIT, DROP, GREY)
MOST_SENDERS = 16
ROW_IN = 1.5
MOST_POINTS = 20_000
# Packets drawn one by one.
CLOSE_UP_PACKETS = 2500
CLOSE_UP_MOST_S = 1.0
# Like those of a CSV: one a line.
Rows = list[Sequence[object]]
NO_WINDOWS = "No sender's window is in the capture."


def of_port(port: Port, phases: Sequence[Packets]) -> list[Figure]:
    """All of them; ids of their SVG begin with `port.name`, so that they can share a page."""
    made = [occupancy(port, phases), close_up(port, phases)]
    if any(p.senders for p in phases):
        made += [windows(port, phases), windows_and_queue(port, phases)]
    return [*made, distribution(port, phases), drops(port, phases)]


def _titled(port: Port, name: str, title: str) -> tuple[str, str]:
    return (f"{name} {port.name}".strip(), f"{title} at {port.name}" if port.name else title)


def _rows_of_axes(
    phases: Sequence[Packets], name: str, columns: int, fill: Callable[[Any, Packets], None]
) -> str:
    """A row of axes for each phase."""
    height_in = 0.4 + ROW_IN * len(phases)
    with styled():
        figure, axes = subplots(len(phases), columns, height_in=height_in, squeeze=False)
        for own, p in zip(axes, phases, strict=True):
            fill(own, p)
        for axis in axes[-1]:
            axis.set_xlabel(axis.get_xlabel() or "time since the phase began (s)")
        return to_svg(figure, name)


def _least(port: Port, p: Packets) -> float | None:
    """The queue that theory has as the least; None where it knows none."""
    bdp = series.bdp(p, port.capacity_bps)
    if p.span.n_b is None or bdp is None or p.buffer is None:
        return None
    return theory.least_queue(p.span.n_b, bdp, p.buffer, p.span.congestion_control)


def occupancy(port: Port, phases: Sequence[Packets]) -> Figure:
    """The queue over time, with drops."""
    rows: Rows = []

    def fill(axes: Any, p: Packets) -> None:
        axis, seen = axes[0], series.occupancy(p)
        axis.fill_between(seen.time_s, seen.low, seen.high, color=WATER, alpha=0.3, linewidth=0)
        axis.plot(seen.time_s, seen.median, color=WATER, linewidth=0.8)
        if p.buffer is not None:
            axis.axhline(p.buffer, color=LIMIT, linestyle=":", linewidth=0.8)
        if (least := _least(port, p)) is not None:
            axis.axhline(least, color=GREY, linestyle="--", linewidth=0.8)
        lost = seen.time_s[seen.drops > 0]
        over = axis.get_xaxis_transform()
        axis.plot(lost, np.full(lost.shape, 0.97), "|", color=DROP, markersize=4, transform=over)
        axis.set_title(p.span.name, loc="left")
        axis.set_ylabel("queue (packets)")
        axis.set_ylim(bottom=0)
        if port.capacity_bps is not None:
            one_ms = 8e3 * p.packet_wire_bytes / port.capacity_bps
            both = (lambda packets: packets * one_ms, lambda ms: ms / one_ms)
            axis.secondary_yaxis("right", functions=both).set_ylabel("ms at capacity")
        rows.extend(
            (p.span.name, round(float(t), 5), *(round(float(v), 2) for v in q), int(d), p.buffer)
            for t, *q, d in zip(
                seen.time_s, seen.low, seen.median, seen.high, seen.drops, strict=True
            )
        )

    name, title = _titled(port, "occupancy", "Queue over time")
    return Figure(
        name,
        title,
        _rows_of_axes(phases, name.replace(" ", "-"), 1, fill),
        ("phase", "s", "low_packets", "median_packets", "high_packets", "drops", "limit_packets"),
        rows,
        note="What arriving packets met: median, shaded from smallest to largest. Red ticks: "
        "drops. Dotted: the limit. Dashed: what the queue seldom falls below, B - BDP/√n of "
        "several flows (UTB Theorem 4, for n → ∞ and independent windows), β·(BDP + B) - BDP of "
        "one, B - BDP/4 of BBR (UTB §3.5); at 0 theory has an empty queue.",
    )


def close_up(port: Port, phases: Sequence[Packets]) -> Figure:
    """Every packet of a short piece in the middle of each phase."""
    rows: Rows = []
    name, title = _titled(port, "close-up", "Packet by packet in the middle of each phase")
    with styled():
        figure, axes = subplots(1, len(phases), height_in=2.1, sharey=True, squeeze=False)
        for axis, p in zip(axes[0], phases, strict=True):
            first = p.time_s.size // 2
            last = int(np.searchsorted(p.time_s, p.time_s[first] + CLOSE_UP_MOST_S))
            piece = slice(first, min(first + CLOSE_UP_PACKETS, last))
            time_s, lost = p.time_s[piece], p.dropped[piece]
            queue = p.queue_bytes[piece] / p.packet_bytes
            axis.plot(time_s[~lost], queue[~lost], ".", color=WATER, markersize=1.2)
            axis.plot(time_s[lost], queue[lost], "x", color=DROP, markersize=4)
            if p.buffer is not None:
                axis.axhline(p.buffer, color=LIMIT, linestyle=":", linewidth=0.8)
            axis.set_title(p.span.name, loc="left")
            axis.set_xlabel("time since the phase began (s)")
            axis.set_ylim(bottom=0)
            rows.extend(
                (p.span.name, round(float(t), 6), round(float(q), 2), bool(gone))
                for t, q, gone in zip(time_s, queue, lost, strict=True)
            )
        axes[0][0].set_ylabel("queue (packets)")
    return Figure(
        name,
        title,
        to_svg(figure, name.replace(" ", "-")),
        ("phase", "s", "queue_packets", "dropped"),
        rows,
        note="What each packet met on arrival; a cross: it was refused. Dotted: the limit.",
    )


def windows(port: Port, phases: Sequence[Packets]) -> Figure:
    """Congestion windows over time."""
    rows: Rows = []
    left_out = 0

    def fill(axes: Any, p: Packets) -> None:
        nonlocal left_out
        axis, at = axes[0], series.instants(p)
        left_out = max(left_out, len(p.senders) - MOST_SENDERS)
        longest = sorted(p.senders, key=lambda s: series.samples_in(s, p.span), reverse=True)
        for number, sender in enumerate(longest[:MOST_SENDERS]):
            cwnd = series.window(sender, at)
            colour = COLOURS[number % len(COLOURS)]
            axis.plot(at, cwnd, color=colour, linewidth=0.6, alpha=0.85)
            rows.extend(
                (p.span.name, round(float(t), 5), sender.flow, int(w))
                for t, w in zip(at, cwnd, strict=True)
                if np.isfinite(w)
            )
        bdp = series.bdp(p, port.capacity_bps)
        if p.span.n_b and bdp is not None:
            axis.axhline(bdp / p.span.n_b, color=GREY, linestyle="--", linewidth=0.8)
            if p.buffer is not None:
                axis.axhline(
                    (bdp + p.buffer) / p.span.n_b, color=LIMIT, linestyle=":", linewidth=0.8
                )
        axis.set_title(p.span.name, loc="left")
        axis.set_ylabel("cwnd (packets)")
        axis.set_ylim(bottom=0)

    name, title = _titled(port, "windows", "Congestion windows")
    svg = _rows_of_axes(phases, name.replace(" ", "-"), 1, fill)
    more = (
        f" Of more flows these have the most samples; {left_out} are left out."
        if left_out > 0
        else ""
    )
    return Figure(
        name,
        title,
        svg,
        ("phase", "s", "flow", "cwnd_packets"),
        rows,
        note="A line for each flow. Dashed: BDP/n, a fair window with an empty queue; dotted: "
        f"(BDP + B)/n, with a full one.{more}",
    )


def windows_and_queue(port: Port, phases: Sequence[Packets]) -> Figure:
    """W(t) against Q(t) + BDP."""
    rows: Rows = []

    def fill(axes: Any, p: Packets) -> None:
        at = series.instants(p)
        total, queue = series.windows_sum(p, at), series.queue_at(p, at)
        pipe = series.busy_pipe(p, port.capacity_bps)
        over, against = axes
        over.plot(at, total, color=SECOND, linewidth=0.7, label="W(t)")
        over.set_title(p.span.name, loc="left")
        over.set_ylabel("packets")
        against.set_ylabel("W(t) (packets)")
        against.set_xlabel("Q(t) + BDP (packets)")
        if pipe is not None:
            over.plot(at, queue + pipe, color=WATER, linewidth=0.7, label="Q(t) + BDP")
            over.axhline(pipe, color=GREY, linestyle="--", linewidth=0.8)
            against.plot(queue + pipe, total, ".", color=WATER, markersize=1.5)
            against.axline((pipe, pipe), slope=1, color=GREY, linestyle="--", linewidth=0.8)
            if p.buffer is not None:
                over.axhline(pipe + p.buffer, color=LIMIT, linestyle=":", linewidth=0.8)
                against.axvline(pipe + p.buffer, color=LIMIT, linestyle=":", linewidth=0.8)
        over.legend()
        rows.extend(
            (
                p.span.name,
                round(float(t), 5),
                round(float(w), 1),
                None if pipe is None or not np.isfinite(q) else round(float(q + pipe), 1),
            )
            for t, w, q in zip(at, total, queue, strict=True)
        )

    name, title = _titled(port, "sum of windows", "W(t) against Q(t) + BDP")
    return Figure(
        name,
        title,
        _rows_of_axes(phases, name.replace(" ", "-"), 2, fill),
        ("phase", "s", "w_packets", "q_plus_bdp_packets"),
        rows,
        note="While the link is busy W(t) = Q(t) + BDP (UTB §3): the dashed diagonal; below it "
        "are instants at which the link idles or packets are lost. BDP (dashed) weighs the "
        "flows' round trips by their bytes; dotted: BDP + B. Q has the packets of flows whose "
        "windows are not known, W has not.",
    )


def distribution(port: Port, phases: Sequence[Packets]) -> Figure:
    """The queue's distribution, over the arrivals of each phase."""
    rows: Rows = []

    def fill(axes: Any) -> None:
        for number, p in enumerate(phases):
            colour = COLOURS[number % len(COLOURS)]
            at, share = series.histogram(p)
            axes[0].plot(at, share, color=colour, linewidth=0.8, label=p.span.name)
            axes[1].plot(at, np.cumsum(share), color=colour, linewidth=0.8)
            delay = p.delay_ms[~np.isnan(p.delay_ms)]
            if delay.size:
                most = np.linspace(0, 1, 501)
                axes[2].plot(np.quantile(delay, most), most, color=colour, linewidth=0.8)
            for axis in axes[:2]:
                if p.buffer is not None:
                    axis.axvline(p.buffer, color=colour, linestyle=":", linewidth=0.8)
                if (least := _least(port, p)) is not None:
                    axis.axvline(least, color=colour, linestyle="--", linewidth=0.8)
            rows.extend(
                (p.span.name, int(a), float(s), float(c))
                for a, s, c in zip(at, share, np.cumsum(share), strict=True)
                if s > 0
            )
        axes[0].set_ylabel("share of packets")
        axes[1].set_ylabel("share that met at most so much")
        for axis in axes:
            axis.set_xlabel("queue (packets)")
            axis.set_ylim(bottom=0)
        axes[2].set_xlabel("queueing delay (ms)")
        axes[0].legend()

    with styled():
        figure, axes = subplots(1, 3, height_in=2.4)
        fill(axes)
    name, title = _titled(port, "distribution", "Distribution of the queue")
    return Figure(
        name,
        title,
        to_svg(figure, name.replace(" ", "-")),
        ("phase", "queue_packets", "share", "share_at_most"),
        rows,
        note="What arriving packets met, and how long those that left had waited. Dotted: the "
        "limit; dashed: what the queue seldom falls below (2 % of the time; as in the figure "
        "over time).",
    )


def drops(port: Port, phases: Sequence[Packets]) -> Figure:
    """Who loses when, and how many flows in one round trip."""
    rows: Rows = []
    guessed = False

    def fill(axes: Any, p: Packets) -> None:
        nonlocal guessed
        by_flow, together = axes
        time_s, flow = p.time_s[p.dropped], p.flow[p.dropped]
        known, number = np.unique(flow, return_inverse=True)
        step = max(1, len(time_s) // MOST_POINTS)
        by_flow.plot(time_s[::step], number[::step] + 1, "|", color=DROP, markersize=3)
        by_flow.set_xlim(0, p.span.seconds)
        by_flow.set_ylim(0.5, max(len(known), 1) + 0.5)
        by_flow.set_title(p.span.name, loc="left")
        by_flow.set_ylabel("flow")
        rtt_s = series.mean_rtt_s(p.senders)
        guessed |= rtt_s is None
        at, count = series.losers(p, rtt_s or series.UNKNOWN_RTT_S)
        together.plot(at, count, ".", color=WATER, markersize=3)
        together.set_xlim(0, p.span.seconds)
        together.set_ylim(bottom=0)
        together.set_ylabel("flows that lose")
        bdp = series.bdp(p, port.capacity_bps)
        if p.span.n_b and bdp:
            most = theory.most_with_loss(p.span.n_b, bdp)
            together.axhline(most, color=GREY, linestyle="--", linewidth=0.8)
        rows.extend(
            (p.span.name, round(float(t), 6), int(f)) for t, f in zip(time_s, flow, strict=True)
        )

    name, title = _titled(port, "drops", "Drops")
    svg = _rows_of_axes(phases, name.replace(" ", "-"), 2, fill)
    part = (
        f"{1e3 * series.UNKNOWN_RTT_S:g} ms, as no sender tells its round trip"
        if guessed
        else "the mean base round trip"
    )
    return Figure(
        name,
        title,
        svg,
        ("phase", "s", "flow"),
        rows,
        note=f"Left: the drops of each flow. Right: flows with a drop in {part}; dashed: "
        "√n + n²/(2·BDP) (UTB Theorem 5).",
    )
