# SPDX-License-Identifier: Apache-2.0
"""Compiles the v1model programs into ``p4src/build/``, and reports when that is stale.

``build/`` is committed, so that neither users nor CI need p4c. For Tidemark's program:

* ``tidemark.json``          loaded by BMv2 and the embedded switch
* ``tidemark.p4info.txtpb``  needed by P4Runtime clients
* ``report_layout.json``     position of each field of a report (`layout.py`)
* ``digest.json``            SHA-256 of every source, and the compiler's version

``build/int_md`` has the same files for the INT-MD program, except the layout.

The compiler is ``p4c-bm2-ss`` on PATH or ``$P4C_BM2_SS``; ``$P4C_FLAGS`` is
passed on (an uninstalled compiler needs ``-I …/p4include``).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import layout
import sources

SOURCE_DIR = Path(__file__).resolve().parent
BUILD_DIR = SOURCE_DIR / "build"
LAYOUT_NAME = "report_layout.json"
DIGEST_NAME = "digest.json"


class Program(NamedTuple):
    folder: str
    name: str
    build_dir: Path

    @property
    def json_name(self) -> str:
        return f"{self.name}.json"

    @property
    def p4info_name(self) -> str:
        return f"{self.name}.p4info.txtpb"

    @property
    def source(self) -> str:
        return f"{self.folder}/{self.name}.p4"


TIDEMARK = Program("v1model", "tidemark", BUILD_DIR)
INT_MD = Program("int_md", "int_md", BUILD_DIR / "int_md")
PROGRAMS = (TIDEMARK, INT_MD)


def stale_sources(program: Program, source_dir: Path = SOURCE_DIR) -> list[str]:
    return sources.stale(program.build_dir / DIGEST_NAME, source_dir, program.folder)


def find_compiler() -> str | None:
    """Returns the path of ``p4c-bm2-ss``, or None if it is not installed."""
    return os.environ.get("P4C_BM2_SS") or shutil.which("p4c-bm2-ss")


def compiler_version(compiler: str) -> str:
    out = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    words = (out.stdout + out.stderr).split("Version", 1)[-1].split()
    return words[0] if words else "unknown"


def compile_program(compiler: str, program: Program, out_dir: Path) -> None:
    """Compiles a program into ``out_dir``.

    Raises:
        subprocess.CalledProcessError: the compiler refused the program; its
            messages are on stderr.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            compiler,
            *shlex.split(os.environ.get("P4C_FLAGS", "")),
            "--Werror=invalid",
            # include/ has constants that only the other target needs.
            "--Wdisable=unused",
            program.source,
            "-o",
            str(out_dir / program.json_name),
            "--p4runtime-files",
            str(out_dir / program.p4info_name),
        ],
        cwd=SOURCE_DIR,
        check=True,
    )


def keep(compiler: str, program: Program, out_dir: Path) -> None:
    """Moves the output to its place under ``build/``."""
    names = [program.json_name, program.p4info_name, DIGEST_NAME]
    if program is TIDEMARK:
        made = json.loads((out_dir / program.json_name).read_text())
        (out_dir / LAYOUT_NAME).write_text(layout.text(made))
        names.append(LAYOUT_NAME)
    digest = {
        "compiler": f"p4c {compiler_version(compiler)}",
        "sources": sources.digests(SOURCE_DIR, program.folder),
    }
    (out_dir / DIGEST_NAME).write_text(json.dumps(digest, indent=2) + "\n")
    program.build_dir.mkdir(exist_ok=True)
    for name in names:
        shutil.copyfile(out_dir / name, program.build_dir / name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only report whether build/ is stale")
    arguments = parser.parse_args()
    if arguments.check:
        stale = sorted({f for program in PROGRAMS for f in stale_sources(program)})
        if stale:
            print(
                f"p4src/build is stale: {', '.join(stale)} changed; run `make p4`", file=sys.stderr
            )
        return 1 if stale else 0
    compiler = find_compiler()
    if compiler is None:
        print(
            "p4c-bm2-ss not found: install p4c (https://github.com/p4lang/p4c#installing-packaged-"
            "versions-of-p4c) or set P4C_BM2_SS. The compiled program is in p4src/build already; "
            "p4c is only needed after a change of p4src.",
            file=sys.stderr,
        )
        return 2
    for program in PROGRAMS:
        with tempfile.TemporaryDirectory() as scratch:
            out_dir = Path(scratch)
            try:
                compile_program(compiler, program, out_dir)
            except subprocess.CalledProcessError as error:
                return error.returncode
            keep(compiler, program, out_dir)
    print(f"wrote {BUILD_DIR.relative_to(SOURCE_DIR.parent)}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
