# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark and writes its page: date, machine, commit, command and every row, with the raw
output next to it.

    python testing/bench/page.py collector [-- WORD ...]      (make bench-page BENCH_OF=collector)

The page is docs/benchmarks/DATE-NAME.md; another one of the same day gets a letter after the date.
Words after the name are passed to the benchmark. The README's figures come from the newest pages
(`--readme` writes them, `--check` compares)."""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from figures import READERS, Row, table
from machine import REPOSITORY, machine

PAGES = REPOSITORY / "docs" / "benchmarks"
README = REPOSITORY / "README.md"
BEGIN, END = "<!-- <begin generated: figures> -->", "<!-- <end generated: figures> -->"


@dataclass(frozen=True)
class Benchmark:
    """How to run a benchmark. `{json}` in the command is the file for its raw output."""

    title: str
    command: list[str]


BENCHMARKS = {
    "collector": Benchmark("collector", ["make", "bench-collector", "BENCH=--json={json} {more}"]),
    "controller": Benchmark(
        "controller", ["make", "bench-controller", "BENCH=--json {json} {more}"]
    ),
    "switch": Benchmark("switch", ["make", "bench-switch", "BENCH=--json {json} {more}"]),
    "watching": Benchmark(
        "cost of watching", ["make", "bench-watching", "BENCH=--json {json} {more}"]
    ),
}

# Figures that the README quotes: benchmark, row, and the sentence's wording.
QUOTED = [
    ("collector", "join", "reports a second and core, decoded and joined with `tcp_probe`"),
    ("collector", "single-by-ring", "single datagrams a second, received and joined live"),
    (
        "switch",
        "rate-1518-singles",
        "frames of 1518 bytes a second through the switch, each reported",
    ),
    ("switch", "bmv2-1518-singles", "times as many frames as BMv2"),
    ("watching", "goodput-agent", "of the goodput is left to a sender with the agent"),
]


def page(name: str, about: dict, command: str, rows: list[Row]) -> str:
    """Returns the text of a page."""
    changed = ", with changes" if about["changed"] else ""
    load = ", ".join(f"{v:.1f}" for v in about["load_average"])
    return (
        f"# {about['date'][:10]}, {BENCHMARKS[name].title}\n\n"
        f"`{command}` at commit `{about['commit'][:12]}`{changed}, {about['date'][11:16]} UTC.\n\n"
        f"{about['cores']} cores of {about['cpu']}, {about['memory_gib']:.0f} GiB, Linux "
        f"{about['kernel']}; load average before: {load}. Rows are explained in "
        f"[benchmarks](README.md).\n\n" + table(rows)
    )


def free_name(date: str, name: str) -> str:
    """Returns DATE-NAME, or with the first letter after the date that no page uses."""
    for letter in ["", *"bcdefghijklmnopqrstuvwxyz"]:
        stem = f"{date}{letter}-{name}"
        if not (PAGES / f"{stem}.json").exists() and not (PAGES / f"{stem}.md").exists():
            return stem
    raise SystemExit(f"error: {PAGES} has 26 pages of {name} of {date}; remove some")


def run(name: str, more: list[str]) -> None:
    """Runs the benchmark and writes its files."""
    about = machine()
    with tempfile.TemporaryDirectory() as folder:
        raw_file = Path(folder) / "raw.json"
        filled = [
            part.format(json=raw_file, more=" ".join(more)) for part in BENCHMARKS[name].command
        ]
        subprocess.run(filled, cwd=REPOSITORY, check=True)
        raw = json.loads(raw_file.read_text())
    words = " ".join(more)
    command = f"make bench-page BENCH_OF={name}" + (f' BENCH="{words}"' if words else "")
    stem = free_name(about["date"][:10], name)
    session = {"benchmark": name, "command": command, "machine": about, "raw": raw}
    (PAGES / f"{stem}.json").write_text(json.dumps(session, indent=1) + "\n")
    (PAGES / f"{stem}.md").write_text(page(name, about, command, READERS[name](raw)))
    list_page(stem, f"{stem[: -len(name) - 1]}, {BENCHMARKS[name].title}", about)
    print(f"written: docs/benchmarks/{stem}.md")


def list_page(stem: str, title: str, about: dict) -> None:
    """Adds a page to the documentation's lists, after the previous session's line."""
    for file, line, mark in (
        (PAGES.parent / "SUMMARY.md", f"  - [{title}](benchmarks/{stem}.md)", "](benchmarks/20"),
        (
            PAGES / "README.md",
            f"| [{title}]({stem}.md) | every row, raw output kept | {about['cores']} cores |",
            "| [20",
        ),
    ):
        lines = file.read_text().splitlines()
        last = max(i for i, text in enumerate(lines) if mark in text)
        lines.insert(last + 1, line)
        file.write_text("\n".join(lines) + "\n")


def sessions() -> dict[str, tuple[str, dict]]:
    """Returns the newest session of each benchmark: its file's stem and content."""
    found = {}
    for file in sorted(PAGES.glob("*.json")):
        content = json.loads(file.read_text())
        if "benchmark" in content:
            found[content["benchmark"]] = (file.stem, content)
    return found


def quoted() -> str:
    """Returns the README's list of figures."""
    newest = sessions()
    lines = []
    for name, key, words in QUOTED:
        stem, content = newest.get(name, ("", None))
        row = (
            next((r for r in READERS[name](content["raw"]) if r.name == key), None)
            if content
            else None
        )
        if row is None:
            continue
        number = {
            "M/s": f"{row.value:.1f} million",
            "kpps": f"{row.value:.0f} thousand",
        }.get(row.unit, f"{row.value * 100:.1f} %" if row.value <= 1.05 else f"{row.value:.0f}")
        lines.append(f"* {number} {words} ([measured](docs/benchmarks/{stem}.md))")
    return "\n".join(lines) + "\n"


def readme(check: bool) -> int:
    """Writes or compares the README's figures."""
    text = README.read_text()
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    new = f"{before}{BEGIN}\n{quoted()}{END}{after}"
    if not old:
        raise SystemExit(f"error: README.md has no {BEGIN}")
    if check and new != text:
        print("README.md has not the newest pages' figures: run `testing/bench/page.py --readme`")
        return 1
    if not check:
        README.write_text(new)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("benchmark", nargs="?", choices=sorted(BENCHMARKS))
    parser.add_argument("more", nargs="*", help="words for the benchmark")
    parser.add_argument("--readme", action="store_true", help="write the README's figures")
    parser.add_argument("--check", action="store_true", help="compare the README's figures")
    args = parser.parse_args()
    if args.benchmark:
        run(args.benchmark, args.more)
    if args.readme or args.check:
        return readme(args.check)
    return 0


if __name__ == "__main__":
    sys.exit(main())
