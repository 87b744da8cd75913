# SPDX-License-Identifier: Apache-2.0
"""Python libraries inside a package: wheels named by version and hash, unpacked.

A wheel that is in the cache already is not asked for again: a second build needs no network.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

# Debian 12's.
PYTHON = "3.11"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
# What nothing of ours loads, and is large: remote stores, headers, the libraries' own tests, the
# other names of a shared library.
LEFT_OUT = (
    "*.data/*",
    "fontTools/*/tests/*",
    "matplotlib/tests/*",
    "mpl_toolkits/*/tests/*",
    "pyarrow/tests/*",
    "pyarrow/include/*",
    "pyarrow/includes/*",
    "pyarrow/src/*",
    "pyarrow/*.p[xy][xdi]",
    "pyarrow/*flight*",
    "pyarrow/*s3*",
    "pyarrow/libarrow_python*.so",
    "pyarrow/libarrow_python*.so.*.*.*",
)


def unpack(requirements: Path, machine: str, cache: Path, to: Path) -> None:
    """The libraries below `to`, with their licences (`NAME.dist-info`)."""
    if machine not in MACHINES:
        sys.exit(f"build.py: {requirements.name} has no wheels for {machine}")
    for wheel in _wheels(requirements, MACHINES[machine], cache):
        with zipfile.ZipFile(wheel) as packed:
            for name in sorted(packed.namelist()):
                if name.endswith("/") or any(fnmatch.fnmatch(name, p) for p in LEFT_OUT):
                    continue
                path = to / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(packed.read(name))
                path.chmod(0o644)


def _wheels(requirements: Path, machine: str, cache: Path) -> list[Path]:
    wanted = _wanted(requirements)
    found = _matching(wanted, cache)
    if len(found) < len(wanted):
        _download(requirements, machine, cache)
        found = _matching(wanted, cache)
    if missing := wanted.keys() - found.keys():
        sys.exit(f"build.py: no wheel of {', '.join(sorted(missing))} in {cache}")
    return [found[name] for name in sorted(found)]


def _wanted(requirements: Path) -> dict[str, set[str]]:
    """Hashes by name."""
    wanted: dict[str, set[str]] = {}
    name = ""
    for line in requirements.read_text().splitlines():
        if pinned := re.match(r"([\w.-]+)==", line):
            name = pinned[1]
            wanted[name] = set()
        elif hashed := re.search(r"--hash=sha256:(\w{64})", line):
            wanted[name].add(hashed[1])
    return wanted


def _matching(wanted: dict[str, set[str]], cache: Path) -> dict[str, Path]:
    found = {}
    for wheel in sorted(cache.glob("*.whl")):
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        found |= {name: wheel for name, hashes in wanted.items() if digest in hashes}
    return found


def _download(requirements: Path, machine: str, cache: Path) -> None:
    words: list[object] = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    words += ["--disable-pip-version-check", "--require-hashes", "--only-binary=:all:"]
    words += ["--python-version", PYTHON, "--requirement", requirements, "--dest", cache]
    for platform in ("manylinux_2_28", "manylinux_2_17", "manylinux2014"):
        words += ["--platform", f"{platform}_{machine}"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"build.py: wheels of {requirements.name}: {done.stderr.strip()}")
