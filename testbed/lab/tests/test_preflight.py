# SPDX-License-Identifier: Apache-2.0
import socket
from pathlib import Path

import pytest

from tidemark_lab import kernel_check, preflight, tracing
from tidemark_lab.errors import PreflightError
from tidemark_lab.preflight import Paths, Ports


def test_missing_programs_name_the_remedy(tmp_path):
    with pytest.raises(PreflightError, match=r"tidemark-switch.*make build"):
        preflight.check_files(Paths(tmp_path, tmp_path))


def test_a_port_in_use_is_named_with_its_option():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        number = taken.getsockname()[1]
        with pytest.raises(PreflightError, match=f"{number} is in use.*--console-port"):
            preflight.check_ports(Ports(console=number))


def test_one_port_for_two_purposes_is_refused():
    with pytest.raises(PreflightError, match="distinct"):
        preflight.check_ports(Ports(console=9559))


def test_without_root_nothing_starts(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(PreflightError, match=r"root.*sudo"):
        preflight.check_root()


def test_no_tracefs_is_an_error_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(tracing, "is_mounted", lambda: False)
    monkeypatch.setattr(tracing, "can_mount", lambda: False)
    with pytest.raises(PreflightError, match="tracefs"):
        preflight.check_tracefs()
    monkeypatch.setattr(tracing, "can_mount", lambda: True)
    (note,) = preflight.check_tracefs()
    assert "mounting it" in note


def test_a_place_for_namespaces_that_cannot_be_written_is_named(monkeypatch):
    # Even root cannot make files there.
    monkeypatch.setattr(preflight.netns, "DIRECTORY", Path("/proc/self/nowhere"))
    with pytest.raises(PreflightError, match=r"/proc/self/nowhere.*writable"):
        preflight.check_run_directories()


@pytest.mark.root
def test_this_kernel_can_run_the_lab():
    kernel_check.check()


@pytest.mark.root
def test_an_address_of_the_report_link_in_use_is_found():
    with pytest.raises(PreflightError, match=r"127\.0\.0\.1.*lo"):
        preflight.check_addresses("127.0.0.0/8", "the report links")
