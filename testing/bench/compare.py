# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of the working tree with an earlier commit, in alternating runs.

    python testing/bench/compare.py BASE [--only join decode]    (make bench-compare BASE=commit)

Both are built; then each figure is measured alternately, base and present, and the median of the
ratios counts, because other load affects both. A figure below 0.95 is measured again, up to three
times as often; if it stays below, the comparison fails. Only uses figures by CPU time, which need
neither root nor a quiet machine: the collector's per-core rows, the switch's pipeline, the
controller's estimates in simulated time."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from figures import READERS, Row
from machine import REPOSITORY, git

LEAST = 0.95
ROUNDS = 3
MOST_ROUNDS = 9


@dataclass(frozen=True)
class Part:
    """A benchmark program; `reader` names the function that reads its rows."""

    reader: str
    # Cargo's arguments for the package and the profile.
    build: list[str]
    # The program's arguments; `{json}`: its output file.
    arguments: list[str]
    # Names of its rows, each measured separately if the program can.
    words: list[str]
    # Whether to parse its text output, if it has no JSON.
    parse: bool = False


COLLECTOR_ROWS = ["decode", "join", "parquet", "encode", "import", "text"]
PARTS = [
    Part(
        "collector",
        ["bench", "--no-run", "-p", "tidemark-collector", "--bench", "collector"],
        ["--bench", "{word}", "--json={json}"],
        COLLECTOR_ROWS,
    ),
    Part(
        "pipeline",
        ["build", "--release", "-p", "tidemark-switch", "--example", "bench"],
        ["300000", "{word}"],
        ["1514-byte frames, each reported", "64-byte frames, each reported"],
        parse=True,
    ),
    Part(
        "controller",
        ["bench", "--no-run", "-p", "tidemark-controller", "--bench", "controller"],
        ["--bench", "--counted", "yes", "--links", "200", "--measure", "10", "--json", "{json}"],
        [""],
    ),
]


def build(source: Path, target: Path, part: Part) -> Path:
    """Builds the program of a part; returns its path."""
    command = ["cargo", *part.build, "--locked", "--message-format=json", "-q"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(target)}
    printed = subprocess.run(
        command, cwd=source, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    names = {part.build[-1]}
    for line in printed.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] in names:
            return Path(message["executable"])
    raise SystemExit(f"error: cargo built no program for {' '.join(part.build)}")


def measured(program: Path, source: Path, part: Part, word: str, file: Path) -> list[Row]:
    """Returns the rows of one run of a program."""
    filled = [a.format(json=file, word=word) for a in part.arguments]
    file.unlink(missing_ok=True)
    printed = subprocess.run(
        [str(program), *filled], cwd=source, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    if not part.parse:
        return READERS[part.reader](json.loads(file.read_text()))
    raw = {}
    for line in printed.splitlines():
        name, _, rest = line.partition(": median of 5 ")
        raw[name] = float(rest.split()[0]) * 1e6
    return READERS[part.reader](raw)


def ratio(base: Row, now: Row) -> float:
    """Returns how much better the present figure is; above 1 is better."""
    return now.value / base.value if now.more_is_better else base.value / now.value


def compare(programs: tuple[Path, Path], sources: tuple[Path, Path], part: Part, word: str) -> dict:
    """Returns the ratios of all rows that both programs have."""
    ratios: dict[str, list[float]] = {}
    texts: dict[str, str] = {}
    file = programs[1].with_suffix(".figures.json")
    rounds = ROUNDS
    done = 0
    while done < rounds:
        base, now = (
            {r.name: r for r in measured(p, s, part, word, file)}
            for p, s in zip(programs, sources, strict=True)
        )
        for name in base.keys() & now.keys():
            # Shares and memory are not speeds.
            if base[name].unit in ("M/s", "Mpps", "cores") and base[name].value > 0:
                ratios.setdefault(name, []).append(ratio(base[name], now[name]))
                texts[name] = now[name].text
        done += 1
        slow = any(statistics.median(r) < LEAST for r in ratios.values())
        if done == rounds and slow and rounds < MOST_ROUNDS:
            rounds += ROUNDS
    return {texts[n]: (statistics.median(r), min(r), max(r), len(r)) for n, r in ratios.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", help="commit to compare with")
    parser.add_argument("--only", nargs="*", default=[], help="words of rows or parts")
    args = parser.parse_args()
    commit = git("rev-parse", "--verify", f"{args.base}^{{commit}}")
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve()
    folder = target / "bench-compare"
    source = folder / "base"
    if not source.exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", str(source), commit)
    subprocess.run(["git", "-C", str(source), "checkout", "-q", "--detach", commit], check=True)
    below = []
    print(f"{'figure':58} {'ratio':>6}  least to most", flush=True)
    for part in PARTS:
        words = [
            w for w in part.words if not args.only or part.reader in args.only or w in args.only
        ]
        if not words:
            continue
        programs = (build(source, folder / "target", part), build(REPOSITORY, target, part))
        for word in words:
            found = compare(programs, (source, REPOSITORY), part, word)
            for text, (middle, least, most, n) in found.items():
                slow = middle < LEAST
                mark = f" BELOW {LEAST}" if slow else ""
                print(
                    f"{text:58} {middle:6.3f}  {least:.3f} to {most:.3f} of {n}{mark}", flush=True
                )
                below += [text] if slow else []
    if below:
        print(f"{len(below)} figures below {LEAST} of {commit[:12]}", file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
