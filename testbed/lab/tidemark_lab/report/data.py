# SPDX-License-Identifier: Apache-2.0
"""What the figures need of a run, as arrays. Times are seconds since the first
interval of the capture, as in `summary.json`; sizes are bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..json_types import JsonObject

NANOSECONDS = 1e9

POSTCARD_COLUMNS = (
    "node_id",
    "egress_port",
    "flow_id",
    "ingress_ns",
    "egress_ns",
    "occupancy_bytes",
    "limit_bytes",
    "ip_bytes",
    "dropped",
)
PROBE_COLUMNS = ("node_id", "egress_port", "time_ns", "flow_id", "cwnd_segments")
FLOW_COLUMNS = ("kind", "flow_id", "src", "dst", "src_port", "dst_port")

# `limit_bytes` of an unlimited queue.
UNLIMITED = 2**32 - 1


class ReportError(Exception):
    """The run cannot be drawn; the message says why."""


@dataclass(frozen=True)
class Phase:
    """A phase of `summary.json` with its place on the time axis."""

    document: JsonObject
    start_s: float
    end_s: float

    @property
    def name(self) -> str:
        return self.document["name"]


@dataclass(frozen=True)
class FlowWindow:
    """The congestion window of one long flow, and its drops."""

    name: str
    kind: str
    control: str
    base_rtt_ms: float | None
    time_s: np.ndarray
    cwnd_segments: np.ndarray
    drop_s: np.ndarray


@dataclass
class Run:
    """One link's packets in order of arrival, and the flows through it."""

    name: str
    summary: JsonObject
    phases: list[Phase]
    node_id: int
    port: int
    capacity_bps: float | None
    time_s: np.ndarray
    occupancy_bytes: np.ndarray
    limit_bytes: np.ndarray
    dropped: np.ndarray
    delay_ms: np.ndarray
    flows: list[FlowWindow] = field(default_factory=list)

    @classmethod
    def load(cls, run_dir: Path, summary: JsonObject) -> Run:
        capture = run_dir / "capture"
        windows = [p.get("window") or {} for p in summary["phases"]]
        origin_ns = _origin_ns(windows)
        postcards = _read(capture, "postcards", POSTCARD_COLUMNS)
        if postcards.num_rows == 0:
            raise ReportError(f"{capture}: no postcard in the capture")
        node_id, port = busiest_port(postcards)
        there = pc.and_(
            pc.equal(postcards["node_id"], node_id), pc.equal(postcards["egress_port"], port)
        )
        postcards = postcards.filter(there).sort_by("ingress_ns")
        ingress_ns = postcards["ingress_ns"].to_numpy().astype(np.int64)
        if origin_ns is None:
            origin_ns = int(ingress_ns[0])
        time_s = (ingress_ns - origin_ns) / NANOSECONDS
        dropped = postcards["dropped"].to_numpy(zero_copy_only=False)
        egress_ns = pc.fill_null(postcards["egress_ns"], 0).to_numpy().astype(np.int64)
        limit = postcards["limit_bytes"].to_numpy().astype(float)
        limit[(limit <= 0) | (limit >= UNLIMITED)] = np.nan
        run = cls(
            name=run_dir.name,
            summary=summary,
            phases=_phases(summary, windows, float(time_s[-1])),
            node_id=node_id,
            port=port,
            capacity_bps=(summary.get("config", {}).get("scenario") or {}).get("capacity_bps"),
            time_s=time_s,
            occupancy_bytes=postcards["occupancy_bytes"].to_numpy().astype(float),
            limit_bytes=limit,
            dropped=dropped,
            delay_ms=np.where(dropped, np.nan, (egress_ns - ingress_ns) / 1e6),
        )
        run.flows = _flow_windows(run_dir, capture, run, postcards, origin_ns)
        return run

    def of(self, phase: Phase) -> np.ndarray:
        """Which packets arrived during a phase."""
        return (self.time_s >= phase.start_s) & (self.time_s < phase.end_s)


def _origin_ns(windows: list[JsonObject]) -> int | None:
    for w in windows:
        if w.get("start_ns") is not None and w.get("start_s") is not None:
            return round(w["start_ns"] - w["start_s"] * NANOSECONDS)
    return None


def _phases(summary: JsonObject, windows: list[JsonObject], end_s: float) -> list[Phase]:
    """Without windows (an older summary) the run is divided evenly."""
    count = max(len(windows), 1)
    return [
        Phase(
            document,
            window.get("start_s", end_s * i / count),
            window.get("end_s", end_s * (i + 1) / count),
        )
        for i, (document, window) in enumerate(zip(summary["phases"], windows, strict=True))
    ]


def _read(capture: Path, table: str, columns: tuple[str, ...]) -> pa.Table:
    """The named columns of all files of a table, in order."""
    files = sorted(capture.glob(f"{table}-*.parquet"))
    if not files:
        if not capture.is_dir():
            raise ReportError(f"{capture}: no such directory")
        return pa.table({name: pa.array([], pa.int64()) for name in columns})
    try:
        parts = [pq.read_table(f, columns=list(columns)) for f in files]
    except (OSError, pa.ArrowException) as error:
        raise ReportError(f"{capture}: {error}") from None
    joined = pa.concat_tables(parts)
    for i, name in enumerate(joined.column_names):
        column = joined.column(i)
        if pa.types.is_dictionary(column.type):
            joined = joined.set_column(i, name, column.cast(column.type.value_type))
    return joined


def busiest_port(postcards: pa.Table) -> tuple[int, int]:
    """The port with most drops; without any, the one with most packets."""
    groups = postcards.group_by(["node_id", "egress_port"]).aggregate(
        [("dropped", "sum"), ("flow_id", "count")]
    )
    rows = groups.to_pylist()
    best = max(rows, key=lambda r: (r["dropped_sum"] or 0, r["flow_id_count"]))
    return best["node_id"], best["egress_port"]


def _flow_windows(
    run_dir: Path, capture: Path, run: Run, postcards: pa.Table, origin_ns: int
) -> list[FlowWindow]:
    """Windows of the long flows of the truth; without a truth, of the flows with
    most samples."""
    probes = _read(capture, "tcp_probe", PROBE_COLUMNS)
    if probes.num_rows == 0:
        return []
    probe_flow = probes["flow_id"].to_numpy()
    probe_s = (probes["time_ns"].to_numpy().astype(np.int64) - origin_ns) / NANOSECONDS
    cwnd = probes["cwnd_segments"].to_numpy().astype(float)
    dropped_flow = postcards["flow_id"].to_numpy()[run.dropped]
    dropped_s = run.time_s[run.dropped]
    out = []
    for flow_id, known in _long_flows(run_dir, capture, probe_flow):
        mine = probe_flow == flow_id
        if not mine.any():
            continue
        order = np.argsort(probe_s[mine], kind="stable")
        out.append(
            FlowWindow(
                name=known.get("name", f"flow {flow_id}"),
                kind=known.get("kind", ""),
                control=known.get("congestion_control", ""),
                base_rtt_ms=known.get("base_rtt_ms"),
                time_s=probe_s[mine][order],
                cwnd_segments=cwnd[mine][order],
                drop_s=dropped_s[dropped_flow == flow_id],
            )
        )
    return out


MOST_UNKNOWN_FLOWS = 12


def _long_flows(
    run_dir: Path, capture: Path, probe_flow: np.ndarray
) -> list[tuple[int, JsonObject]]:
    try:
        truth = json.loads((run_dir / "truth.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        ids, counts = np.unique(probe_flow, return_counts=True)
        most = ids[np.argsort(-counts)][:MOST_UNKNOWN_FLOWS]
        return [(int(i), {}) for i in sorted(most)]
    events = _read(capture, "events", FLOW_COLUMNS)
    events = events.filter(pc.equal(events["kind"], "flow")) if events.num_rows else events
    flow_ids = {
        (e["src"], e["src_port"], e["dst"], e["dst_port"]): e["flow_id"] for e in events.to_pylist()
    }
    out = []
    for flow in truth["flows"]:
        if flow["kind"] not in ("lbp", "rbp", "wl"):
            continue
        source, source_port = flow["source"].rsplit(":", 1)
        destination, destination_port = flow["destination"].rsplit(":", 1)
        key = (
            source.strip("[]"),
            int(source_port),
            destination.strip("[]"),
            int(destination_port),
        )
        if key in flow_ids:
            out.append((flow_ids[key], flow))
    return out
