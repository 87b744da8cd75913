# SPDX-License-Identifier: Apache-2.0
"""Mounts tracefs if needed, and notices settings that a run left changed."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

TRACEFS = Path("/sys/kernel/tracing")
PROBE = "events/tcp/tcp_probe/format"
_libc = ctypes.CDLL(None, use_errno=True)


def is_mounted(at: Path = TRACEFS) -> bool:
    return (at / "events").is_dir()


def can_mount(at: Path = TRACEFS) -> bool:
    known = Path("/proc/filesystems").read_text().split()
    return "tracefs" in known and at.is_dir()


def has_tcp_probe(at: Path = TRACEFS) -> bool:
    return (at / PROBE).exists()


def mount(at: Path = TRACEFS) -> None:
    if _libc.mount(b"nodev", bytes(at), b"tracefs", 0, None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount tracefs at {at}: {os.strerror(error)}")


def unmount(at: Path) -> None:
    if not is_mounted(at):
        return
    if _libc.umount2(bytes(at), 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"unmount {at}: {os.strerror(error)}")


def snapshot(at: Path = TRACEFS) -> dict[str, str]:
    """Returns the settings that a tidy program leaves unchanged."""
    found = {}
    files = [at / "current_tracer", at / "trace_clock", at / "set_event", at / "tracing_on"]
    files += sorted(at.glob("events/tcp/*/enable"))
    for path in files:
        try:
            found[str(path.relative_to(at))] = path.read_text()
        except OSError:
            continue
    with contextlib.suppress(OSError):
        found["instances"] = " ".join(sorted(p.name for p in (at / "instances").iterdir()))
    return found


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [
        f"tracing: {name} was {before.get(name, '')!r}, is {after.get(name, '')!r}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
