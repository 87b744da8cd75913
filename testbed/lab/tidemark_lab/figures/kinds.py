# SPDX-License-Identifier: Apache-2.0
"""The figures of a port, each over the phases of a run, with theory curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import theory
from ..papers.draw import Rows
from ..papers.paper import Figure
from ..report.style import DROP, GREY, LIMIT, SECOND, WATER, styled, subplots, to_svg
from . import series
from .data import Packets
from .source import Port

COLOURS = (WATER, SECOND, LIMIT, DROP, GREY)
MOST_SENDERS = 16
ROW_IN = 1.5
MOST_POINTS = 20_000
# Number of packets drawn one by one.
CLOSE_UP_PACKETS = 2500
CLOSE_UP_MOST_S = 1.0
NO_WINDOWS = "No sender's window is in the capture."


def of_port(port: Port, phases: Sequence[Packets]) -> list[Figure]:
    """Returns all figures; their SVG ids begin with `port.name`, so that they can share a page."""
    made = [occupancy(port, phases), close_up(port, phases)]
    if any(p.senders for p in phases):
        made += [windows(port, phases), windows_and_queue(port, phases)]
    return [*made, distribution(port, phases), drops(port, phases)]


def _figure(
    port: Port, kind: str, title: str, columns: tuple[str, ...], note: str, figure_and_rows: Any
) -> Figure:
    """Makes a figure; `figure_and_rows`: matplotlib's figure, and its data."""
    name = f"{kind} {port.name}".strip()
    title = f"{title} at {port.name}" if port.name else title
    drawn, rows = figure_and_rows
    return Figure(name, title, to_svg(drawn, name.replace(" ", "-")), columns, rows, note=note)


def _over_phases(
    phases: Sequence[Packets], columns: int, fill: Callable[[Any, Packets], Rows]
) -> tuple[Any, Rows]:
    """A row of axes for each phase; `fill` draws it and returns its data."""
    with styled():
        height_in = 0.4 + ROW_IN * len(phases)
        figure, axes = subplots(len(phases), columns, height_in=height_in, squeeze=False)
        rows = [row for own, p in zip(axes, phases, strict=True) for row in fill(own, p)]
        for own, p in zip(axes, phases, strict=True):
            own[0].set_title(p.span.name, loc="left")
        for axis in axes[-1]:
            axis.set_xlabel(axis.get_xlabel() or "time since the phase began (s)")
        return figure, rows


def _level(
    axis: Any, value: float | None, colour: str, style: str = "--", upright: bool = False
) -> None:
    """Draws a horizontal line, if the value is known."""
    if value is not None:
        line = axis.axvline if upright else axis.axhline
        line(value, color=colour, linestyle=style, linewidth=0.8)


def _least(port: Port, p: Packets) -> float | None:
    """The smallest queue by theory; None if it gives none."""
    bdp = series.bdp(p, port.capacity_bps)
    if p.span.n_b is None or bdp is None or p.buffer is None:
        return None
    return theory.least_queue(p.span.n_b, bdp, p.buffer, p.span.congestion_control)


def occupancy(port: Port, phases: Sequence[Packets]) -> Figure:
    """Queue occupancy over time, with drops."""

    def fill(axes: Any, p: Packets) -> Rows:
        axis, seen = axes[0], series.occupancy(p)
        axis.fill_between(seen.time_s, seen.low, seen.high, color=WATER, alpha=0.3, linewidth=0)
        axis.plot(seen.time_s, seen.median, color=WATER, linewidth=0.8)
        _level(axis, p.buffer, LIMIT, ":")
        _level(axis, _least(port, p), GREY)
        lost = seen.time_s[seen.drops > 0]
        over = axis.get_xaxis_transform()
        axis.plot(lost, np.full(lost.shape, 0.97), "|", color=DROP, markersize=4, transform=over)
        axis.set_ylabel("queue (packets)")
        axis.set_ylim(bottom=0)
        if port.capacity_bps is not None:
            one_ms = 8e3 * p.packet_wire_bytes / port.capacity_bps
            both = (lambda packets: packets * one_ms, lambda ms: ms / one_ms)
            axis.secondary_yaxis("right", functions=both).set_ylabel("ms at capacity")
        columns = (seen.time_s, seen.low, seen.median, seen.high, seen.drops)
        return [
            (p.span.name, round(float(t), 5), *(round(float(v), 2) for v in q), int(d), p.buffer)
            for t, *q, d in zip(*columns, strict=True)
        ]

    return _figure(
        port,
        *("occupancy", "Queue over time"),
        ("phase", "s", "low_packets", "median_packets", "high_packets", "drops", "limit_packets"),
        "What arriving packets met: median, shaded from smallest to largest. Red ticks: "
        "drops. Dotted: the limit. Dashed: what the queue seldom falls below, B - BDP/√n of "
        "several flows (UTB Theorem 4, for n → ∞ and independent windows), β·(BDP + B) - BDP of "
        "one, B - BDP/4 of BBR (UTB §3.5); at 0 theory has an empty queue.",
        _over_phases(phases, 1, fill),
    )


def close_up(port: Port, phases: Sequence[Packets]) -> Figure:
    """Every packet in a short interval in the middle of each phase."""
    rows: Rows = []
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
            _level(axis, p.buffer, LIMIT, ":")
            axis.set_title(p.span.name, loc="left")
            axis.set_xlabel("time since the phase began (s)")
            axis.set_ylim(bottom=0)
            rows.extend(
                (p.span.name, round(float(t), 6), round(float(q), 2), bool(gone))
                for t, q, gone in zip(time_s, queue, lost, strict=True)
            )
        axes[0][0].set_ylabel("queue (packets)")
    return _figure(
        port,
        *("close-up", "Packet by packet in the middle of each phase"),
        ("phase", "s", "queue_packets", "dropped"),
        "What each packet met on arrival; a cross: it was refused. Dotted: the limit.",
        (figure, rows),
    )


def windows(port: Port, phases: Sequence[Packets]) -> Figure:
    """Congestion windows over time."""

    def fill(axes: Any, p: Packets) -> Rows:
        axis, at = axes[0], series.instants(p)
        rows: Rows = []
        longest = sorted(p.senders, key=lambda s: series.samples_in(s, p.span), reverse=True)
        for number, sender in enumerate(longest[:MOST_SENDERS]):
            cwnd = series.window(sender, at)
            colour = COLOURS[number % len(COLOURS)]
            axis.plot(at, cwnd, color=colour, linewidth=0.6, alpha=0.85)
            rows += [
                (p.span.name, round(float(t), 5), sender.flow, int(w))
                for t, w in zip(at, cwnd, strict=True)
                if np.isfinite(w)
            ]
        bdp = series.bdp(p, port.capacity_bps)
        if p.span.n_b and bdp is not None:
            _level(axis, bdp / p.span.n_b, GREY)
            if p.buffer is not None:
                _level(axis, (bdp + p.buffer) / p.span.n_b, LIMIT, ":")
        axis.set_ylabel("cwnd (packets)")
        axis.set_ylim(bottom=0)
        return rows

    left_out = max(len(p.senders) for p in phases) - MOST_SENDERS
    more = f" Of more flows these have the most samples; {left_out} are left out."
    return _figure(
        port,
        *("windows", "Congestion windows"),
        ("phase", "s", "flow", "cwnd_packets"),
        "A line for each flow. Dashed: BDP/n, a fair window with an empty queue; dotted: "
        f"(BDP + B)/n, with a full one.{more if left_out > 0 else ''}",
        _over_phases(phases, 1, fill),
    )


def windows_and_queue(port: Port, phases: Sequence[Packets]) -> Figure:
    """W(t) against Q(t) + BDP."""

    def fill(axes: Any, p: Packets) -> Rows:
        at = series.instants(p)
        total, queue = series.windows_sum(p, at), series.queue_at(p, at)
        pipe = series.busy_pipe(p, port.capacity_bps)
        over, against = axes
        over.plot(at, total, color=SECOND, linewidth=0.7, label="W(t)")
        over.set_ylabel("packets")
        against.set_ylabel("W(t) (packets)")
        against.set_xlabel("Q(t) + BDP (packets)")
        if pipe is not None:
            over.plot(at, queue + pipe, color=WATER, linewidth=0.7, label="Q(t) + BDP")
            _level(over, pipe, GREY)
            against.plot(queue + pipe, total, ".", color=WATER, markersize=1.5)
            against.axline((pipe, pipe), slope=1, color=GREY, linestyle="--", linewidth=0.8)
            if p.buffer is not None:
                _level(over, pipe + p.buffer, LIMIT, ":")
                _level(against, pipe + p.buffer, LIMIT, ":", upright=True)
        over.legend()
        return [
            (
                p.span.name,
                round(float(t), 5),
                round(float(w), 1),
                None if pipe is None or not np.isfinite(q) else round(float(q + pipe), 1),
            )
            for t, w, q in zip(at, total, queue, strict=True)
        ]

    return _figure(
        port,
        *("sum of windows", "W(t) against Q(t) + BDP"),
        ("phase", "s", "w_packets", "q_plus_bdp_packets"),
        "While the link is busy W(t) = Q(t) + BDP (UTB §3): the dashed diagonal; below it "
        "are instants at which the link idles or packets are lost. BDP (dashed) weighs the "
        "flows' round trips by their bytes; dotted: BDP + B. Q has the packets of flows whose "
        "windows are not known, W has not.",
        _over_phases(phases, 2, fill),
    )


def distribution(port: Port, phases: Sequence[Packets]) -> Figure:
    """Distribution of the queue occupancy over the arrivals of each phase."""
    rows: Rows = []
    with styled():
        figure, axes = subplots(1, 3, height_in=2.4)
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
                _level(axis, p.buffer, colour, ":", upright=True)
                _level(axis, _least(port, p), colour, upright=True)
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
    return _figure(
        port,
        *("distribution", "Distribution of the queue"),
        ("phase", "queue_packets", "share", "share_at_most"),
        "What arriving packets met, and how long those that left had waited. Dotted: the "
        "limit; dashed: what the queue seldom falls below (2 % of the time; as in the figure "
        "over time).",
        (figure, rows),
    )


def drops(port: Port, phases: Sequence[Packets]) -> Figure:
    """Drops per flow over time, and the number of flows that lose in a round trip."""

    def fill(axes: Any, p: Packets) -> Rows:
        by_flow, together = axes
        time_s, flow = p.time_s[p.dropped], p.flow[p.dropped]
        known, number = np.unique(flow, return_inverse=True)
        step = max(1, len(time_s) // MOST_POINTS)
        by_flow.plot(time_s[::step], number[::step] + 1, "|", color=DROP, markersize=3)
        by_flow.set(xlim=(0, p.span.seconds), ylim=(0.5, max(len(known), 1) + 0.5), ylabel="flow")
        at, count = series.losers(p, series.mean_rtt_s(p.senders) or series.UNKNOWN_RTT_S)
        together.plot(at, count, ".", color=WATER, markersize=3)
        together.set_xlim(0, p.span.seconds)
        together.set_ylim(bottom=0)
        together.set_ylabel("flows that lose")
        bdp = series.bdp(p, port.capacity_bps)
        if p.span.n_b and bdp:
            _level(together, theory.most_with_loss(p.span.n_b, bdp), GREY)
        return [
            (p.span.name, round(float(t), 6), int(f)) for t, f in zip(time_s, flow, strict=True)
        ]

    part = "the mean base round trip"
    if any(series.mean_rtt_s(p.senders) is None for p in phases):
        part = f"{1e3 * series.UNKNOWN_RTT_S:g} ms, as no sender tells its round trip"
    return _figure(
        port,
        *("drops", "Drops"),
        ("phase", "s", "flow"),
        f"Left: the drops of each flow. Right: flows with a drop in {part}; dashed: "
        "√n + n²/(2·BDP) (UTB Theorem 5).",
        _over_phases(phases, 2, fill),
    )
