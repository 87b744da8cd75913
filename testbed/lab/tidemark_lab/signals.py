# SPDX-License-Identifier: Apache-2.0
"""Makes SIGINT, SIGTERM and SIGHUP end a run in the same orderly way."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import NoReturn


class Interrupted(BaseException):
    """Raised in the main thread, at whatever point it is."""


class _State:
    # Process that owns the handlers.
    pid = 0
    # Nesting of blocks that defer signals, and the signal that waits.
    depth = 0
    pending: str | None = None
    # A signal whose exception Python dropped.
    dropped = ""


# Delay of the alarm that raises a dropped exception again.
AGAIN_S = 0.01


def _signals() -> list[signal.Signals]:
    wanted = [signal.SIGINT, signal.SIGTERM, signal.SIGALRM]
    # nohup ignores SIGHUP: the run survives the end of its terminal.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        wanted.append(signal.SIGHUP)
    return wanted


def _handle(number: int, _frame: object) -> None:
    if os.getpid() != _State.pid:
        # A child that a library forked has the handlers but owns nothing.
        os._exit(128 + number)
    name = _State.dropped if number == signal.SIGALRM else signal.Signals(number).name
    if _State.depth:
        _State.pending = name
        return
    _interrupt(name)


def _interrupt(name: str) -> NoReturn:
    # Only once: a second signal must not disturb the cleanup.
    for other in _signals():
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(name)


@contextmanager
def _handlers(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _signals()}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def as_exception() -> Iterator[None]:
    """Makes a signal inside the block raise Interrupted, once.

    Python drops an exception raised in a finaliser, a weak reference's callback or a hook
    of fork, and tells `sys.unraisablehook`: from there an alarm raises it once more."""
    if _State.pid not in (0, os.getpid()):
        # A process forked inside such a block is not inside it.
        _State.depth, _State.pending = 0, None
    _State.pid = os.getpid()
    hook = sys.unraisablehook

    def again(unraisable: sys.UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, Interrupted):
            hook(unraisable)
            return
        _State.dropped = str(unraisable.exc_value)
        signal.signal(signal.SIGALRM, _handle)
        # Later, because an exception in this hook would be dropped too.
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)

    sys.unraisablehook = again
    try:
        with _handlers(_handle):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook


def ignored() -> AbstractContextManager[None]:
    """Blocks signals during a cleanup."""
    return _handlers(signal.SIG_IGN)


@contextmanager
def deferred() -> Iterator[None]:
    """Raises a signal inside the block at its end: for making something and recording that it was
    made."""
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
        if _State.depth == 0 and _State.pending:
            name, _State.pending = _State.pending, None
            _interrupt(name)
