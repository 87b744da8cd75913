# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidemark_lab import state as state_module
from tidemark_lab.errors import PreflightError
from tidemark_lab.preflight import clean_stale
from tidemark_lab.state import Process, RunState, is_alive, recorded, start_ticks, stop_processes


@pytest.fixture
def records(tmp_path, monkeypatch):
    monkeypatch.setattr(state_module, "DIRECTORY", tmp_path / "run")
    return tmp_path / "run"


def sleeper(code="import time; time.sleep(60)"):
    return subprocess.Popen([sys.executable, "-c", code])


def test_a_record_is_read_back_as_written(records, tmp_path):
    state = RunState.begin("ab12", tmp_path)
    state.processes.append(Process("x", 999_999_999, 5))
    state.add_interface("tm-ab12-rep")
    ((path, again),) = recorded()
    assert path == state.path and again == state
    assert again.owner_alive()


def test_a_process_with_another_start_time_is_left_alone(records, tmp_path):
    child = sleeper()
    try:
        ticks = start_ticks(child.pid)
        stranger = Process("stranger", child.pid, ticks + 1)
        assert stop_processes([stranger], patience_s=0.1) == []
        assert child.poll() is None
        ours = Process("ours", child.pid, ticks)
        assert is_alive(ours)
        assert stop_processes([ours]) == []
        assert not is_alive(ours)
    finally:
        child.kill()
        child.wait()


def test_a_process_that_ignores_sigterm_is_killed(records):
    child = sleeper(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);time.sleep(60)"
    )
    deadline = time.monotonic() + 10
    while not ignores_sigterm(child.pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process = Process("stubborn", child.pid, start_ticks(child.pid))
    assert stop_processes([process], patience_s=0.2) == []
    assert not is_alive(process)


def ignores_sigterm(pid):
    (line,) = [
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("SigIgn:")
    ]
    return bool(int(line.split()[1], 16) & (1 << (signal.SIGTERM - 1)))


def test_processes_of_another_boot_are_not_touched(records, tmp_path):
    child = sleeper()
    try:
        state = RunState.begin("ab12", tmp_path)
        state.boot_id = "another"
        state.add_process("x", child.pid)
        assert not state.owner_alive()
        state.clean()
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_an_active_run_is_an_error_that_names_it(records, tmp_path):
    RunState.begin("ab12", tmp_path)
    with pytest.raises(PreflightError, match=f"active.*{os.getpid()}"):
        clean_stale()


def test_a_dead_run_is_cleaned(records, tmp_path):
    state = RunState.begin("ab12", tmp_path)
    state.owner.start_ticks += 1
    child = sleeper()
    state.add_process("x", child.pid)
    (note,) = clean_stale()
    assert "ab12" in note
    assert child.wait(5) is not None
    assert not state.path.exists()


def test_a_record_that_cannot_be_read_is_an_error_with_the_remedy(records):
    records.mkdir()
    (records / "lab-zzzz.json").write_text("{")
    with pytest.raises(PreflightError, match=r"rm .*lab-zzzz\.json"):
        clean_stale()
