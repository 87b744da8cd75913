# SPDX-License-Identifier: Apache-2.0
"""What a run directory says of where it was made."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

from .. import __version__
from ..json_types import JsonObject
from ..machine import load_average
from ..places import REPOSITORY
from ..preflight import Paths


def machine(paths: Paths) -> JsonObject:
    """Kernel, processors, versions, commit, load."""
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load_average_before": load_average(),
        "python": sys.version.split()[0],
        "version": __version__,
        "commit": commit(),
        "programs": {
            name: version(paths.binary(name))
            for name in ("tidemark-switch", "tidemark-collector", "tidemark-controller")
        },
    }


def commit() -> str | None:
    """Of the repository; + where files differ from it. None outside a clone."""
    if REPOSITORY is None:
        return None
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changed else "")


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(REPOSITORY), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout.strip()


def version(program: Path) -> str | None:
    """As it says; None where it does not."""
    try:
        done = subprocess.run(
            [str(program), "--version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
