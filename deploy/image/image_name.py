# SPDX-License-Identifier: Apache-2.0
"""The name of the image in its archive."""

from __future__ import annotations

import re

NAME = "tidemark"


def tag_of(version: str) -> str:
    """Of a Debian version: a tag has no `+`, `~` or `:`, which may stand there."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", version)
