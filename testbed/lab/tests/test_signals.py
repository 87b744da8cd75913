# SPDX-License-Identifier: Apache-2.0
"""A signal ends a run wherever Python is when the signal arrives."""

import os
import signal
import time

import pytest

from tidemark_lab import signals

PATIENCE_S = 10


class FinalisedLate:
    """Receives a signal in its finaliser, where Python drops exceptions."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        # By here the handler has run.
        sum(range(1000))


def busy():
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        time.sleep(0.001)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts(number):
    with pytest.raises(signals.Interrupted, match=number.name), signals.as_exception():
        os.kill(os.getpid(), number)
        busy()


def test_a_signal_in_a_finaliser_interrupts_after_it():
    with pytest.raises(signals.Interrupted, match="SIGTERM"), signals.as_exception():
        one = FinalisedLate()
        del one
        busy()


def test_a_swallowed_signal_waits_for_the_end_of_a_deferral():
    made = []
    with pytest.raises(signals.Interrupted, match="SIGTERM"), signals.as_exception():
        one = FinalisedLate()
        del one
        with signals.deferred():
            time.sleep(5 * signals.AGAIN_S)
            made.append(True)
        busy()
    assert made == [True]


def test_a_second_signal_does_not_disturb_the_cleanup():
    cleaned = []
    with signals.as_exception():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            busy()
        except signals.Interrupted:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
            cleaned.append(True)
    assert cleaned == [True]


def test_handlers_are_as_before_after_the_block():
    before = signal.getsignal(signal.SIGTERM)
    with signals.as_exception():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
