# SPDX-License-Identifier: Apache-2.0
"""Reading runs of experiments for figures: rows, estimates, packets of a phase."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
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
    "cwnd_segments",
)


@dataclass(frozen=True)
class Packets:
    """Of one phase, in the order of their arrival; times in s since it began. `window` is NaN
    where the sender's was not joined."""

    time_s: np.ndarray
    queue: np.ndarray
    dropped: np.ndarray
    flow: np.ndarray
    window: np.ndarray


@dataclass(frozen=True)
class RunData:
    """One run with one switch."""

    path: Path

    @cached_property
    def record(self) -> JsonObject:
        return store.read(self.path)

    def setting(self, path: str) -> Any:
        return self.record["settings"].get(path)

    @property
    def phases(self) -> list[str]:
        return [p["name"] for p in self.record["phases"]]

    def row(self, phase: str) -> JsonObject:
        found: JsonObject = next(r for r in self.record["rows"] if r["phase"] == phase)
        return found

    def link(self, phase: str) -> JsonObject:
        """Everything that the estimators say."""
        row = self.row(phase)
        path = self.path / "links" / f"{phase}-{row['switch']}.json"
        found: JsonObject = json.loads(path.read_text())
        return found

    def packets(self, phase: str) -> Packets:
        window = next(p for p in self.record["phases"] if p["name"] == phase)["windows"][0]
        start, end = window["start_ns"], window["end_ns"]
        table = pq.read_table(
            sorted((self.path / "capture").glob("postcards-*.parquet")),
            columns=list(PACKET_COLUMNS),
            filters=(pc.field("ingress_ns") >= start) & (pc.field("ingress_ns") < end),
        ).sort_by("ingress_ns")
        cwnd = table["cwnd_segments"].cast("float64").to_numpy(zero_copy_only=False)
        return Packets(
            time_s=(table["ingress_ns"].to_numpy().astype(np.int64) - start) / 1e9,
            queue=table["occupancy_bytes"].to_numpy() / FRAME_BYTES,
            dropped=table["dropped"].to_numpy(zero_copy_only=False),
            flow=table["flow_id"].to_numpy(),
            window=cwnd,
        )


def find(root: Path, experiment: str) -> list[RunData]:
    """The complete runs of an experiment; empty where there are none."""
    folder = root / experiment
    return [RunData(p) for p in store.find([folder])] if folder.is_dir() else []


def histogram(queue: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
    """Share of packets that met each whole number of packets; 0 to `most`."""
    edges = np.arange(0, np.ceil(most) + 2)
    counts, _ = np.histogram(queue, bins=edges)
    return edges[:-1], counts / max(len(queue), 1)


# A sender is silent for so long only while it waits for its timer; s.
SILENCE_S = 0.1
# What BBR version 1 keeps in flight while it probes for the smallest round trip.
PROBE_RTT_PACKETS = 4


def disturbance(p: Packets, algorithm: str) -> str:
    """What senders did in a phase that the theory knows nothing of; empty: nothing."""
    silence = float(np.diff(p.time_s).max()) if len(p.time_s) > 1 else 0.0
    least = float(np.nanmin(p.window)) if np.isfinite(p.window).any() else math.inf
    if silence > SILENCE_S and least <= 1:
        return (
            f"a timeout: nothing is sent for {1e3 * silence:.0f} ms; in ns-3, which has no RACK, "
            "a lost retransmission costs one"
        )
    if algorithm == "bbr" and least == PROBE_RTT_PACKETS:
        return f"the phase has a ProbeRTT of BBR: a window of {least:.0f} packets for 200 ms"
    if least < PROBE_RTT_PACKETS:
        return f"a window falls to {least:.0f} packets: there are timeouts"
    return ""
