# SPDX-License-Identifier: Apache-2.0
"""Executes the notebooks; `--pictures DIR` keeps their pictures.

A notebook that fails ends it. Notebooks are stored without outputs.
"""

from __future__ import annotations

import argparse
import base64
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
CELL_S = 300


def notebooks() -> list[Path]:
    return sorted(HERE.glob("*.ipynb"))


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=CELL_S, resources={"metadata": {"path": str(HERE)}})
    client.execute()
    return notebook


def pictures(notebook: nbformat.NotebookNode) -> list[bytes]:
    """Its pictures, as PNG."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    found = [output.get("data", {}).get("image/png") for output in outputs]
    return [base64.b64decode(picture) for picture in found if picture]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, help="write NOTEBOOK-N.png there")
    arguments = parser.parse_args()
    for path in notebooks():
        drawn = pictures(executed(path))
        print(f"{path.name}: {len(drawn)} pictures")
        if arguments.pictures is not None:
            for number, picture in enumerate(drawn, 1):
                name = f"notebook-{path.stem}-{number}.png"
                (arguments.pictures / name).write_bytes(picture)


if __name__ == "__main__":
    main()
