#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds programs of this commit in two directories, and compares them byte by byte.

    reproducible.py [PROGRAM...]

`make test-reproducible` runs it for one program; `PROGRAMS="..."` for others.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# The controller contains the console: built once, because npm's tools are not tested here.
CONSOLE = "controller/console/dist"


def run(*command: object, cwd: Path) -> None:
    subprocess.run([str(c) for c in command], cwd=cwd, check=True)


def clone_to(clone: Path) -> None:
    run("git", "clone", "--quiet", "--shared", REPOSITORY, clone, cwd=REPOSITORY)
    if (REPOSITORY / CONSOLE).is_dir():
        shutil.copytree(REPOSITORY / CONSOLE, clone / CONSOLE, dirs_exist_ok=True)


def built(clone: Path, programs: list[str]) -> dict[str, bytes]:
    """Builds programs in a clone, as for the packages."""
    named = f"PROGRAMS={' '.join(programs)}"
    run("make", "--no-print-directory", "programs", "REPRODUCIBLE=1", named, cwd=clone)
    release = clone / "target/reproducible/release"
    return {p: (release / p).read_bytes() for p in programs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", default=["tidemark-traffic"])
    programs = parser.parse_args().programs
    with tempfile.TemporaryDirectory(prefix="tidemark-") as directory:
        # Paths of different lengths: padding alone would show up as a difference.
        clones = (Path(directory) / "a", Path(directory) / "another/and/deeper")
        # Clones both before building: the commit is in the programs, and a new one may be made.
        for clone in clones:
            clone_to(clone)
        first, second = (built(clone, programs) for clone in clones)
    differing = [p for p in programs if first[p] != second[p]]
    if differing:
        sys.exit(f"reproducible.py: not the same bytes: {', '.join(differing)}")
    named = [p for p in programs if directory.encode() in first[p]]
    if named:
        sys.exit(f"reproducible.py: the directory of the build is in {', '.join(named)}")
    print(f"the same bytes in two directories: {', '.join(programs)}")


if __name__ == "__main__":
    main()
