# SPDX-License-Identifier: Apache-2.0
"""Reads runs of experiments for figures: rows, estimates, packets of a phase."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..experiment import store
from ..json_types import JsonObject

FRAME_BYTES = 1514
PACKET_COLUMNS = (
    "ingress_ns",
    "egress_ns",
    "occupancy_bytes",
    "dropped",
    "flow_id",
    "payload_bytes",
    "cwnd_segments",
)


@dataclass(frozen=True)
class Packets:
    """Packets of a phase in order of arrival; times in s since it began. `window` is NaN if no
    sender's sample was joined."""

    time_s: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray
    flow: np.ndarray
    payload_bytes: np.ndarray
    window: np.ndarray

    def where(self, kept: np.ndarray) -> Packets:
        """Returns a subset."""
        return Packets(*(getattr(self, f.name)[kept] for f in fields(self)))


@dataclass(frozen=True)
class RunData:
    """A run with one switch."""

    path: Path

    @cached_property
    def record(self) -> JsonObject:
        return store.read(self.path)

    def setting(self, path: str) -> Any:
        return self.record["settings"].get(path)

    @property
    def phases(self) -> list[str]:
        return [p["name"] for p in self.record["phases"]]

    @property
    def simulated(self) -> bool:
        return bool(self.record["back_end"] == "ns3")

    def row(self, phase: str) -> JsonObject:
        found: JsonObject = next(r for r in self.record["rows"] if r["phase"] == phase)
        return found

    def limit(self, phase: str) -> float:
        """The limit in packets."""
        return float(self.row(phase)["limit_bytes"]) / FRAME_BYTES

    def bdp(self, phase: str) -> float:
        """The BDP in packets."""
        return float(self.row(phase)["bdp_bytes"]) / FRAME_BYTES

    def limit_bdp(self, phase: str) -> float:
        """The limit over the BDP."""
        row = self.row(phase)
        return float(row["limit_bytes"]) / float(row["bdp_bytes"])

    def points(self, column: str) -> list[tuple[float, float]]:
        """(Buffer in packets, a column's value) for every phase, sorted by buffer."""
        return sorted((self.limit(p), float(self.row(p)[column])) for p in self.phases)

    def estimates(self, phase: str) -> JsonObject:
        found: JsonObject = self.link(phase)["estimates"]
        return found

    def link(self, phase: str) -> JsonObject:
        """Everything that the estimators report."""
        row = self.row(phase)
        path = self.path / "links" / f"{phase}-{row['switch']}.json"
        found: JsonObject = json.loads(path.read_text())
        return found

    def _times(self, phase: str, clock: str) -> tuple[int, int]:
        window = next(p for p in self.record["phases"] if p["name"] == phase)["windows"][0]
        return int(window[f"start_{clock}"]), int(window[f"end_{clock}"])

    def window_ns(self, phase: str) -> tuple[int, int]:
        """Start and end of a phase by the switch's clock."""
        return self._times(phase, "ns")

    def unix_ns(self, phase: str) -> tuple[int, int]:
        """Start and end of a phase by the senders' clock, which the truth uses."""
        return self._times(phase, "unix_ns")

    def utilisation(self, phase: str, part_s: float) -> np.ndarray:
        """Utilisation of each whole interval of a phase, by departures."""
        start, end = self.window_ns(phase)
        table = pq.read_table(
            self._files(),
            columns=["egress_ns", "ip_bytes", "wire_overhead_bytes"],
            filters=(pc.field("egress_ns") >= start) & (pc.field("egress_ns") < end),
        )
        seconds = (table["egress_ns"].to_numpy().astype(np.int64) - start) / 1e9
        wire = table["ip_bytes"].to_numpy() + table["wire_overhead_bytes"].to_numpy()
        count = int((end - start) / 1e9 / part_s + 1e-9)
        sums = np.bincount((seconds / part_s).astype(int), weights=wire, minlength=count)[:count]
        found: np.ndarray = sums * 8 / (float(self.row(phase)["rate_bps"]) * part_s)
        return found

    def queue_over_time(self, phase: str, step_s: float = 1e-3) -> np.ndarray:
        """Packets waiting at times `step_s` apart."""
        start, end = self.window_ns(phase)
        table = pq.read_table(self._files(), columns=["ingress_ns", "egress_ns", "dropped"])
        table = table.filter(pc.invert(table["dropped"]))
        at = start + np.arange(0, end - start, round(step_s * 1e9))
        counts = [
            np.searchsorted(np.sort(table[c].to_numpy().astype(np.int64)), at, side="right")
            for c in ("ingress_ns", "egress_ns")
        ]
        waiting: np.ndarray = counts[0] - counts[1]
        return waiting

    def _files(self) -> list[Path]:
        return sorted((self.path / "capture").glob("postcards-*.parquet"))

    def packets(self, phase: str) -> Packets:
        start, end = self.window_ns(phase)
        table = pq.read_table(
            self._files(),
            columns=list(PACKET_COLUMNS),
            filters=(pc.field("ingress_ns") >= start) & (pc.field("ingress_ns") < end),
        ).sort_by("ingress_ns")
        cwnd = table["cwnd_segments"].cast("float64").to_numpy(zero_copy_only=False)
        return Packets(
            time_s=(table["ingress_ns"].to_numpy().astype(np.int64) - start) / 1e9,
            queue=table["occupancy_bytes"].to_numpy() / FRAME_BYTES,
            dropped=table["dropped"].to_numpy(zero_copy_only=False),
            flow=table["flow_id"].to_numpy(),
            payload_bytes=table["payload_bytes"].to_numpy(),
            window=cwnd,
        )


def seconds(found: Sequence[RunData], phases: Sequence[str] = ()) -> str:
    """Measured time of each setting, or of some: `30 s`, or `20 to 60 s`. Times that differ by less
    than a tenth are one, their mean."""
    times = [
        float(run.row(phase)["seconds"])
        for run in found
        for phase in run.phases
        if not phases or phase in phases
    ]
    low, high = min(times), max(times)
    one = high - low <= 0.1 * high
    return f"{mean(times):.0f} s" if one else f"{low:.0f} to {high:.0f} s"


def growth(found: Sequence[RunData]) -> str:
    """Describes Reno's growth if it is simulated like ns-2's."""
    return "" if found[0].simulated else "; Reno grows a segment a round trip, ns-2's half of one"


def histogram(queue: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers of packets, 0 to `most`, and the share of packets that met each."""
    edges = np.arange(0, np.ceil(most) + 2)
    counts, _ = np.histogram(queue, bins=edges)
    return edges[:-1], counts / max(len(queue), 1)


# A sender is silent for this long only while it waits for its retransmission timer; s.
SILENCE_S = 0.1
# Window of BBR version 1 while it probes for the minimum round trip.
PROBE_RTT_PACKETS = 4


def probes_bandwidth(p: Packets, part_s: float, parts: int) -> np.ndarray:
    """For each interval of a phase, whether BBR probes for bandwidth all the time, as UTB §3.5 and
    Theorem 8 assume. In the interval after a round-trip probe it refills the link."""
    other = np.zeros(parts + 2, dtype=bool)
    at = (p.time_s[p.window == PROBE_RTT_PACKETS] / part_s).astype(int)
    at = at[at < parts]
    other[at] = True
    other[at + 1] = True
    return ~other[:parts]


# Why a simulated sender has more timeouts than a kernel's.
NO_RACK = "; in ns-3, which has no RACK, a lost retransmission costs one"


def disturbance(p: Packets, algorithm: str, simulated: bool = True) -> str:
    """Describes an event at the senders that the theory does not model; empty if none."""
    silence = float(np.diff(p.time_s).max()) if len(p.time_s) > 1 else 0.0
    least = float(np.nanmin(p.window)) if np.isfinite(p.window).any() else math.inf
    if silence > SILENCE_S and least <= 1:
        text = f"a timeout: nothing is sent for {1e3 * silence:.0f} ms"
        return text + NO_RACK if simulated else text
    if algorithm == "bbr" and least == PROBE_RTT_PACKETS:
        return f"the phase has a ProbeRTT of BBR: a window of {least:.0f} packets for 200 ms"
    if least < PROBE_RTT_PACKETS:
        return f"a window falls to {least:.0f} packets: there are timeouts"
    return ""
