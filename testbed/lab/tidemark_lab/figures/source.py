# SPDX-License-Identifier: Apache-2.0
"""Ports and phases in a directory with packets: a run of an experiment (`run.json`) or of the demo
(`summary.json`), or only a capture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import LabError
from ..experiment import store
from ..json_types import JsonObject

# Ethernet's header, if the capture does not say.
QUEUE_OVERHEAD_BYTES = 14


@dataclass(frozen=True)
class Span:
    """A phase by the switch's clock, and the known facts about its flows."""

    name: str
    start_ns: int
    end_ns: int
    # Number of flows bottlenecked here; None if unknown.
    n_b: int | None = None
    # Congestion control of these flows; None if they differ or it is unknown.
    congestion_control: str | None = None
    # Whether an algorithm manages the queue: theory says nothing about its limit.
    managed: bool = False

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True)
class Port:
    """A port of a switch, in one capture."""

    run: str
    # Name of the switch; empty if the run has one switch.
    name: str
    capture: Path
    node: int
    port: int
    # None if the capture does not say.
    capacity_bps: float | None
    # Bytes per packet that the queue counts in addition to the IP packet.
    queue_overhead_bytes: int
    spans: tuple[Span, ...]


def is_source(path: Path) -> bool:
    return any((path / n).is_file() for n in (store.RECORD, "summary.json", "capture.json"))


def find(path: Path) -> list[Path]:
    """Returns the drawable directories at and below `path`: runs, and captures outside runs."""
    if not path.is_dir():
        raise LabError(f"{path}: is not a directory of runs")
    if is_source(path):
        return [path]
    found: list[Path] = []
    for below in sorted(p for p in path.iterdir() if p.is_dir()):
        if not below.name.startswith("."):
            found += find(below)
    return found


def ports(path: Path) -> list[Port]:
    """Returns the ports of one directory from `find`, in the order of the switches."""
    if (path / store.RECORD).is_file():
        return _of_experiment(path)
    if (path / "summary.json").is_file():
        return [_of_demo(path)]
    return _of_capture(path)


def _config(capture: Path) -> JsonObject:
    try:
        found: JsonObject = json.loads((capture / "capture.json").read_text())["config"]["nodes"]
    except FileNotFoundError:
        raise LabError(
            f"{capture}: no capture here; a run without it (--no-captures) has no figures"
        ) from None
    except (ValueError, KeyError) as error:
        raise LabError(f"{capture}/capture.json cannot be read: {error!r}") from error
    return found


def _port(capture: Path, run: str, name: str, place: tuple[int, int], spans: list[Span]) -> Port:
    node, port = place
    said = _config(capture).get(str(node), {}).get("ports", {}).get(str(port), {})
    return Port(
        run=run,
        name=name,
        capture=capture,
        node=node,
        port=port,
        capacity_bps=said.get("capacity_bps"),
        queue_overhead_bytes=said.get("queue_overhead_bytes", QUEUE_OVERHEAD_BYTES),
        spans=tuple(spans),
    )


def _of_experiment(path: Path) -> list[Port]:
    record = store.read(path)
    switches = list(dict.fromkeys(r["switch"] for r in record["rows"]))
    out = []
    for index, switch in enumerate(switches):
        spans = []
        place = (0, 0)
        for phase in record["phases"]:
            row = next(
                r for r in record["rows"] if (r["phase"], r["switch"]) == (phase["name"], switch)
            )
            link = json.loads((path / "links" / f"{phase['name']}-{switch}.json").read_text())
            place = (link["node"], link["port"])
            window = phase["windows"][index]
            controls = {
                f["congestion_control"] for f in link["flows"] if f["class"].lower() == "lbp"
            }
            control = controls.pop() if len(controls) == 1 else None
            start, end = window["start_ns"], window["end_ns"]
            managed = row.get("aqm") is not None
            spans.append(Span(phase["name"], start, end, row["true_n_b"], control, managed))
        name = switch if len(switches) > 1 else ""
        out.append(_port(path / "capture", record["run"], name, place, spans))
    return out


def _of_demo(path: Path) -> Port:
    try:
        summary = json.loads((path / "summary.json").read_text())
        spans = [
            Span(
                str(p["name"]),
                p["window"]["start_ns"],
                p["window"]["end_ns"],
                (p.get("truth") or {}).get("n_b"),
            )
            for p in summary["phases"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"{path}/summary.json has no phases with times: {error!r}") from error
    capture = path / "capture"
    _config(capture)
    columns = ["node_id", "egress_port", "flow_id", "dropped"]
    place = busiest_port(pq.read_table(_postcards(capture), columns=columns))
    return _port(capture, path.name, "", place, spans)


def busiest_port(postcards: pa.Table) -> tuple[int, int]:
    """Returns the port with most drops; without drops, the port with most packets."""
    groups = postcards.group_by(["node_id", "egress_port"]).aggregate(
        [("dropped", "sum"), ("flow_id", "count")]
    )
    rows = groups.to_pylist()
    best = max(rows, key=lambda r: (r["dropped_sum"] or 0, r["flow_id_count"]))
    return best["node_id"], best["egress_port"]


def _postcards(capture: Path) -> list[Path]:
    if not (files := sorted(capture.glob("postcards-*.parquet"))):
        raise LabError(f"{capture}: no packet in the capture")
    return files


def _of_capture(path: Path) -> list[Port]:
    """Returns every port with packets, over the whole time."""
    config = _config(path)
    table = pq.read_table(_postcards(path), columns=["node_id", "egress_port", "ingress_ns"])
    groups = table.group_by(["node_id", "egress_port"]).aggregate(
        [("ingress_ns", "min"), ("ingress_ns", "max")]
    )
    out = []
    for row in sorted(groups.to_pylist(), key=lambda r: (r["node_id"], r["egress_port"])):
        node, port = row["node_id"], row["egress_port"]
        said = config.get(str(node), {})
        name = f"{said.get('name', node)}-{port}"
        spans = [Span("all", row["ingress_ns_min"], row["ingress_ns_max"] + 1)]
        run = path.parent.name if path.name == "capture" else path.name
        out.append(_port(path, run, name, (node, port), spans))
    return out


def in_port(port: Port) -> pc.Expression:
    """Filters a port's rows."""
    return (pc.field("node_id") == port.node) & (pc.field("egress_port") == port.port)
