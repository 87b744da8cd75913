# SPDX-License-Identifier: Apache-2.0
"""The notebooks run on the recorded run, and the docs show what they draw."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from conftest import PACKAGE

sys.path.insert(0, str(PACKAGE / "notebooks"))
from execute import executed, notebooks, pictures

DOCS = PACKAGE.parents[1] / "docs"
BEGINS = {".png": b"\x89PNG\r\n", ".svg": b"<svg"}


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_pictures_are_in_the_docs(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    assert not any(cell.get("outputs") for cell in stored.cells), "is stored without outputs"
    drawn = pictures(path, executed(path))
    assert drawn
    page = (DOCS / "how-to" / "python.md").read_text()
    for name, picture in drawn.items():
        begin = BEGINS[Path(name).suffix]
        assert picture.startswith(begin)
        assert (DOCS / "images" / name).read_bytes().startswith(begin)
        assert f"../images/{name}" in page


def test_there_are_three() -> None:
    names = [path.stem for path in notebooks()]
    assert names == ["compare-two-limits", "papers-rules", "read-a-run"]
