# SPDX-License-Identifier: Apache-2.0
"""Checks whether a committed result in ``build/`` was made from the present sources."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digests(source_dir: Path, program: str) -> dict[str, str]:
    """Returns the SHA-256 of each source file of a program, by relative path."""
    files = [*source_dir.glob("include/*.p4"), *source_dir.glob(f"{program}/*.p4")]
    return {f.relative_to(source_dir).as_posix(): sha256(f.read_bytes()) for f in sorted(files)}


def stale(digest: Path, source_dir: Path, program: str) -> list[str]:
    """Returns the sources that differ from those of a digest (changed, new or gone)."""
    recorded = json.loads(digest.read_text())["sources"]
    current = digests(source_dir, program)
    return sorted(f for f in recorded.keys() | current.keys() if recorded.get(f) != current.get(f))
