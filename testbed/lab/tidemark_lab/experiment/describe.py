# SPDX-License-Identifier: Apache-2.0
"""Describes a run's machine and versions, for the run directory."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

from .. import __version__
from ..json_types import JsonObject
from ..places import REPOSITORY
from ..preflight import Paths


def machine(paths: Paths) -> JsonObject:
    """Returns kernel, processors, versions, commit and load."""
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load_average_before": os.getloadavg()[0],
        "python": sys.version.split()[0],
        "version": __version__,
        "commit": commit(),
        "programs": {
            name: version(paths.binary(name))
            for name in ("tidemark-switch", "tidemark-collector", "tidemark-controller")
        },
    }


def commit() -> str | None:
    """Commit of the repository, with + if files differ from it. None outside a clone."""
    if REPOSITORY is None:
        return None
    head = ("describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+")
    return _said("git", "-C", str(REPOSITORY), *head)


def version(program: Path) -> str | None:
    """Returns the version that a program prints; None if it prints none."""
    return _said(str(program), "--version")


def _said(*argv: str) -> str | None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
