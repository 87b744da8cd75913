# SPDX-License-Identifier: Apache-2.0
"""The lab's modules have no circular imports."""

from __future__ import annotations

import ast
from pathlib import Path

import tidemark_lab

ROOT = Path(tidemark_lab.__file__).parent


def imports(root: Path) -> dict[str, set[str]]:
    """Returns the modules that each module imports, also inside functions and for types."""
    files = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        package = [p for p in package if p]
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = package[: len(package) - node.level + 1]
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                full = ".".join([*base, alias.name])
                found[name].add(full if full in files else ".".join(base))
        found[name] -= {name}
    return found


def circular(arrows: dict[str, set[str]]) -> list[str]:
    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for to in arrows.get(todo.pop(), set()) - seen:
                seen.add(to)
                todo.append(to)
        return seen

    return sorted(name for name in arrows if name in reached(name))


def test_no_module_reaches_itself():
    assert circular(imports(ROOT)) == []


def test_a_circle_is_found(tmp_path):
    (tmp_path / "a.py").write_text("from .sub import b\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/__init__.py").write_text("")
    (tmp_path / "sub/b.py").write_text("def f():\n    from ..a import x\n")
    assert circular(imports(tmp_path)) == ["a", "sub.b"]
