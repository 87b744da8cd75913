# SPDX-License-Identifier: Apache-2.0
"""SIGINT, SIGTERM and SIGHUP all end a run in the same orderly way."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType


class Interrupted(BaseException):
    """Raised in the main thread wherever it is."""


class _Deferral:
    depth = 0
    pending: str | None = None


class _Owner:
    pid = 0


def _signals() -> list[signal.Signals]:
    wanted = [signal.SIGINT, signal.SIGTERM]
    # nohup asks that the end of the terminal does not matter.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        wanted.append(signal.SIGHUP)
    return wanted


def _handle(number: int, _frame: object) -> None:
    if os.getpid() != _Owner.pid:
        # A child forked by a library has the handlers but owns nothing.
        os._exit(128 + number)
    name = signal.Signals(number).name
    if _Deferral.depth:
        _Deferral.pending = name
        return
    # Once: a second one must not disturb the cleanup.
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


def as_exception() -> AbstractContextManager[None]:
    """Inside the block a signal raises Interrupted, once."""
    _Owner.pid = os.getpid()
    return _handlers(_handle)


def ignored() -> AbstractContextManager[None]:
    """For cleaning up: no signal gets through."""
    return _handlers(signal.SIG_IGN)


@contextmanager
def deferred() -> Iterator[None]:
    """A signal inside the block is raised at its end: for making something and
    recording that it was made."""
    _Deferral.depth += 1
    try:
        yield
    finally:
        _Deferral.depth -= 1
        if _Deferral.depth == 0 and _Deferral.pending:
            name, _Deferral.pending = _Deferral.pending, None
            _handle(signal.Signals[name], None)
