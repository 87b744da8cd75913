# SPDX-License-Identifier: Apache-2.0
"""Files that import Scapy, directly or through a file of ours, are GPL-2.0-only; no other
Python is: decision 20."""

import ast
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
# Roots for modules that are not next to the file that imports them.
ROOTS = [REPOSITORY / "ptf-tests", REPOSITORY / "testbed" / "lab"]
GPL = {"scapy", "ptf"}
NOT_OURS = {".venv", ".venv-shell", ".git", "target", "node_modules", "runs", "__pycache__"}
APACHE_LINE = "SPDX-License-Identifier: Apache-2.0"
GPL_LINE = "SPDX-License-Identifier: GPL-2.0-only"


def python_files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for path in folder.iterdir():
        if path.is_dir():
            if path.name not in NOT_OURS and not path.name.startswith(".venv"):
                found += python_files(path)
        elif path.suffix == ".py":
            found.append(path)
    return found


def imported_names(file: Path) -> set[str]:
    """Returns dotted names; for `from a import b` both `a` and `a.b`, as b may be a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names.add(base)
            names |= {f"{base}.{alias.name}".lstrip(".") for alias in node.names}
    return names


def ours(name: str, importer: Path) -> Path | None:
    for root in [importer.parent, *ROOTS]:
        file = root.joinpath(*name.split(".")).with_suffix(".py")
        if name and file.is_file():
            return file
    return None


def needs_gpl(file: Path, known: dict[Path, bool]) -> bool:
    if file not in known:
        known[file] = False  # A cycle adds nothing.
        names = imported_names(file)
        known[file] = any(name.split(".")[0] in GPL for name in names) or any(
            needs_gpl(found, known)
            for found in (ours(name, file) for name in names)
            if found is not None and found != file
        )
    return known[file]


# An empty file has nothing to license.
FILES = sorted(f for f in python_files(REPOSITORY) if f.stat().st_size)


@pytest.fixture(scope="module")
def known() -> dict[Path, bool]:
    return {}


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(REPOSITORY)))
def test_licence_of_a_python_file(file: Path, known: dict[Path, bool]):
    head = file.read_text(encoding="utf-8")[:200]
    expected, other = (GPL_LINE, APACHE_LINE) if needs_gpl(file, known) else (APACHE_LINE, GPL_LINE)
    assert expected in head, f"its first line should say {expected}"
    assert other not in head


def test_the_files_known_to_use_scapy_are_found(known: dict[Path, bool]):
    found = {str(f.relative_to(REPOSITORY)) for f in FILES if needs_gpl(f, known)}
    assert "ptf-tests/tidemark_ptf/report.py" in found
    # Imports Scapy through `tidemark_ptf.base`.
    assert "ptf-tests/tests/sequence.py" in found
    assert "ptf-tests/tidemark_ptf/p4rt.py" not in found
    # Files that are packaged and included in the image.
    assert not [name for name in found if name.startswith("testbed/lab/tidemark_lab/")]


def test_the_text_of_the_licence_is_there():
    text = (REPOSITORY / "LICENSES" / "GPL-2.0-only.txt").read_text(encoding="utf-8")
    assert "GNU GENERAL PUBLIC LICENSE" in text and "Version 2, June 1991" in text
