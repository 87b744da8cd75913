# SPDX-License-Identifier: Apache-2.0
"""Repeats the estimates from the capture: they must equal those of the live run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import LabError
from .json_types import JsonObject
from .summary import ESTIMATES, mean_utilisation

if TYPE_CHECKING:
    from .experiment.backend import Place, Window

ROUNDING = 0.01
TIMEOUT_S = 900


def analyze(
    program: Path,
    capture: Path,
    window: Window,
    place: Place | None = None,
    picture: Path | None = None,
) -> JsonObject:
    """Returns a link's record from `tidemark-controller analyze --json`; `place`: needed if the
    capture has several links; `picture`: a file for the verdict's picture, not written if there is
    nothing to draw."""
    argv: list[object] = ["analyze", capture, "--json"]
    if place is not None:
        argv += ["--node", place.node, "--port", place.port]
    if picture is not None:
        argv += ["--picture", picture]
    return of_link(program, *argv, "--from-ns", window.start_ns, "--to-ns", window.end_ns)


def of_link(program: Path, *arguments: object) -> JsonObject:
    """Returns the first link in the JSON output of `analyze` or `advise`."""
    links = json.loads(output(program, *arguments))["links"]
    if not links:
        raise LabError(f"{arguments[0]} {arguments[1]}: no link in the capture")
    return links[0]


def output(program: Path, *arguments: object) -> str:
    """Returns the controller program's output about a capture, its second argument."""
    argv = [str(a) for a in (program, *arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        what = f"{arguments[0]} {arguments[1]}"
        raise LabError(f"{what} failed: {done.stderr.strip()[-1000:]}")
    return done.stdout


def differences(phase: JsonObject, offline: JsonObject) -> list[str]:
    """Returns differences between capture and live run that are larger than rounding."""
    found = []

    def compare(name: str, live: float | None, later: float | None) -> None:
        if live is None and later is None:
            return
        if live is None or later is None:
            found.append(f"{name}: live {live}, capture {later}")
        elif abs(live - later) > ROUNDING * max(abs(live), abs(later), 1e-9):
            found.append(f"{name}: live {live:.6g}, capture {later:.6g}")

    compare("utilisation", phase["utilisation"], mean_utilisation(offline))
    compare("loss_rate", phase["loss_rate"], offline["loss_rate"])
    for name in ESTIMATES:
        later = offline["estimates"].get(name) or {}
        compare(name, phase["estimates"][name]["value"], later.get("value"))
    return found
