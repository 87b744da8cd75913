# SPDX-License-Identifier: Apache-2.0
"""Paths of the lab's files, in a clone of the repository or as installed by the packages."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import LabError

_TREE = Path(__file__).resolve().parents[3]
# None outside a clone.
REPOSITORY = _TREE if (_TREE / "testbed" / "experiments").is_dir() else None
SHARE = Path(os.environ.get("TIDEMARK_SHARE", "/usr/share/tidemark"))

EXPERIMENTS = REPOSITORY / "testbed" / "experiments" if REPOSITORY else SHARE / "experiments"
P4 = REPOSITORY / "p4src" / "build" if REPOSITORY else SHARE / "p4"
NS3_SOURCES = REPOSITORY / "testbed" / "ns3" if REPOSITORY else SHARE / "ns3"


def programs() -> Path:
    """Returns the directory of Tidemark's programs."""
    named = os.environ.get("TIDEMARK_BIN_DIR")
    if named:
        return Path(named)
    return REPOSITORY / "target" / "release" if REPOSITORY else Path("/usr/bin")


def in_clone(path: str) -> Path:
    """Returns the path of a file that only a clone has."""
    if REPOSITORY is None:
        raise LabError(f"{path} is only in a clone of the repository: run it there")
    return REPOSITORY / path


def remedy(in_clone: str, from_packages: str) -> str:
    """Returns the remedy for something missing."""
    return in_clone if REPOSITORY else from_packages
