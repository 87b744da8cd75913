# SPDX-License-Identifier: Apache-2.0
"""Executes the notebooks; `--pictures DIR` keeps their pictures, `--pages DIR` each as HTML.

Stops at the first notebook that fails. Notebooks are stored without outputs.
"""

from __future__ import annotations

import argparse
import base64
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

HERE = Path(__file__).parent
CELL_S = 300


def notebooks() -> list[Path]:
    return sorted(HERE.glob("*.ipynb"))


def executed(path: Path) -> nbformat.NotebookNode:
    """Returns the notebook with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=CELL_S, resources={"metadata": {"path": str(HERE)}})
    client.execute()
    return notebook


def pictures(path: Path, notebook: nbformat.NotebookNode) -> dict[str, bytes]:
    """Returns its pictures by file name: PNG for charts, SVG for verdicts."""
    drawn: dict[str, bytes] = {}
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        data = output.get("data", {})
        name = f"notebook-{path.stem}-{len(drawn) + 1}"
        if "image/png" in data:
            drawn[f"{name}.png"] = base64.b64decode(data["image/png"])
        elif "image/svg+xml" in data:
            drawn[f"{name}.svg"] = data["image/svg+xml"].encode()
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, help="directory for the pictures")
    parser.add_argument("--pages", type=Path, help="directory for the pages, each NOTEBOOK.html")
    arguments = parser.parse_args()
    for path in notebooks():
        notebook = executed(path)
        drawn = pictures(path, notebook)
        print(f"{path.name}: {len(drawn)} pictures")
        if arguments.pictures is not None:
            for name, picture in drawn.items():
                (arguments.pictures / name).write_bytes(picture)
        if arguments.pages is not None:
            arguments.pages.mkdir(parents=True, exist_ok=True)
            page, _ = HTMLExporter().from_notebook_node(notebook)
            (arguments.pages / f"{path.stem}.html").write_text(page)


if __name__ == "__main__":
    main()
