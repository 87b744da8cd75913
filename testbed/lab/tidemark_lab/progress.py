# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a run: on a terminal as one line that is rewritten, elsewhere as a line
every few seconds."""

from __future__ import annotations

import shutil
import sys
import time

# Interval between lines if they are not rewritten.
EVERY_S = 5.0


class Progress:
    def __init__(self, states: bool = True):
        """`states` false: shows only permanent lines, for one of several runs at a time."""
        self._states = states
        self._stream = sys.stderr
        self._live = self._stream.isatty()
        self._last = 0.0
        self._dirty = False

    def say(self, text: str) -> None:
        """Prints a permanent line."""
        self._clear()
        print(text, file=self._stream, flush=True)

    def show(self, text: str) -> None:
        """Shows the current state."""
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
