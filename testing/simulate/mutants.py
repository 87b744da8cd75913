#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Planted bugs: checks whether the simulation finds them.

Each patch in `mutants/` plants one bug in the product. Its header has lines `Area:`, `Bug:`, and
`Seed:` if a seed that finds it is known. If an added line says `MUTANT`, the bug is active while
the environment variable TIDEMARK_MUTANT names the patch. So one build has all of them, in a
worktree of the last commit next to the build cache; the user's tree is not changed. A patch that
does not apply is an error, and so is a build that finds something with no bug switched on.

Results per seed are kept next to the build while the build is the same: an interrupted run
continues. `--write` puts the table into mutants/README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOUND = re.compile(r"^seed (\d+): (.+?) at ([\d.]+) s: ", re.MULTILINE)
PAGE = HERE / "mutants" / "README.md"
BEGIN, END = "<!-- planted bugs: make simulate-mutants -->", "<!-- end of planted bugs -->"
ACTIVE = 'std::env::var_os("TIDEMARK_MUTANT").is_some_and(|m| m == "{name}")'


@dataclass(frozen=True)
class Mutant:
    """A planted bug."""

    name: str
    area: str
    bug: str
    patch: Path
    # A seed that has found it, tried first.
    seed: int | None


def fail(text: str) -> None:
    sys.exit(f"mutants: {text}")


def git(*args: str, cwd: Path) -> str:
    done = subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"git {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def mutants(only: list[str]) -> list[Mutant]:
    """Returns all patches, or those named."""
    found = []
    for patch in sorted((HERE / "mutants").glob("*.patch")):
        header = dict(re.findall(r"^(Area|Bug|Seed): (.+)$", patch.read_text(), re.MULTILINE))
        if not {"Area", "Bug"} <= set(header):
            fail(f"{patch}: begins with a line Area: and a line Bug:")
        seed = int(header["Seed"]) if "Seed" in header else None
        found.append(Mutant(patch.stem, header["Area"], header["Bug"], patch, seed))
    unknown = set(only) - {m.name for m in found}
    if unknown:
        fail(f"no patch {', '.join(sorted(unknown))} in {HERE / 'mutants'}")
    return [m for m in found if not only or m.name in only]


def prepare(tree: Path, planted: list[Mutant]) -> None:
    """Makes a worktree of the last commit with every bug in it, none switched on."""
    before = {p: (p.read_bytes(), p.stat()) for p in tree.rglob("*.rs")}
    if tree.exists():
        git(
            "checkout",
            "--quiet",
            "--force",
            "--detach",
            git("rev-parse", "HEAD", cwd=ROOT).strip(),
            cwd=tree,
        )
    else:
        git("worktree", "prune", cwd=ROOT)
        git("worktree", "add", "--quiet", "--detach", str(tree), "HEAD", cwd=ROOT)
    for m in planted:
        git("apply", "--check", str(m.patch), cwd=tree)
    for m in planted:
        git("apply", "-C1", str(m.patch), cwd=tree)
        for name in re.findall(r"^\+\+\+ b/(.+)$", m.patch.read_text(), re.MULTILINE):
            source = tree / name
            text = source.read_text()
            active = re.sub(r"\bMUTANT\b", ACTIVE.format(name=m.name), text)
            if active == text:
                fail(f"{m.patch}: no added line in {name} says MUTANT")
            source.write_text(active)
    # Unchanged files keep their time, so that cargo does not rebuild them.
    for path, (content, stat) in before.items():
        if path.exists() and path.read_bytes() == content:
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def build(tree: Path, target: Path) -> Path:
    command = ["cargo", "build", "--release", "--locked", "-q", "-p", "tidemark-simulate"]
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, "CARGO_TARGET_DIR": str(target)}, check=False
    )
    if done.returncode:
        fail("the tree with the patches does not build")
    return target / "release" / "tidemark-simulate"


def find(binary: Path, name: str, seed: int, seeds: int, jobs: int) -> tuple[int, str] | None:
    """Returns the first seed that breaks an invariant, and the invariant."""
    command = [str(binary), "--seed", str(seed), "--seeds", str(seeds), "--jobs", str(jobs)]
    done = subprocess.run(
        [*command, "--findings", "1", "--no-shrink"],
        env={**os.environ, "TIDEMARK_MUTANT": name},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [(int(s), invariant) for s, invariant, _ in FOUND.findall(done.stdout)]
    if done.returncode and not found:
        # A bug may cause a panic, or an error that ends the run.
        said = (done.stderr or done.stdout).strip().splitlines()
        if not said:
            fail(f"{name or 'without a bug'}: the simulation ended with {done.returncode}")
        return (0, f"it stops: {said[-1][:80]}")
    return min(found, default=None)


class Results:
    """Results by patch; results of another program or number of seeds are discarded."""

    def __init__(self, path: Path, binary: Path, seeds: int) -> None:
        self.path = path
        self.of = f"{hashlib.sha256(binary.read_bytes()).hexdigest()} {seeds}"
        kept = json.loads(path.read_text()) if path.exists() else {}
        self.found = kept.get("found", {}) if kept.get("of") == self.of else {}

    def put(self, name: str, found: tuple[int, str] | None) -> None:
        self.found[name] = found
        text = json.dumps({"of": self.of, "found": self.found}, indent=1)
        self.path.with_suffix(".new").write_text(text)
        self.path.with_suffix(".new").replace(self.path)


def search(binary: Path, m: Mutant, args: argparse.Namespace) -> tuple[int, str] | None:
    """Tries the known seed first, then all seeds from the first on."""
    found = find(binary, m.name, m.seed, 1, 1) if m.seed is not None else None
    return found or find(binary, m.name, args.seed, args.seeds, args.jobs)


def write_page(lines: list[str], summary: str) -> None:
    """Writes the table and summary between the page's markers."""
    text = PAGE.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        fail(f"{PAGE}: has no place for the table ({BEGIN})")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text("\n".join([head + BEGIN, summary, "", *lines, END]) + tail)


def main() -> int:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tidemark" / "mutants"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=400, help="at most so many seeds for each")
    parser.add_argument("--seed", type=int, default=1, help="the first of them")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--only", action="append", default=[], help="one patch by its name")
    parser.add_argument("--least", type=float, default=0.95, help="part that must be found")
    parser.add_argument("--cache", type=Path, default=cache, help="where worktree and build are")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--clean", action="store_true", help="remove them in the end")
    args = parser.parse_args()
    planted = mutants(args.only)
    args.cache.mkdir(parents=True, exist_ok=True)
    tree = args.cache / "tree"
    prepare(tree, planted)
    binary = build(tree, args.cache / "target")
    results = Results(args.cache / "results.json", binary, args.seeds)
    if "sound" not in results.found:
        sound = find(binary, "", args.seed, args.seeds // 4, args.jobs)
        if sound:
            fail(f"without a bug, seed {sound[0]} breaks: {sound[1]}")
        results.put("sound", None)
    lines = ["| planted bug | area | found at seed | by |", "|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    count = 0
    for m in planted:
        if m.name not in results.found:
            results.put(m.name, search(binary, m, args))
        found = results.found[m.name]
        count += found is not None
        seed, by = found or ("not found", "")
        lines.append(f"| {m.bug} (`{m.name}`) | {m.area} | {seed} | {by} |")
        print(lines[-1], flush=True)
    summary = (
        f"{count} of {len(planted)} are found, each at the seed that its patch names or at one of"
        f" {args.seeds} others; without a bug, {args.seeds // 4} seeds break nothing."
    )
    print(f"\n{summary}")
    if args.write:
        write_page(lines, summary)
    if args.clean:
        git("worktree", "remove", "--force", str(tree), cwd=ROOT)
        shutil.rmtree(args.cache)
    return 0 if count >= args.least * len(planted) else 1


if __name__ == "__main__":
    sys.exit(main())
