#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the Debian packages of layout.py from programs that are already built.

    build.py --programs target/release --manuals target/manuals --out target/packages

Equal programs and one commit give equal bytes: times are the commit's, owners are root, names are
sorted. `make packages` does everything.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import libraries
from layout import HERE, HOMEPAGE, MAINTAINER, PACKAGES, Package

REPOSITORY = Path(__file__).resolve().parents[2]


def out_of(*command: object, **more: object) -> str:
    """Returns a command's standard output; its failure ends the build."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"build.py: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout.strip()


def version() -> str:
    """Returns the workspace's version with the commit: 0.1.0+git20261122.5f6aaab."""
    package = out_of("cargo", "pkgid", "--package", "tidemark-collector", cwd=REPOSITORY)
    release = package.rpartition("#")[2].rpartition("@")[2]
    git = ["git", "-C", REPOSITORY]
    day, commit = out_of(*git, "log", "-1", "--format=%cd %h", "--date=format:%Y%m%d").split()
    return f"{release}+git{day}.{commit}"


def put(source: Path, to: Path, mode: int = 0o644) -> None:
    if not source.is_file():
        sys.exit(f"build.py: {source}: not there")
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, to)
    to.chmod(mode)


def packed(text: bytes, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(gzip.compress(text, mtime=0))


def tree(source: str, to: Path) -> None:
    """Copies a directory of the repository: only the files that git tracks."""
    listed = out_of("git", "-C", REPOSITORY, "ls-files", "--", source).splitlines()
    for name in listed:
        put(REPOSITORY / name, to / Path(name).relative_to(source))


def c_library(programs: list[Path]) -> str:
    """Returns dependencies on libc6 and libgcc, by the highest symbol version."""
    needs = ""
    for program in programs:
        needs += out_of("objdump", "-T", program)
        libraries = set(re.findall(r"NEEDED\s+(\S+)", out_of("objdump", "-p", program)))
        foreign = libraries - {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
        if foreign:
            sys.exit(f"build.py: {program.name} needs {', '.join(sorted(foreign))}")
    found = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", needs)}
    return f"libc6 (>= {'.'.join(map(str, max(found)))}), libgcc-s1"


def scripts(package: Package, root: Path) -> None:
    """Makes users before files need them, and units known to systemd but not started."""
    after, before = [], []
    if package.users:
        users = f"{package.name}.conf"
        put(REPOSITORY / HERE / "etc/sysusers.conf", root / "usr/lib/sysusers.d" / users)
        after.append(f"command -v systemd-sysusers >/dev/null && systemd-sysusers {users} || :")
    if package.units:
        after.append("[ ! -d /run/systemd/system ] || systemctl daemon-reload || :")
        units = " ".join(f"'{u.replace('@.', '@*.')}'" for u in package.units)
        before.append('if [ "$1" = remove ] && [ -d /run/systemd/system ]; then')
        before.append(f"\tsystemctl stop {units} || :\nfi")
    if package.libraries:
        # Compiled by root, once; users could not save what Python compiles.
        after.append(f"py3compile -p {package.name} /{package.libraries[1]}")
        before.append(f"py3clean -p {package.name}")
    if after:
        after = ['if [ "$1" = configure ]; then', *(f"\t{step}" for step in after), "fi"]
    for name, lines in (("postinst", after), ("prerm", before)):
        if lines:
            script = root / "DEBIAN" / name
            script.write_text("\n".join(["#!/bin/sh", "set -e", *lines]) + "\n")
            script.chmod(0o755)


def manual(name: str, manuals: Path, root: Path) -> None:
    """Adds the manual pages of a command and its subcommands, and its completions."""
    page = manuals / f"man/{name}.1"
    if not page.is_file():
        sys.exit(f"build.py: {name} has no manual page {page}")
    for section in (page, *sorted(manuals.glob(f"man/{name}-*.1"))):
        packed(section.read_bytes(), root / f"usr/share/man/man1/{section.name}.gz")
    for shell, path in (
        (f"bash/{name}", f"usr/share/bash-completion/completions/{name}"),
        (f"zsh/_{name}", f"usr/share/zsh/vendor-completions/_{name}"),
        (f"fish/{name}.fish", f"usr/share/fish/vendor_completions.d/{name}.fish"),
    ):
        put(manuals / shell, root / path)


def stage(package: Package, args: argparse.Namespace, release: str, root: Path) -> None:
    """Builds the package's tree below `root`."""
    programs, manuals, wheels = args.programs, args.manuals, args.wheels
    (root / "DEBIAN").mkdir(parents=True)
    binaries = []
    for name in package.programs:
        to = root / "usr/bin" / name
        put(programs / name, to, 0o755)
        out_of("strip", "--strip-unneeded", to)
        binaries.append(to)
    for name in package.commands():
        manual(name, REPOSITORY / package.manuals if package.manuals else manuals, root)
    for source, path in (package.files | package.conffiles).items():
        put(REPOSITORY / source, root / path, 0o755 if path.startswith("usr/bin/") else 0o644)
    for source, path in package.trees.items():
        tree(source, root / path)
    if package.libraries:
        requirements, path = package.libraries
        machine = out_of("dpkg", "--print-architecture")
        libraries.unpack(REPOSITORY / requirements, machine, wheels, root / path)
    for path, target in package.links.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    for unit in package.units:
        put(REPOSITORY / HERE / "systemd" / unit, root / "lib/systemd/system" / unit)
    if package.recorded:
        run, path = package.recorded
        reduce = REPOSITORY / "common/test-support/golden/reduce.py"
        out_of(sys.executable, reduce, "--unpack", run, "--out", root / path)
        for compressed in sorted((root / path).glob("*.gz")):
            compressed.write_bytes(gzip.compress(gzip.decompress(compressed.read_bytes()), mtime=0))
    doc = root / "usr/share/doc" / package.name
    doc.mkdir(parents=True, exist_ok=True)
    if not (doc / "copyright").exists():
        put(REPOSITORY / "LICENSE", doc / "copyright")
    packed((REPOSITORY / "CHANGELOG.md").read_bytes(), doc / "changelog.gz")
    if package.conffiles:
        lines = "".join(f"/{path}\n" for path in package.conffiles.values())
        (root / "DEBIAN/conffiles").write_text(lines)
    scripts(package, root)
    control(package, binaries, release, root)


def control(package: Package, binaries: list[Path], release: str, root: Path) -> None:
    depends = [*package.needs, *(f"{d} (= {release})" for d in package.depends)]
    if binaries:
        depends.insert(0, c_library(binaries))
    files = [
        p
        for p in sorted(root.rglob("*"))
        if p.is_file() and not p.is_symlink() and "DEBIAN" not in p.parts
    ]
    size = sum(p.stat().st_size for p in files)
    machine = architecture(package)
    suggests = f"Suggests: {', '.join(package.suggests)}\n" if package.suggests else ""
    (root / "DEBIAN/control").write_text(
        f"Package: {package.name}\nVersion: {release}\nArchitecture: {machine}\n"
        f"Maintainer: {MAINTAINER}\nInstalled-Size: {-(-size // 1024)}\n"
        f"Depends: {', '.join(depends)}\n{suggests}"
        f"Section: net\nPriority: optional\nHomepage: {HOMEPAGE}\n"
        f"Description: {package.summary}\n {package.description}\n"
    )
    sums = "".join(f"{_md5(p)}  {p.relative_to(root)}\n" for p in files)
    (root / "DEBIAN/md5sums").write_text(sums)


def architecture(package: Package) -> str:
    """Returns the architecture; `all` without compiled programs and libraries."""
    compiled = package.programs or package.libraries
    return out_of("dpkg", "--print-architecture") if compiled else "all"


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def build(package: Package, args: argparse.Namespace, release: str, epoch: str) -> Path:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / package.name
        stage(package, args, release, root)
        for path in [root, *root.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
            os.utime(path, (int(epoch), int(epoch)))
        # The libraries are large: xz takes minutes.
        packed_by = ["-Zzstd", "-z9"] if package.libraries else ["-Zxz"]
        command = ["dpkg-deb", "--root-owner-group", *packed_by, "--build", root, args.out]
        out_of(*command, env=os.environ | {"SOURCE_DATE_EPOCH": epoch})
    return args.out / f"{package.name}_{release}_{architecture(package)}.deb"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, default=REPOSITORY / "target/release")
    parser.add_argument("--manuals", type=Path, default=REPOSITORY / "target/manuals")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "target/packages")
    parser.add_argument("--wheels", type=Path, default=REPOSITORY / "target/wheels")
    parser.add_argument("--only", help="one package")
    args = parser.parse_args()
    for tool in ("dpkg-deb", "objdump", "strip"):
        if not shutil.which(tool):
            sys.exit(f"build.py: {tool} is not on PATH (Debian: packages dpkg and binutils)")
    args.out.mkdir(parents=True, exist_ok=True)
    release = version()
    epoch = out_of("git", "-C", REPOSITORY, "log", "-1", "--format=%ct")
    for package in PACKAGES:
        if args.only not in (None, package.name):
            continue
        deb = build(package, args, release, epoch)
        print(f"{hashlib.sha256(deb.read_bytes()).hexdigest()}  {deb}")


if __name__ == "__main__":
    main()
