# SPDX-License-Identifier: Apache-2.0
"""Checks whether the machine kept up, and marks rows of runs that it slowed down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..machine import MOST_STOLEN_FRACTION
from .backend import MeasuredPhase, Place, Window

# Fraction of one core: a sender or switch that uses more has no time left.
MOST_CPU = 0.9
# Reports leaving the switch later than this mean longer round trips for its flows.
MOST_LATE_P99_MS = 5.0
# Packets; 1.5 GB are in flight on no path. A hardened kernel may run no BPF program while a packet
# interrupts init: what lies on its stack becomes the control's threshold, and the flow floods.
MOST_WINDOW = 1 << 20
# The kernel's threshold before the first loss.
_NO_THRESHOLD = 0x7FFFFFFF
# The two clocks drift by less than a packet time in this long.
_PIECE_NS = 1_000_000_000


@dataclass(frozen=True)
class Lateness:
    """How much later reports arrived than the switch's time stamps say; ms."""

    p99_ms: float
    max_ms: float


def lateness(capture: Path, place: Place, window: Window) -> Lateness | None:
    """For forwarded packets: reception minus departure, above the smallest value of each second.
    The switch's time stamp is when a packet's departure was due; it sends the report when its
    thread gets to it. None without packets."""
    files = sorted(capture.glob("postcards-*.parquet"))
    if not files:
        return None
    # Time stamps in a capture are of the switch's clock.
    table = pq.read_table(
        files,
        columns=["rx_ns", "egress_ns"],
        filters=(pc.field("node_id") == place.node)
        & (pc.field("egress_port") == place.port)
        & (pc.field("egress_ns") >= window.start_ns)
        & (pc.field("egress_ns") < window.end_ns),
    )
    if table.num_rows == 0:
        return None
    egress = table["egress_ns"].to_numpy().astype(np.int64)
    late = table["rx_ns"].to_numpy().astype(np.int64) - egress
    piece = (egress - egress.min()) // _PIECE_NS
    least = np.full(int(piece.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, piece, late)
    above_ms = (late - least[piece]) / 1e6
    return Lateness(float(np.quantile(above_ms, 0.99)), float(above_ms.max()))


def flooding(capture: Path, place: Place, window: Window) -> int:
    """Number of flows with an impossible congestion window or threshold; 0 without `tcp_probe`."""
    files = sorted(capture.glob("tcp_probe-*.parquet"))
    if not files:
        return 0
    cwnd, threshold = pc.field("cwnd_segments"), pc.field("ssthresh_segments")
    of_threshold = (threshold > MOST_WINDOW) & (threshold != _NO_THRESHOLD)
    table = pq.read_table(
        files,
        columns=["flow_id"],
        filters=(pc.field("node_id") == place.node)
        & (pc.field("egress_port") == place.port)
        & (pc.field("time_ns") >= window.start_ns)
        & (pc.field("time_ns") < window.end_ns)
        & ((cwnd > MOST_WINDOW) | of_threshold),
    )
    return len(pc.unique(table["flow_id"]))


def doubts(
    phase: MeasuredPhase, late: Lateness | None, reports_lost: int, flooding: int = 0
) -> list[str]:
    """Returns why a row cannot be trusted; empty if it can."""
    found = []
    if flooding:
        found.append(
            f"the kernel gave {flooding} flows an impossible window: it did not run their "
            "congestion control"
        )
    if reports_lost:
        found.append(f"{reports_lost} reports lost")
    stolen = phase.stolen_cpu_fraction
    if stolen is not None and stolen > MOST_STOLEN_FRACTION:
        found.append(f"{stolen:.1%} of the CPU time was another machine's")
    if phase.traffic_cpu is not None and phase.traffic_cpu > MOST_CPU:
        found.append(f"the senders used {phase.traffic_cpu:.0%} of a core")
    if phase.switch_cpu is not None and phase.switch_cpu > MOST_CPU:
        found.append(f"a thread of a switch used {phase.switch_cpu:.0%} of a core")
    # In simulated time nothing waits for the machine.
    if phase.stolen_cpu_fraction is not None and late and late.p99_ms > MOST_LATE_P99_MS:
        found.append(f"1 % of the reports came {late.p99_ms:.1f} ms late or more")
    return found
