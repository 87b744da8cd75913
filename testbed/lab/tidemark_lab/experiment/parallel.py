# SPDX-License-Identifier: Apache-2.0
"""Several runs at a time, each in a process of its own."""

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

# Makes a run; whether it is complete.
Make = Callable[[int], bool]


def run(
    numbers: Sequence[int],
    jobs: int,
    make: Make,
    begins: Callable[[int], None],
    ended: Callable[[int, str], None],
) -> int:
    """Makes all of them, `jobs` at a time; how many failed. `begins` is told before each, `ended`
    after each, with what its process died of (empty: nothing). An interruption ends those under
    way and is raised again when they are gone."""
    # A run's back end and points need not be told to a process that begins as a copy.
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
    # One that the sweep's death left behind would write where the next sweep does.
    end_with_parent()
    try:
        with signals.as_exception():
            code = EXIT_OK if make(number) else EXIT_FAILED
    except signals.Interrupted:
        code = EXIT_INTERRUPTED
    # Nothing of the parent's is ended here.
    os._exit(code)
