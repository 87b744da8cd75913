# SPDX-License-Identifier: Apache-2.0
"""Describes the machine and the commit that figures belong to."""

import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def git(*arguments: str) -> str:
    """Returns the output of a git command in the repository, without the final newline."""
    command = ["git", "-C", str(REPOSITORY), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def cpu_model() -> str:
    """Returns the kernel's name of the processor, or its architecture."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory_gib() -> float:
    """Returns the main memory, GiB."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def machine() -> dict:
    """Returns date (UTC), commit, processor, cores, memory, kernel and load before the measurement.
    `changed`: whether the working tree differs from the commit."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory_gib(), 1),
        "kernel": platform.release(),
        "load_average": [round(v, 2) for v in os.getloadavg()],
    }
