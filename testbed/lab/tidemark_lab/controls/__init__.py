# SPDX-License-Identifier: Apache-2.0
"""Congestion controls that the kernel lacks, as the lab's own BPF programs (struct_ops).

While registered they exist in the whole kernel, not in a namespace: so each has its own name, which
only the flows of an experiment ask for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from .. import kernel
from ..errors import LabError
from .struct_ops import LIBRARY, library, register

SOURCES = Path(__file__).resolve().parent
# Names of the lab's own controls, as experiments use them.
OURS = tuple(sorted(p.name.removesuffix(".bpf.c") for p in SOURCES.glob("*.bpf.c")))
PREFIX = "tm_"
BTF = Path("/sys/kernel/btf/vmlinux")
_FLAGS = ("-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror")


def of_kernel() -> set[str]:
    return set(kernel.get_sysctl("net.ipv4.tcp_available_congestion_control").split())


def names(controls: Iterable[str]) -> dict[str, str]:
    """Returns the name by which a socket asks for each control: the kernel's own if it has it."""
    there = of_kernel()
    return {c: PREFIX + c if c not in there and c in OURS else c for c in controls}


def lacking() -> list[str]:
    """Returns everything that this machine lacks for the lab's controls, with a remedy for each."""
    found = []
    if compiler() is None:
        found.append("clang is not on PATH: apt-get install clang (CLANG names another)")
    if library() is None:
        found.append(f"{LIBRARY} is missing: apt-get install libbpf1")
    if not BTF.exists():
        found.append(f"{BTF} is missing: a kernel with CONFIG_DEBUG_INFO_BTF (Linux 6.4 or later)")
    return found


def compiler() -> str | None:
    return shutil.which(os.environ.get("CLANG", "clang"))


def build(control: str, folder: Path) -> Path:
    """Returns the compiled program. Raises LabError with the compiler's message."""
    clang = compiler()
    if clang is None:
        raise LabError("; ".join(lacking()))
    out = folder / f"{PREFIX}{control}.o"
    command = [clang, *_FLAGS, "-c", str(SOURCES / f"{control}.bpf.c"), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip()}")
    return out


class Registered:
    """The lab's controls in the kernel, until `remove` or the end of this process."""

    def __init__(self) -> None:
        self._removals: dict[str, Callable[[], None]] = {}

    def add(self, wanted: Iterable[str], folder: Path) -> None:
        """Registers controls by their socket names; ignores the kernel's own. Raises LabError."""
        for name in sorted(set(wanted)):
            if not name.startswith(PREFIX) or name in self._removals:
                continue
            if name in of_kernel():
                raise LabError(
                    f"the kernel has a congestion control {name} already: another lab runs; or end "
                    "what holds it: bpftool struct_ops"
                )
            folder.mkdir(exist_ok=True)
            compiled = build(name.removeprefix(PREFIX), folder)
            self._removals[name] = register(compiled)

    def remove(self) -> list[str]:
        """Unregisters the controls. Returns those that are still registered."""
        ours = set(self._removals)
        for take_away in self._removals.values():
            take_away()
        self._removals.clear()
        return [f"congestion control {n}" for n in sorted(ours & of_kernel())]
