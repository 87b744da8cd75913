# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of tidemark-lab names every library in its package."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
LIBRARIES = HERE / "lab/libraries.txt"


def test_every_library_of_the_lab_is_named(tmp_path: Path):
    """Uses the command of `make sbom`."""
    recipe = (HERE.parents[1] / "Makefile").read_text()
    (words,) = re.findall(r"cyclonedx-py (requirements .*) -o \S+", recipe)
    tool = Path(sys.executable).with_name("cyclonedx-py")
    out = tmp_path / "lab.cdx.json"
    command = [str(tool), *words.split(), "-o", str(out)]
    subprocess.run(command, cwd=HERE.parents[1], check=True)
    bill = json.loads(out.read_text())
    named = {(c["name"], c["version"]) for c in bill["components"]}
    pinned = set(re.findall(r"^([\w.-]+)==(\S+)", LIBRARIES.read_text(), re.MULTILINE))
    assert named == pinned and len(pinned) > 10
    hashed = [c for c in bill["components"] if c["externalReferences"][0]["hashes"]]
    assert len(hashed) == len(pinned)
