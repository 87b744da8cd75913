# SPDX-License-Identifier: Apache-2.0
"""The picture of a verdict."""

from __future__ import annotations

import os
from pathlib import Path

from tidemark_buffer._native import verdict_picture

Origin = tuple[str, str | None, str | None]
"""Link, run and date, as text."""


class Picture:
    """Picture of a verdict, the same as in console and command line. Notebooks display it."""

    def __init__(self, verdict: str, origin: Origin, theme: str) -> None:
        self._verdict = verdict
        self._origin = origin
        self._theme = theme
        self._svg = self._drawn("svg").decode()

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return self._svg

    @property
    def text(self) -> str:
        """The picture as text, at most 80 columns wide."""
        return self._drawn("txt").decode().rstrip("\n")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to ``.svg``, ``.png`` (2400 by 1200 pixels), ``.pdf`` or ``.txt``.

        :raises ValueError: the file has another ending.
        """
        path = Path(path)
        path.write_bytes(self._drawn(path.suffix.lstrip(".").lower()))

    def _drawn(self, kind: str) -> bytes:
        return bytes(verdict_picture(self._verdict, self._origin, kind, self._theme))

    def _repr_svg_(self) -> str:
        return self._svg

    def __str__(self) -> str:
        return self.text
