# SPDX-License-Identifier: Apache-2.0
"""`figures RUNS...`: makes a page of figures in each run's directory, with their data."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyarrow as pa

from ..errors import LabError
from ..outcome import EXIT_FAILED, EXIT_OK
from ..papers import report
from ..papers.paper import Figure
from . import data, kinds, source

FOLDER = "figures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", help="directories of runs, or captures")
    parser.add_argument("--out", type=Path, help="default: `figures` in each run's directory")


def from_arguments(arguments: argparse.Namespace) -> int:
    """Returns 0 if every run has its figures; a run without figures does not affect the others."""
    try:
        found = [path for named in arguments.runs for path in source.find(named)]
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return EXIT_FAILED
    if not found:
        print(f"lab: no runs in {', '.join(map(str, arguments.runs))}", file=sys.stderr)
        return EXIT_FAILED
    code = EXIT_OK
    for path in found:
        out = path / FOLDER
        if arguments.out is not None:
            out = arguments.out if len(found) == 1 else arguments.out / path.name
        try:
            print(draw(path, out))
        except (LabError, OSError, pa.ArrowException) as error:
            print(f"lab: {error}", file=sys.stderr)
            code = EXIT_FAILED
    return code


def made(path: Path) -> tuple[list[Figure], list[str]]:
    """Makes the figures of one run, and facts about its ports."""
    figures: list[Figure] = []
    facts = []
    for port in source.ports(path):
        phases = [p for span in port.spans if (p := data.read(port, span)) is not None]
        if not phases:
            continue
        figures += kinds.of_port(port, phases)
        rate = f"{port.capacity_bps / 1e6:g} Mb/s" if port.capacity_bps else "capacity not known"
        facts.append(f"port {port.port} of node {port.node}, {rate}")
        if not any(p.senders for p in phases):
            facts.append(kinds.NO_WINDOWS.rstrip("."))
    if not figures:
        raise LabError(f"{path}: no packet in any of its phases")
    return figures, facts


def draw(path: Path, out: Path) -> Path:
    """Draws the figures of one run; returns their page."""
    figures, facts = made(path)
    name = path.parent.name if path.name == "capture" else path.name
    return report.write(out, f"Run {name}", f"{'; '.join(facts)}.", figures)
