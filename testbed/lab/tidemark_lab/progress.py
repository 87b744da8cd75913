# SPDX-License-Identifier: Apache-2.0
"""Progress of a run while it goes on: one line that is rewritten on a terminal,
a line every few seconds elsewhere."""

from __future__ import annotations

import shutil
import sys
import time

# Used where lines are not replaced.
EVERY_S = 5.0


class Progress:
    def __init__(self, states: bool = True):
        """`states` false: lines that stay and no others, as of one of several at a time."""
        self._states = states
        self._stream = sys.stderr
        self._live = self._stream.isatty()
        self._last = 0.0
        self._dirty = False

    def say(self, text: str) -> None:
        """A line that stays."""
        self._clear()
        print(text, file=self._stream, flush=True)

    def show(self, text: str) -> None:
        """The state of the moment."""
        if not self._states:
            return
        now = time.monotonic()
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._clear()
            self._stream.write(text[:width])
            self._stream.flush()
            self._dirty = True
        elif now - self._last >= EVERY_S:
            print(text, file=self._stream, flush=True)
            self._last = now

    def _clear(self) -> None:
        if self._dirty:
            self._stream.write("\r\x1b[K")
            self._dirty = False


def bar(done: float, total: float, width: int = 20) -> str:
    filled = 0 if total <= 0 else min(width, int(width * done / total))
    return "█" * filled + "·" * (width - filled)
