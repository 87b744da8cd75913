# SPDX-License-Identifier: Apache-2.0
"""Every relative link of the documentation leads somewhere, anchors included."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Returns anchors like GitHub makes them from headings."""
    headings = HEADING.findall(FENCE.sub("", text))
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"<[^>]+>", "", h)) for h in headings)
    return {p.strip().lower().replace(" ", "-") for p in plain}


def broken(page: Path, root: Path) -> list[str]:
    found = []
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        missing = not there.exists() or not there.is_relative_to(root)
        if missing or (anchor and anchor not in anchors(there.read_text())):
            found.append(f"{page.relative_to(root)}: {target}")
    return found


def pages() -> list[Path]:
    listed = subprocess.check_output(["git", "ls-files", "*.md"], cwd=ROOT, text=True)
    return [ROOT / name for name in listed.splitlines()]


def test_every_link_leads_somewhere():
    assert [line for page in pages() for line in broken(page, ROOT)] == []


def linked(index: Path) -> set[Path]:
    """Returns the pages that an index links to, and the indexes of folders that it links to."""
    found = set()
    for link in LINK.findall(index.read_text()):
        page = (index.parent / link.partition("#")[0]).resolve()
        if page.name == "README.md" and index.parent in page.parent.parents:
            found |= linked(page)
        found.add(page)
    return found


def test_every_page_is_in_the_index_and_the_summary():
    docs = ROOT / "docs"
    listed = {p for p in docs.rglob("*.md") if p.name not in ("README.md", "SUMMARY.md")}
    # Decisions are in the summary alone.
    decisions = set((docs / "decisions").glob("*.md"))
    assert listed - decisions - linked(docs / "README.md") == set()
    summary = LINK.findall((docs / "SUMMARY.md").read_text())
    assert listed - {(docs / link).resolve() for link in summary} == set()


@pytest.mark.parametrize("link", ["gone.md", "other.md#gone", "#gone"])
def test_a_broken_link_is_found(tmp_path, link):
    (tmp_path / "other.md").write_text("# Here\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n[x]({link}) [y](other.md#here) [z](#title)\n")
    assert broken(page, tmp_path) == [f"page.md: {link}"]
