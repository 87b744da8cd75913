# SPDX-License-Identifier: Apache-2.0
"""Python libraries inside a package: wheels pinned by version and hash, installed by pip.

Wheels in the cache are not downloaded again: a second build needs no network.
"""

from __future__ import annotations

import fnmatch
import subprocess
import sys
from pathlib import Path

# Debian 12's Python.
PYTHON = "3.11"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
# Large files that our programs never load: remote stores, headers, the libraries' own tests,
# duplicates of shared libraries; and commands with their manual pages.
LEFT_OUT = (
    "bin/*",
    "share/*",
    # pip's records, which name directories of the build machine.
    "*.dist-info/RECORD",
    "*.dist-info/INSTALLER",
    "*.dist-info/REQUESTED",
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
    """Unpacks the libraries below `to`, with their licences (`NAME.dist-info`)."""
    if machine not in MACHINES:
        sys.exit(f"build.py: {requirements.name} has no wheels for {machine}")
    wanted: list[object] = ["--no-deps", "--require-hashes", "--only-binary=:all:"]
    wanted += ["--python-version", PYTHON, "--requirement", requirements]
    for platform in ("manylinux_2_28", "manylinux_2_17", "manylinux2014"):
        wanted += ["--platform", f"{platform}_{MACHINES[machine]}"]
    cache.mkdir(parents=True, exist_ok=True)
    install = ["install", "--no-index", "--find-links", cache, "--no-compile", "--target", to]
    if _pip(*install, *wanted):
        problem = _pip("download", "--dest", cache, *wanted) or _pip(*install, *wanted)
        if problem:
            sys.exit(f"build.py: wheels of {requirements.name}: {problem}")
    for path in sorted(to.rglob("*"), reverse=True):
        name = path.relative_to(to).as_posix()
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif any(fnmatch.fnmatch(name, p) for p in LEFT_OUT):
            path.unlink()
        else:
            path.chmod(0o644)


def _pip(*words: object) -> str:
    """Runs pip; returns its error output if it failed, otherwise nothing."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *map(str, words)], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ""
