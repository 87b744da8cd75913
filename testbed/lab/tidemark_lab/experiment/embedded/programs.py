# SPDX-License-Identifier: Apache-2.0
"""Switches with foreign programs: their arguments and counters."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from string import Template
from typing import Any

from ...addresses import REPORT_UDP_PORT
from ...errors import LabError
from ...json_types import JsonObject
from ...preflight import Paths
from ..load import ExperimentError
from .layout import RECEIVER_MAC, Layout

# Kinds of variables whose list items are repeated.
_REPEATED = ("forward", "flood")


def file(named: str, paths: Paths) -> Path:
    """Returns a program's file: a path, or the name of a program that comes with the lab."""
    return Path(named) if "/" in named else paths.p4_dir / named / f"{named}.json"


def missing(layout: Layout, paths: Paths) -> list[str]:
    """Returns the missing files, with the path of their key."""
    found = []
    for k in layout.switches:
        if (program := layout.program(k)) is None:
            continue
        at = f"topology.switches[{k}].program"
        json_file = file(program.file, paths)
        for needed in (json_file, json_file.with_suffix(".p4info.txtpb")):
            if not needed.is_file():
                found.append(f"{at}.file: {needed} is not there")
        found += [
            f"{at}.entries: {entries} is not there"
            for entries in program.entries
            if not Path(entries).is_file()
        ]
    return found


def arguments(layout: Layout, switch: int, paths: Paths, run_dir: Path) -> list[str | Path]:
    """Returns arguments of `tidemark-switch run`; writes the entries with the lab's own values."""
    program = layout.program(switch)
    if program is None:
        return []
    found: list[str | Path] = ["--program", file(program.file, paths)]
    for number, name in enumerate(program.entries, 1):
        source = Path(name)
        if source.suffix == ".json":
            filled = run_dir / f"switch-{switch + 1}-entries-{number}.json"
            filled.write_text(json.dumps(entries(layout, switch, source), indent=1) + "\n")
            source = filled
        found += ["--entries", source]
    return found


def entries(layout: Layout, switch: int, source: Path) -> Any:
    """Returns the entries with each `$name` replaced. A list item that names a `$forward_` or
    `$flood_` variable is repeated for each value."""
    try:
        document = json.loads(source.read_text())
        return _filled(document, _values(layout, switch), _repeated(layout, switch))
    except json.JSONDecodeError as error:
        raise ExperimentError(f"{source}: is not JSON: {error}") from error
    except KeyError as error:
        known = [*_values(layout, switch), "forward_mac", "forward_port", "flood_port"]
        raise ExperimentError(
            f"{source}: ${error.args[0]}: the lab knows {', '.join(f'${n}' for n in known)}"
        ) from error


def _values(layout: Layout, switch: int) -> JsonObject:
    link = layout.report_link(switch)
    return {
        "node": layout.node(switch),
        "out_port": layout.out_port(switch),
        "back_port": layout.back_port(switch),
        "report_port": layout.report_port(switch),
        "receiver_mac": RECEIVER_MAC,
        "switch_mac": link.switch_mac,
        "switch_ip": link.switch_address,
        "collector_mac": link.collector_mac,
        "collector_ip": link.collector_address,
        "collector_udp_port": REPORT_UDP_PORT,
    }


def _repeated(layout: Layout, switch: int) -> dict[str, list[JsonObject]]:
    return {
        "forward": [
            {"forward_mac": f["mac"], "forward_port": f["port"]} for f in layout.forward(switch)
        ],
        "flood": [{"flood_port": port} for port in layout.flood_ports(switch)],
    }


def _filled(part: Any, values: JsonObject, repeated: dict[str, list[JsonObject]]) -> Any:
    if isinstance(part, str):
        return Template(part).substitute(values)
    if isinstance(part, dict):
        return {name: _filled(v, values, repeated) for name, v in part.items()}
    if not isinstance(part, list):
        return part
    out: list[Any] = []
    for item in part:
        text = json.dumps(item)
        kinds = [k for k in _REPEATED if f"${k}_" in text] if not isinstance(item, str) else []
        # If a nested list names the variable, that list's items are repeated instead.
        if kinds and not _within_a_list(item, kinds[0]):
            out += [_filled(item, values | more, repeated) for more in repeated[kinds[0]]]
        else:
            out.append(_filled(item, values, repeated))
    return out


def _within_a_list(item: Any, kind: str) -> bool:
    parts = item.values() if isinstance(item, dict) else ()
    return any(isinstance(p, list) and f"${kind}_" in json.dumps(p) for p in parts)


def keep_counters(switch: int, grpc_port: int, paths: Paths, run_dir: Path) -> None:
    """Saves the counters of packets sent and dropped per port in the run directory."""
    argv: list[str | Path] = [paths.binary("tidemark-switch"), "port", "list", "--json"]
    argv += ["--grpc", f"127.0.0.1:{grpc_port}"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise LabError(f"switch {switch + 1}: its counters: {done.stderr.strip()}")
    (run_dir / f"switch-{switch + 1}-ports.json").write_text(done.stdout)
