# SPDX-License-Identifier: Apache-2.0
"""Runs several at a time, each in its own process."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess

from .. import signals
from ..outcome import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from ..processes import end_with_parent

# Makes a run; returns whether it is complete.
Make = Callable[[int], bool]


def run(
    numbers: Sequence[int],
    jobs: int,
    make: Make,
    begins: Callable[[int], None],
    ended: Callable[[int, str], None],
) -> int:
    """Makes all runs, `jobs` at a time; returns how many failed. Calls `begins` before each and
    `ended` after each, with the reason if its process died (else empty). An interruption ends the
    running ones and is raised again once they are gone."""
    # A forked process has the run's back end and points already.
    context = multiprocessing.get_context("fork")
    todo = deque(numbers)
    running: dict[int, tuple[int, ForkProcess]] = {}
    failed = 0
    try:
        while todo or running:
            while todo and len(running) < jobs:
                number = todo.popleft()
                begins(number)
                with signals.deferred():
                    process = context.Process(target=_child, args=(make, number))
                    process.start()
                    running[process.sentinel] = (number, process)
            for sentinel in wait(list(running)):
                assert isinstance(sentinel, int)
                number, process = running.pop(sentinel)
                process.join()
                failed += process.exitcode != EXIT_OK
                died = process.exitcode not in (EXIT_OK, EXIT_FAILED)
                ended(number, f"its process ended with {process.exitcode}" if died else "")
    except signals.Interrupted:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.join()
        raise
    return failed


def _child(make: Make, number: int) -> None:
    # If it outlived a killed sweep, it would write where the next sweep does.
    end_with_parent()
    try:
        with signals.as_exception():
            code = EXIT_OK if make(number) else EXIT_FAILED
    except signals.Interrupted:
        code = EXIT_INTERRUPTED
    # Exits without running the parent's cleanup.
    os._exit(code)
