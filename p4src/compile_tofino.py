# SPDX-License-Identifier: Apache-2.0
"""Compiles the TNA program for Tofino 1 and 2 into ``p4src/build/tofino*/``.

Of the compiler's output, these files are committed for each target:

* ``p4info.txtpb``      tables and fields as P4Runtime clients see them
* ``bfrt_tables.json``  the same for BFRT clients: bfrt.json without the tables of
                        snapshots and hash units, which make up most of it
* ``resources.json``    stages, tables, PHV, memories and stateful ALUs used
* ``digest.json``       SHA-256 of every source, SHA-256 and size of all output
                        (including bfrt.json, the assembly and the binary), and the
                        compiler

The compiler is ``$P4C_TOFINO`` or the first of ``bf-p4c``, ``p4c-barefoot`` and
``p4c`` (if it supports Tofino) on PATH. It may be a driver, as open-p4studio
installs it, or ``p4c-barefoot`` itself, with ``bfas`` on PATH, next to it, or in
``$BFAS``; then ``$P4C_TOFINO_FLAGS`` is passed on (an uninstalled compiler needs
``-I …/p4include``).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import sources
import tofino_assembly

SOURCE_DIR = Path(__file__).resolve().parent
BUILD_DIR = SOURCE_DIR / "build"
DIGEST_NAME = "digest.json"
COMMITTED = ("p4info.txtpb", "bfrt_tables.json", "resources.json")


# Types of tables in bfrt.json that the program declares.
TABLE_TYPES = ("MatchAction_Direct", "Register")


class Target(NamedTuple):
    name: str
    architecture: str
    program: str

    @property
    def build_dir(self) -> Path:
        return BUILD_DIR / self.folder

    @property
    def folder(self) -> str:
        return self.program.removeprefix("tidemark_")


TARGETS = (
    Target("tofino", "tna", "tidemark_tofino1"),
    Target("tofino2", "t2na", "tidemark_tofino2"),
)


def stale_sources(target: Target, source_dir: Path = SOURCE_DIR) -> list[str]:
    return sources.stale(target.build_dir / DIGEST_NAME, source_dir, "tna")


def find_compiler() -> str | None:
    """Returns the compiler's path, or None if there is none for Tofino."""
    if named := os.environ.get("P4C_TOFINO"):
        return shutil.which(named) or named
    for name in ("bf-p4c", "p4c-barefoot"):
        if found := shutil.which(name):
            return found
    driver = shutil.which("p4c")
    if driver:
        out = subprocess.run([driver, "--target-help"], capture_output=True, text=True, check=False)
        if "tofino" in out.stdout:
            return driver
    return None


def is_driver(compiler: str) -> bool:
    return Path(compiler).name != "p4c-barefoot"


def compiler_version(out_dir: Path) -> str:
    """Returns the compiler's version and revision from its output folder."""
    return json.loads((out_dir / "manifest.json").read_text())["compiler_version"]


def find_assembler(compiler: str) -> str:
    candidates = (
        os.environ.get("BFAS"),
        str(Path(compiler).with_name("bfas")),
        str(Path(compiler).parent.parent / "bf-asm" / "bfas"),
        shutil.which("bfas"),
    )
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            return candidate
    raise SystemExit("bfas not found: put it next to p4c-barefoot or on PATH, or set BFAS")


def compile_program(compiler: str, target: Target, out_dir: Path) -> None:
    """Compiles and assembles one target into ``out_dir``.

    Raises:
        subprocess.CalledProcessError: the program was refused; the messages are on
            stderr.
        tofino_assembly.Miscompiled: it was accepted, but the output cannot work.
    """
    # Snapshots are ordered by pointers, which also depend on the lengths of paths.
    with tempfile.TemporaryDirectory() as scratch:
        compile_into(compiler, target, Path(scratch))
        shutil.copytree(scratch, out_dir, dirs_exist_ok=True)


def compile_into(compiler: str, target: Target, out_dir: Path) -> None:
    source = f"tna/{target.program}.p4"
    # The include files have constants that only the other target needs.
    common = ["-g", "--Wdisable=unused", "--bf-rt-schema", str(out_dir / "bfrt.json")]
    p4info = ["--p4runtime-files", str(out_dir / "p4info.txtpb")]
    architecture = ["--target", target.name, "--arch", target.architecture]
    if is_driver(compiler):
        run([compiler, *architecture, *common, *p4info, "-o", str(out_dir), source])
    else:
        flags = shlex.split(os.environ.get("P4C_TOFINO_FLAGS", ""))
        define = f"-D__TARGET_TOFINO__={target.program[-1]}"
        command = [compiler, *architecture, define, *common, *p4info, *flags]
        run([*command, "-o", str(out_dir), source])
        for assembly in sorted(out_dir.glob("**/*.bfa")):
            command = [find_assembler(compiler), "--target", target.name, "-o"]
            assemble([*command, str(assembly.parent), str(assembly)])
    write_resources(out_dir)
    write_tables(out_dir)


def run(command: list[str]) -> None:
    # p4c looks for its headers relative to its working directory; the output is
    # reproducible only with relative source paths, and without random addresses.
    setarch = shutil.which("setarch")
    fixed = [setarch, "-R"] if setarch else []
    subprocess.run([*fixed, *command], cwd=SOURCE_DIR, check=True)


def assemble(command: list[str]) -> None:
    # It warns about every hash group that tables share; only errors are useful.
    done = subprocess.run(command, cwd=SOURCE_DIR, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        done.check_returncode()


def write_resources(out_dir: Path) -> None:
    assembly = single(out_dir, "*.bfa")
    tofino_assembly.check(assembly)
    resources = tofino_assembly.resources(assembly)
    (out_dir / "resources.json").write_text(json.dumps(resources, indent=2) + "\n")


def write_tables(out_dir: Path) -> None:
    described = json.loads((out_dir / "bfrt.json").read_text())
    described["tables"] = [t for t in described["tables"] if t["table_type"] in TABLE_TYPES]
    (out_dir / "bfrt_tables.json").write_text(json.dumps(described, indent=1) + "\n")


def single(out_dir: Path, pattern: str) -> Path:
    found = sorted(out_dir.glob(f"**/{pattern}"))
    if len(found) != 1:
        raise SystemExit(f"expected one {pattern} in the compiler's output, found {len(found)}")
    return found[0]


def outputs(target: Target, out_dir: Path) -> dict[str, dict]:
    """Returns SHA-256 and size of everything that a switch or a controller would load.

    An id, and the paths in the assembly's comments, differ between runs and are
    left out.
    """
    result = {}
    for name, path in {
        "bfrt.json": out_dir / "bfrt.json",
        "bfrt_tables.json": out_dir / "bfrt_tables.json",
        "p4info.txtpb": out_dir / "p4info.txtpb",
        "resources.json": out_dir / "resources.json",
        "assembly": single(out_dir, "*.bfa"),
        "binary": single(out_dir, f"{target.name}.bin"),
    }.items():
        content = path.read_bytes()
        if name == "binary":
            content = re.sub(rb"(run_id\0.{4})[0-9a-f]{16}", rb"\1", content, flags=re.S)
        if name == "assembly":
            content = tofino_assembly.without_comments(path.read_text()).encode()
        result[name] = {"bytes": len(content), "sha256": sources.sha256(content)}
    return result


def digest(target: Target, out_dir: Path) -> dict:
    return {
        "compiler": f"p4c {compiler_version(out_dir)}",
        "target": target.name,
        "sources": sources.digests(SOURCE_DIR, "tna"),
        "outputs": outputs(target, out_dir),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only report whether build/ is stale")
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, help="keep all of the compiler's output there"
    )
    arguments = parser.parse_args()
    if arguments.check:
        stale = {f for target in TARGETS for f in stale_sources(target)}
        if stale:
            print(f"p4src/build/tofino* is stale: {', '.join(sorted(stale))}", file=sys.stderr)
        return 1 if stale else 0
    compiler = find_compiler()
    if compiler is None:
        print(
            "no Tofino compiler found: build p4c with -DENABLE_TOFINO=ON, or open-p4studio, and "
            "put it on PATH or in P4C_TOFINO (docs/how-to/tofino.md)",
            file=sys.stderr,
        )
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        for target in TARGETS:
            out_dir = (arguments.keep or Path(scratch)).resolve() / target.folder
            try:
                compile_program(compiler, target, out_dir)
            except subprocess.CalledProcessError as error:
                print(f"{target.program}: not compiled", file=sys.stderr)
                return error.returncode
            except tofino_assembly.Miscompiled as error:
                print(f"{target.program}: {error}", file=sys.stderr)
                return 1
            target.build_dir.mkdir(parents=True, exist_ok=True)
            for name in COMMITTED:
                shutil.copyfile(out_dir / name, target.build_dir / name)
            (target.build_dir / DIGEST_NAME).write_text(
                json.dumps(digest(target, out_dir), indent=2) + "\n"
            )
            print(f"wrote {target.build_dir.relative_to(SOURCE_DIR.parent)}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
