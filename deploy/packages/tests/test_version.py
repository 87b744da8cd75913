# SPDX-License-Identifier: Apache-2.0
"""The version of the packages."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import build


def test_the_version_of_the_packages_is_that_of_the_workspace():
    release, _, commit = build.version().partition("+")
    manifest = (build.REPOSITORY / "Cargo.toml").read_text()
    workspace = manifest.partition("[workspace.package]")[2].partition("\n[")[0]
    assert f'\nversion = "{release}"\n' in workspace
    assert re.fullmatch(r"git\d{8}\.[0-9a-f]{7,}", commit)
