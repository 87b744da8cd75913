# SPDX-License-Identifier: Apache-2.0
"""Figures, pages and the README are derived from raw output."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from compare import compare, ratio
from figures import READERS, Row, table
from machine import machine
from page import PAGES, page, readme


def test_every_page_is_what_its_raw_output_gives() -> None:
    """Finds a page edited by hand, or written by an older rule."""
    found = 0
    for file in PAGES.glob("*.json"):
        session = json.loads(file.read_text())
        if "benchmark" in session:
            rows = READERS[session["benchmark"]](session["raw"])
            text = page(session["benchmark"], session["machine"], session["command"], rows)
            assert file.with_suffix(".md").read_text() == text, file.name
            found += 1
    assert found > 0


def test_the_readme_has_the_newest_figures() -> None:
    assert readme(check=True) == 0


def test_a_row_below_its_wanted_value_says_so() -> None:
    rows = [
        Row("a", "rate", 3.0, "M/s", True, 4.0),
        Row("b", "time", 3.0, "s", False, 4.0, "twice"),
        Row("c", "size", 3.0, "B"),
    ]
    assert [r.met for r in rows] == [False, True, None]
    lines = table(rows).splitlines()
    assert lines[2] == "| rate | 3 M/s | ≥ 4 | not reached |"
    assert lines[3] == "| time | 3 s | ≤ 4 | twice |"
    assert lines[4] == "| size | 3 B |  |  |"


def test_shares_of_the_repeater_come_first() -> None:
    def row(size: int, side: str, pps: float, ns: float) -> dict:
        best = {"offered_pps": pps, "device_cpu_ns": ns}
        return {"size_bytes": size, "side": side, "best": best}

    rows = READERS["switch"](
        {
            "sizes": [
                row(64, "singles", 300e3, 2000),
                row(64, "singles without program", 400e3, 1000),
                row(64, "bmv2", 20e3, 50_000),
            ]
        }
    )
    assert (rows[0].name, rows[0].value, rows[0].note) == (
        "share-64-singles",
        0.75,
        "by CPU time 0.50",
    )
    assert rows[-1].value == pytest.approx(15)


def test_less_time_is_a_higher_ratio() -> None:
    slow, fast = Row("a", "", 2.0, "cores", False), Row("a", "", 1.0, "cores", False)
    assert ratio(slow, fast) == 2 and ratio(fast, slow) == 0.5
    slow, fast = Row("a", "", 1.0, "M/s"), Row("a", "", 2.0, "M/s")
    assert ratio(slow, fast) == 2


def test_a_slower_program_is_found(tmp_path: Path) -> None:
    """Uses a program that prints the figure in its file."""
    from compare import MOST_ROUNDS, Part

    part = Part("collector", [], ["--json={json}", "{word}"], ["join"])
    programs = []
    for name, value in (("base", 2.0e6), ("now", 1.8e6)):
        program = tmp_path / name
        row = {"join": {"what": "join", "target": 0, "value": value, "note": ""}}
        program.write_text(
            f"#!{sys.executable}\nimport sys\n"
            f"open(sys.argv[1].removeprefix('--json='), 'w').write({json.dumps(row)!r})\n"
        )
        program.chmod(0o755)
        programs.append(program)
    found = compare(tuple(programs), (tmp_path, tmp_path), part, "join")
    middle, least, most, n = found["join"]
    assert (middle, least, most, n) == (0.9, 0.9, 0.9, MOST_ROUNDS)


def test_the_machine_names_its_commit() -> None:
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=PAGES, check=True, capture_output=True, text=True
    )
    assert machine()["commit"] == head.stdout.strip()
