# SPDX-License-Identifier: Apache-2.0
"""Compares a sweep's measurements with the truth: N_b, classes, Tₑ, and each limit's predictions
for the others."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .. import offline
from ..experiment.backend import MeasuredPhase, Window
from ..experiment.judge import Run
from ..json_types import JsonObject
from ..markdown import table
from ..summary import class_check

# Kinds of rows in the table `events` that come from the senders' kernels.
PROBED_KINDS = ("retransmit", "congestion_state")
PREDICTED = ("utilisation", "loss_rate")
# Largest differences of N_b from the truth: in flows, and as a fraction of the truth.
MOST_FLOWS_OFF, MOST_SHARE_OFF = 2, 0.2


def passive_view(capture: Path, out: Path) -> Path:
    """Returns a copy of the capture without any sender's data."""
    out.mkdir()
    for path in capture.iterdir():
        if path.name.startswith("tcp_probe-"):
            continue
        if path.name.startswith("events-"):
            # The compression of captures: analyze reads no other.
            events = _without_probes(pq.read_table(path))
            pq.write_table(events, out / path.name, compression="zstd")
        else:
            (out / path.name).symlink_to(path.resolve())
    return out


def _without_probes(events: pa.Table) -> pa.Table:
    kind = events["kind"].cast(pa.string())
    events = events.filter(pc.invert(pc.is_in(kind, pa.array(PROBED_KINDS))))
    at = events.schema.get_field_index("probed")
    field = events.schema.field(at)
    never = pc.if_else(pc.is_valid(events["probed"]), False, events["probed"])
    return events.set_column(at, field, never)


def judge(run: Run, program: Path) -> list[JsonObject]:
    """Returns each phase's truth, estimates, and predictions for the other limits."""
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        passive = passive_view(run.run_dir / "capture", Path(folder) / "passive")
        return [_judged(run, phase, program, passive) for phase in run.phases]


def _judged(run: Run, phase: MeasuredPhase, program: Path, passive: Path) -> JsonObject:
    truth = run.truth()
    (window,) = phase.windows
    there = truth.persistent(window.start_unix_ns, window.end_unix_ns)
    link = run.link(phase.name)
    curve = _curve(program, run.run_dir / "capture", window, link["capture_start_ns"])
    others = [p.limits[0].limit_bytes for p in run.phases if p is not phase]
    return {
        "limit_bytes": phase.limits[0].limit_bytes,
        "window": {"start_ns": window.start_ns, "end_ns": window.end_ns},
        "truth": truth.phase(window.start_unix_ns, window.end_unix_ns),
        "probed": _estimates(link, there),
        "passive": _estimates(offline.analyze(program, passive, window), there),
        **{k: link[k] for k in ("utilisation", "loss_rate", "drops", "delay_ms")},
        "advice": {
            "advised_bytes": link["advice"]["limit_bytes"],
            "rule": link["advice"]["rule"],
        },
        "predicted": [{"limit_bytes": b, **_at(curve, b)} for b in others],
    }


def _estimates(link: JsonObject, there: list[JsonObject]) -> JsonObject:
    classes = class_check(link["flows"], there)
    out: JsonObject = {}
    for name in ("n_b", "t_e_ms", "alpha", "c_e_share"):
        value = link["estimates"].get(name)
        out[name] = value and {k: value[k] for k in ("value", "low", "high", "evidence")}
    return {**out, "classes_right": classes["right"], "classes_wrong": classes["wrong"]}


def _curve(program: Path, capture: Path, window: Window, zero_ns: int) -> list[JsonObject]:
    said = offline.output(
        program,
        *("whatif", capture, "--csv", "--points", 120),
        *("--from-s", (window.start_ns - zero_ns) / 1e9),
        *("--to-s", (window.end_ns - zero_ns) / 1e9),
    )
    return [
        {k: float(v) if v else math.nan for k, v in row.items()}
        for row in csv.DictReader(io.StringIO(said))
    ]


def _at(curve: list[JsonObject], limit_bytes: float) -> JsonObject:
    """Interpolates the predictions at a limit, between the neighbouring points of the curve."""
    limits = [point["limit_bytes"] for point in curve]

    def value(name: str) -> float | None:
        found = np.interp(limit_bytes, limits, [p[name] for p in curve], math.nan, math.nan)
        return None if math.isnan(found) else float(found)

    return {
        name: {"value": value(name), "low": value(f"{name}_low"), "high": value(f"{name}_high")}
        for name in PREDICTED
    }


def line(document: JsonObject) -> str:
    """Summarises a case in one line, for the terminal."""
    return f"{document['name']}: " + ", ".join(
        f"{p['limit_bytes'] / 1e3:.0f} kB: N_b {p['truth']['n_b']} as "
        f"{p['probed']['n_b']['value']:.0f}/{p['passive']['n_b']['value']:.0f}"
        for p in document["phases"]
    )


def far(documents: Sequence[JsonObject]) -> list[str]:
    """Returns each N_b that is off by more than 2 flows and by more than a fifth."""
    return [
        f"{d['name']} at {p['limit_bytes'] / 1e3:.0f} kB: N_b {value:.1f} {side} for {true}"
        for d in documents
        for p in d["phases"]
        for side in ("probed", "passive")
        for true, value in [(p["truth"]["n_b"], p[side]["n_b"]["value"])]
        if abs(value - true) > max(MOST_FLOWS_OFF, MOST_SHARE_OFF * true)
    ]


ESTIMATED = (
    *("case", "limit kB", "N_b true", "probed", "passive", "T_e ms true", "probed", "passive"),
    *("classes right", "passive", "utilisation", "loss %", "advised kB"),
)
PREDICTIONS = (
    *("case", "measured at kB", "for kB"),
    *("utilisation predicted", "was", "loss % predicted", "was"),
)


def markdown(documents: Sequence[JsonObject]) -> str:
    """Two tables: estimates with the truth and the number that are close to it; measurements with
    their predictions."""
    estimated, predicted = [], []
    for d in documents:
        was = {p["limit_bytes"]: p for p in d["phases"]}
        for p in d["phases"]:
            head = (d["name"], f"{p['limit_bytes'] / 1e3:.0f}")
            estimated.append((*head, *_beside_truth(p)))
            for f in p["predicted"]:
                then = was[f["limit_bytes"]]
                predicted.append(
                    (
                        *(*head, f"{f['limit_bytes'] / 1e3:.0f}"),
                        *(_interval(f["utilisation"], 4), f"{then['utilisation']:.4f}"),
                        *(_interval(f["loss_rate"], 3, 100), _number(then["loss_rate"], 3, 100)),
                    )
                )
    misses = far(documents)
    count = sum(2 * len(d["phases"]) for d in documents)
    near = f"N_b within 2 flows or a fifth of the truth: {count - len(misses)} of {count}"
    judged = [near, *(f"FAR: {miss}" for miss in misses)]
    tables = [*table(ESTIMATED, estimated), "", *judged, "", *table(PREDICTIONS, predicted)]
    return "\n".join(tables) + "\n"


def _beside_truth(p: JsonObject) -> tuple[str, ...]:
    truth, sides = p["truth"], (p["probed"], p["passive"])
    flows = truth["n_b"] + truth["rbp"] + truth["wl"]
    advised_kb = (p["advice"]["advised_bytes"] or math.nan) / 1e3
    return (
        *(str(truth["n_b"]), *(_interval(s["n_b"]) for s in sides)),
        *(_number(truth["t_e_ms"]), *(_interval(s["t_e_ms"]) for s in sides)),
        *(f"{s['classes_right']}/{flows}" for s in sides),
        *(f"{p['utilisation']:.4f}", _number(p["loss_rate"], 3, 100)),
        f"{_number(advised_kb)} ({p['advice']['rule']})",
    )


def _number(value: float | None, digits: int = 1, scale: float = 1.0) -> str:
    if value is None or math.isnan(value):
        return "-"
    return f"{value * scale:.{digits}f}"


def _interval(value: JsonObject | None, digits: int = 1, scale: float = 1.0) -> str:
    if not value or value["value"] is None:
        return "-"
    ends = "-".join(_number(value[k], digits, scale) for k in ("low", "high"))
    return f"{_number(value['value'], digits, scale)} ({ends})"
