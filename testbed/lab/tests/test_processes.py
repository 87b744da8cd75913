# SPDX-License-Identifier: Apache-2.0
import os
import signal
import sys

import pytest

from tidemark_lab import signals
from tidemark_lab import state as state_module
from tidemark_lab.errors import ChildDied, LabError
from tidemark_lab.processes import Supervisor
from tidemark_lab.state import RunState


@pytest.fixture
def supervisor(tmp_path, monkeypatch):
    monkeypatch.setattr(state_module, "DIRECTORY", tmp_path / "run")
    state = RunState.begin("ab12", tmp_path)
    yield Supervisor(state, tmp_path)
    assert state.clean() == []


def start(supervisor, code):
    return supervisor.start("program", [sys.executable, "-u", "-c", code])


def test_a_line_is_waited_for(supervisor):
    child = start(supervisor, "print('ready: 3 ports'); import time; time.sleep(60)")
    assert supervisor.wait_for_line(child, r"ready: (\d)") == "ready: 3 ports"


def test_a_program_that_ends_is_told_with_its_last_lines(supervisor):
    child = start(supervisor, "print('port 7 is gone'); raise SystemExit(3)")
    with pytest.raises(ChildDied, match=r"(?s)program ended \(exit code 3\).*port 7 is gone"):
        supervisor.wait_for_line(child, "never")


def test_waiting_in_vain_ends(supervisor):
    child = start(supervisor, "import time; time.sleep(60)")
    with pytest.raises(LabError, match="in vain"):
        supervisor.wait_for_line(child, "never", timeout_s=0.2)


def test_stopping_gives_the_exit_code(supervisor):
    child = start(
        supervisor,
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(4));"
        "print('ready'); time.sleep(60)",
    )
    supervisor.wait_for_line(child, "ready")
    assert supervisor.stop("program") == 4
    assert supervisor.running() == []
    supervisor.check()


def test_a_signal_is_an_exception_once_and_waits_for_a_deferral():
    before = signal.getsignal(signal.SIGTERM)
    reached = []
    with pytest.raises(signals.Interrupted, match="SIGTERM"), signals.as_exception():
        with signals.deferred():
            os.kill(os.getpid(), signal.SIGTERM)
            reached.append("inside")
        reached.append("after")
    assert reached == ["inside"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_forked_child_does_not_run_the_cleanup():
    with signals.as_exception():
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGTERM


def test_ignored_signals_do_nothing():
    with signals.ignored():
        os.kill(os.getpid(), signal.SIGTERM)
