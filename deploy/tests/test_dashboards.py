# SPDX-License-Identifier: Apache-2.0
"""Names in the dashboards: variables, other dashboards, units."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import REPOSITORY

DASHBOARDS = REPOSITORY / "deploy" / "grafana" / "dashboards"
BOARDS = sorted(DASHBOARDS.glob("*.json"))
EACH = pytest.mark.parametrize("board", BOARDS, ids=lambda b: b.stem)


def texts(value: object) -> Iterator[str]:
    """Returns every text except regular expressions, where `$` is the end."""
    if isinstance(value, dict):
        if value.get("id") == "byRegexp":
            return
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from texts(part)
    elif isinstance(value, str):
        yield value


@EACH
def test_every_variable_that_is_used_is_declared(board: Path):
    content = json.loads(board.read_text())
    declared = {v["name"] for v in content["templating"]["list"]}
    used = {
        name
        for text in texts(content)
        for name in re.findall(r"\$\{?(\w+)", text)
        if not name.startswith("__")
    }
    assert used == declared


@EACH
def test_every_board_leads_to_the_others_and_to_the_console(board: Path):
    content = json.loads(board.read_text())
    assert "tidemark" in content["tags"]
    others, console = content["links"]
    assert (others["type"], others["tags"]) == ("dashboards", ["tidemark"])
    assert console["url"].startswith("${console}/")
    uids = {json.loads(b.read_text())["uid"] for b in BOARDS}
    leads_to = {uid for t in texts(content) for uid in re.findall(r"/d/([\w-]+)", t)}
    assert leads_to <= uids


def test_bytes_and_times_have_their_units():
    """A panel of one metric has the unit in the metric's name."""
    units = {"bytes": "bytes", "seconds": "s"}
    shown = []
    for panel in (p for b in BOARDS for p in json.loads(b.read_text())["panels"]):
        unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit")
        for target in panel.get("targets", []):
            alone = re.fullmatch(r"\w+_(bytes|seconds)(\{[^}]*\})?", target.get("expr", ""))
            if alone:
                shown.append((panel["title"], unit, units[alone[1]]))
    assert len(shown) > 10
    assert [s for s in shown if s[1] != s[2]] == []
