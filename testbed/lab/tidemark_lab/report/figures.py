# SPDX-License-Identifier: Apache-2.0
"""The figures of a run."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from .data import FlowWindow, Phase, Run
from .style import DROP, GREY, LIMIT, RC, SECOND, WATER, subplots, to_svg

# Columns of an envelope: more cannot be told apart at the figure's width.
COLUMNS = 900
# Packets drawn one by one in a close-up.
CLOSE_UP_PACKETS = 2500
CLOSE_UP_MOST_S = 1.0


def envelope(
    time_s: np.ndarray, values: np.ndarray, start_s: float, end_s: float
) -> tuple[np.ndarray, ...]:
    """Smallest, median and largest value in each of `COLUMNS` equal spans:
    `(centres, low, middle, high)`, without empty spans."""
    edges = np.linspace(start_s, end_s, COLUMNS + 1)
    cut = np.searchsorted(time_s, edges)
    rows = [
        ((edges[i] + edges[i + 1]) / 2, part.min(), np.median(part), part.max())
        for i in range(COLUMNS)
        if (part := values[cut[i] : cut[i + 1]]).size
    ]
    if not rows:
        return tuple(np.empty(0) for _ in range(4))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def _limit_steps(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The limit where it changes, to be drawn as steps."""
    limit = run.limit_bytes
    known = ~np.isnan(limit)
    time_s, limit = run.time_s[known], limit[known]
    if not limit.size:
        return time_s, limit
    changes = np.flatnonzero(np.diff(limit) != 0) + 1
    keep = np.concatenate(([0], changes, [limit.size - 1]))
    return time_s[keep], limit[keep]


def _mark_phases(axes: Axes, phases: list[Phase]) -> None:
    for phase in phases:
        axes.axvspan(phase.start_s, phase.end_s, color=GREY, alpha=0.08, linewidth=0)


def _name_phases(axes: Axes, phases: list[Phase]) -> None:
    for phase in phases:
        axes.annotate(
            f"phase {phase.name}",
            ((phase.start_s + phase.end_s) / 2, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            color=GREY,
        )


def _milliseconds_axis(axes: Axes, capacity_bps: float | None) -> None:
    """Right axis: the same sizes as the delay of a queue drained at capacity."""
    if not capacity_bps:
        return
    per_kb = 8e6 / capacity_bps
    second = axes.secondary_yaxis("right", functions=(lambda k: k * per_kb, lambda m: m / per_kb))
    second.set_ylabel("ms at capacity")


def occupancy(run: Run) -> str:
    """Occupancy over the whole run with drops and limit."""
    with plt.rc_context(RC):
        figure, axes = subplots(height_in=2.5)
        start, end = float(run.time_s[0]), float(run.time_s[-1])
        _mark_phases(axes, run.phases)
        _name_phases(axes, run.phases)
        centre, low, middle, high = envelope(run.time_s, run.occupancy_bytes / 1e3, start, end)
        axes.fill_between(
            centre, low, high, color=WATER, alpha=0.28, linewidth=0, label="smallest to largest"
        )
        axes.plot(centre, middle, color=WATER, linewidth=0.8, label="median")
        at, limit = _limit_steps(run)
        axes.step(at, limit / 1e3, where="post", color=LIMIT, linestyle=(0, (5, 2)), label="limit")
        _drop_ticks(axes, run.time_s[run.dropped], start, end)
        axes.set_xlim(start, end)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time since the first report (s)")
        axes.set_ylabel("occupancy (kB)")
        _milliseconds_axis(axes, run.capacity_bps)
        _legend_below(axes, 4)
        return to_svg(figure, "occupancy")


def _drop_ticks(axes: Axes, drop_s: np.ndarray, start: float, end: float) -> None:
    """A rug above the plot, one tick per column that holds a drop."""
    if not drop_s.size:
        return
    width = (end - start) / COLUMNS
    columns = np.unique(np.floor((drop_s - start) / width))
    axes.plot(
        start + (columns + 0.5) * width,
        np.full(columns.shape, 0.975),
        transform=axes.get_xaxis_transform(),
        linestyle="none",
        marker="|",
        markersize=5,
        markeredgewidth=0.7,
        color=DROP,
        label="drops",
    )


def _legend_below(axes: Axes, columns: int) -> None:
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=columns, handlelength=1.8)


def close_up(run: Run) -> str:
    """Every packet of a short piece in the middle of each phase."""
    with plt.rc_context(RC):
        figure, all_axes = subplots(1, len(run.phases), height_in=2.1, sharey=True, squeeze=False)
        for axes, phase in zip(all_axes[0], run.phases, strict=True):
            there = np.flatnonzero(run.of(phase))
            axes.set_title(f"phase {phase.name}", color=GREY)
            axes.set_xlabel("time since the first report (s)")
            if not there.size:
                continue
            first = there[there.size // 2]
            last = np.searchsorted(run.time_s, run.time_s[first] + CLOSE_UP_MOST_S)
            piece = slice(first, min(first + CLOSE_UP_PACKETS, last))
            time_s, kb = run.time_s[piece], run.occupancy_bytes[piece] / 1e3
            lost = run.dropped[piece]
            axes.plot(time_s[~lost], kb[~lost], ".", color=WATER, markersize=1.2, markeredgewidth=0)
            axes.plot(time_s[lost], kb[lost], "x", color=DROP, markersize=4, markeredgewidth=0.8)
            axes.plot(time_s, run.limit_bytes[piece] / 1e3, color=LIMIT, linestyle=(0, (5, 2)))
            axes.set_ylim(bottom=0)
        all_axes[0][0].set_ylabel("occupancy met (kB)")
        return to_svg(figure, "closeup")


def distribution(run: Run) -> str:
    """Distribution function of the occupancy met by arrivals, per phase."""
    with plt.rc_context(RC):
        figure, (left, right) = subplots(1, 2, height_in=2.3)
        for phase, colour in zip(run.phases, _colours(len(run.phases)), strict=True):
            there = run.of(phase)
            _cdf(left, run.occupancy_bytes[there] / 1e3, colour, f"phase {phase.name}")
            limit = phase.document.get("limit_bytes")
            if limit:
                left.axvline(limit / 1e3, color=colour, linestyle=(0, (5, 2)), linewidth=0.8)
            delay = run.delay_ms[there]
            _cdf(right, delay[~np.isnan(delay)], colour, f"phase {phase.name}")
        left.set_xlabel("occupancy met by arrivals (kB); dashed: limit")
        left.set_ylabel("share of packets at most that")
        right.set_xlabel("queueing delay (ms)")
        for axes in (left, right):
            axes.set_xlim(left=0)
            axes.set_ylim(0, 1)
        right.legend(loc="lower right")
        return to_svg(figure, "distribution")


def _cdf(axes: Axes, values: np.ndarray, colour: str, label: str) -> None:
    if not values.size:
        return
    share = np.linspace(0, 1, 501)
    axes.plot(np.quantile(values, share), share, color=colour, label=label)


def _colours(count: int) -> list[str]:
    return [(WATER, SECOND, LIMIT, GREY)[i % 4] for i in range(count)]


CONTROL_COLOURS = {"reno": WATER, "cubic": SECOND, "bbr": LIMIT}


def windows(run: Run) -> str | None:
    """The congestion window of every LBP flow, one row per base RTT, above the
    queue; None without tcp_probe samples."""
    flows = [f for f in run.flows if f.kind in ("lbp", "")]
    if not flows:
        return None
    groups: dict[float | None, list[FlowWindow]] = {}
    for flow in flows:
        groups.setdefault(flow.base_rtt_ms, []).append(flow)
    keys = sorted(groups, key=lambda k: (k is None, k or 0))
    with plt.rc_context(RC):
        rows = len(keys) + 1
        figure, all_axes = subplots(rows, 1, height_in=0.4 + 0.95 * rows, sharex=True)
        start, end = float(run.time_s[0]), float(run.time_s[-1])
        labelled: set[str] = set()
        for axes, key in zip(all_axes, keys, strict=False):
            _mark_phases(axes, run.phases)
            for flow in groups[key]:
                _window_line(axes, flow, start, end, labelled)
            title = "cwnd (pkts)" if key is None else f"{key:g} ms\ncwnd (pkts)"
            axes.set_ylabel(title)
            axes.set_ylim(0, _window_top(run, groups[key]))
        _name_phases(all_axes[0], run.phases)
        queue = all_axes[-1]
        _mark_phases(queue, run.phases)
        centre, low, _, high = envelope(run.time_s, run.occupancy_bytes / 1e3, start, end)
        queue.fill_between(centre, low, high, color=WATER, alpha=0.4, linewidth=0)
        at, limit = _limit_steps(run)
        queue.step(at, limit / 1e3, where="post", color=LIMIT, linestyle=(0, (5, 2)))
        queue.set_ylabel("queue (kB)")
        queue.set_ylim(bottom=0)
        queue.set_xlabel("time since the first report (s)")
        queue.set_xlim(start, end)
        figure.align_ylabels()
        handles, labels = [], []
        for axes in all_axes[:-1]:
            more, names = axes.get_legend_handles_labels()
            handles += more
            labels += names
        if handles:
            figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
        return to_svg(figure, "windows")


def _window_top(run: Run, flows: list[FlowWindow]) -> float:
    """Largest window during the phases: the first slow start may run off the top."""
    tops = [
        flow.cwnd_segments[there].max()
        for flow in flows
        for phase in run.phases
        if (there := (flow.time_s >= phase.start_s) & (flow.time_s < phase.end_s)).any()
    ]
    return 1.08 * float(max(tops, default=max(f.cwnd_segments.max() for f in flows)))


def _window_line(
    axes: Axes, flow: FlowWindow, start: float, end: float, labelled: set[str]
) -> None:
    colour = CONTROL_COLOURS.get(flow.control, GREY)
    # The last window of each column: what steps between cannot be seen.
    edges = np.linspace(start, end, COLUMNS + 1)[1:]
    index = np.searchsorted(flow.time_s, edges) - 1
    there = index >= 0
    label = flow.control if flow.control and flow.control not in labelled else None
    if label:
        labelled.add(label)
    axes.plot(
        edges[there],
        flow.cwnd_segments[index[there]],
        drawstyle="steps-post",
        color=colour,
        linewidth=0.7,
        alpha=0.85,
        label=label,
    )
    at = flow.drop_s[(flow.drop_s >= start) & (flow.drop_s <= end)]
    at = np.unique(np.floor((at - start) / (end - start) * COLUMNS)) * (end - start) / COLUMNS
    at = at + start
    before = np.searchsorted(flow.time_s, at) - 1
    shown = before >= 0
    label = "drop" if "drop" not in labelled and shown.any() else None
    if label:
        labelled.add(label)
    axes.plot(
        at[shown],
        flow.cwnd_segments[before[shown]],
        "x",
        color=DROP,
        markersize=2.6,
        markeredgewidth=0.6,
        label=label,
    )
