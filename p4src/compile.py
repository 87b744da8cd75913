# SPDX-License-Identifier: Apache-2.0
"""Compiles the v1model program into ``p4src/build/`` and says when that is stale.

``build/`` is committed, so that neither users nor CI need p4c:

* ``tidemark.json``          what BMv2 and the embedded switch load
* ``tidemark.p4info.txtpb``  what P4Runtime clients need
* ``report_layout.json``     where each field of a report lies (`layout.py`)
* ``digest.json``            SHA-256 of every source, and the compiler's version

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

import layout
import sources

SOURCE_DIR = Path(__file__).resolve().parent
BUILD_DIR = SOURCE_DIR / "build"
PROGRAM = "v1model/tidemark.p4"
JSON_NAME = "tidemark.json"
P4INFO_NAME = "tidemark.p4info.txtpb"
LAYOUT_NAME = "report_layout.json"
DIGEST_NAME = "digest.json"


def stale_sources(source_dir: Path = SOURCE_DIR) -> list[str]:
    return sources.stale(BUILD_DIR / DIGEST_NAME, source_dir, "v1model")


def find_compiler() -> str | None:
    """Path of ``p4c-bm2-ss``, or None where it is not installed."""
    return os.environ.get("P4C_BM2_SS") or shutil.which("p4c-bm2-ss")


def compiler_version(compiler: str) -> str:
    out = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    words = (out.stdout + out.stderr).split("Version", 1)[-1].split()
    return words[0] if words else "unknown"


def compile_program(compiler: str, out_dir: Path) -> None:
    """Compiles into ``out_dir``.

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
            PROGRAM,
            "-o",
            str(out_dir / JSON_NAME),
            "--p4runtime-files",
            str(out_dir / P4INFO_NAME),
        ],
        cwd=SOURCE_DIR,
        check=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether build/ is stale")
    arguments = parser.parse_args()
    if arguments.check:
        stale = stale_sources()
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
    with tempfile.TemporaryDirectory() as scratch:
        out_dir = Path(scratch)
        try:
            compile_program(compiler, out_dir)
        except subprocess.CalledProcessError as error:
            return error.returncode
        program = json.loads((out_dir / JSON_NAME).read_text())
        (out_dir / LAYOUT_NAME).write_text(layout.text(program))
        digest = {
            "compiler": f"p4c {compiler_version(compiler)}",
            "sources": sources.digests(SOURCE_DIR, "v1model"),
        }
        (out_dir / DIGEST_NAME).write_text(json.dumps(digest, indent=2) + "\n")
        BUILD_DIR.mkdir(exist_ok=True)
        for name in (JSON_NAME, P4INFO_NAME, LAYOUT_NAME, DIGEST_NAME):
            shutil.copyfile(out_dir / name, BUILD_DIR / name)
    print(f"wrote {BUILD_DIR.relative_to(SOURCE_DIR.parent)}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
