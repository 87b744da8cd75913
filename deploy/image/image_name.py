# SPDX-License-Identifier: Apache-2.0
"""The name of the image in its archive."""

from __future__ import annotations

import re

NAME = "tidemark"


def tag_of(version: str) -> str:
    """Returns the tag for a Debian version, which may contain `+`, `~` or `:`; a tag must not."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", version)
