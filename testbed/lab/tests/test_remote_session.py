# SPDX-License-Identifier: Apache-2.0
"""Programs on remote hosts and how they end, with local shells instead of ssh; clocks."""

import os
import subprocess

import pytest

from tidemark_lab.errors import LabError
from tidemark_lab.experiment.backend import Place
from tidemark_lab.experiment.live import Links, limits_of_advice
from tidemark_lab.experiment.model import Phase
from tidemark_lab.experiment.plan import Limits
from tidemark_lab.experiment.quantities import FRAME_BYTES
from tidemark_lab.experiment.remote import clocks, ssh
from tidemark_lab.experiment.remote.clocks import Asked, Offset
from tidemark_lab.experiment.remote.run import Run
from tidemark_lab.experiment.remote.session import Session, remove_stale
from tidemark_lab.experiment.remote.steps import look, set_phase


def test_a_clock_is_known_within_half_of_the_quickest_round_trip():
    asked = [Asked(0, 5_000_900, 9_000), Asked(100_000, 5_101_000, 102_000)]
    offset = Offset.of(asked)
    assert (offset.offset_ns, offset.error_ns) == (5_000_000, 1_000)
    clocks.check("a", "before", offset, 0.0051)
    with pytest.raises(LabError, match=r"a: its clock is \+5\.0 ms .* before.*most_clock_offset"):
        clocks.check("a", "before", offset, 0.005)


def test_the_truths_of_hosts_are_one_in_the_time_of_this_machine():
    def truth(name, start, stop):
        moments = {"start": {"unix_ns": start, "mono_raw_ns": 7}, "stop": {"unix_ns": stop}}
        return {"flows": [{"name": name, **moments}], "omitted_flows": 1}

    parts = [
        (truth("late", 1_000, 9_000), Offset(-500, 1)),
        (truth("early", 1_200, 9_000), Offset(200, 1)),
        ({"flows": [], "listeners": {"bulk": {"bytes_received": 3}}}, Offset(0, 1)),
    ]
    one = clocks.one_truth(4, parts)
    assert [(f["name"], f["start"], f["stop"]["unix_ns"]) for f in one["flows"]] == [
        ("early", {"unix_ns": 1_000}, 8_800),
        ("late", {"unix_ns": 1_500}, 9_500),
    ]
    assert (one["seed"], one["omitted_flows"]) == (4, 2)
    assert one["listeners"]["bulk"]["bytes_received"] == 3


def test_a_program_on_a_host_ends_with_its_session(tmp_path):
    """Without ssh: the end of standard input ends the program, and its exit code is passed on."""
    script = 'trap "echo ended > done; exit 3" TERM; echo ready; while :; do sleep 0.1; done'
    argv = ["sh", "-c", ssh.holder(["sh", "-c", script])]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
    ) as held:
        assert held.stdout.readline() == b"ready\n"
        assert held.poll() is None
        held.stdin.close()
        assert held.wait(20) == 3
    assert (tmp_path / "done").read_text() == "ended\n"
    argv = ["sh", "-c", ssh.holder(["sh", "-c", "exit 5"])]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as held:
        assert held.wait(20) == 5


def test_the_directory_of_a_host_goes_with_its_session(tmp_path):
    session = Session(tmp_path / "logs", tmp_path / "sockets")
    session.open()
    there = tmp_path / "a host's"
    session.connect("a", ["sh", "-c", ssh.keeper(str(there))])
    (there / "truth.json").write_text("{}")
    assert there.stat().st_mode & 0o777 == 0o700
    offset = session.clock("a")
    assert abs(offset.offset_ns) <= offset.error_ns
    assert session.end_all() == []
    assert not there.exists() and not (tmp_path / "sockets").exists()
    # An existing directory belongs to somebody else.
    there.mkdir()
    session.open()
    with pytest.raises(LabError, match=r"a: sh -c .*: ended \(exit code 1\).*\n.*File exists"):
        session.connect("a", ["sh", "-c", ssh.keeper(str(there))])
    assert session.end_all() == [] and there.exists()


def test_what_killed_runs_left_here_is_removed_and_nothing_else(tmp_path):
    for name in ("tidemark-0a1b2c", "tidemark-aaaaaa", "tidemark-bbbbbb", "tidemark-other"):
        (tmp_path / name).mkdir()
    (tmp_path / "tidemark-aaaaaa" / "h1").touch()
    for name in ("tidemark-0a1b2c", "tidemark-aaaaaa", "tidemark-other"):
        os.utime(tmp_path / name, (1, 1))
    remove_stale(tmp_path)
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == ["tidemark-aaaaaa", "tidemark-bbbbbb", "tidemark-other"]


def test_a_failure_names_host_command_exit_code_and_what_was_said(tmp_path):
    session = Session(tmp_path / "logs", tmp_path / "sockets")
    session.open()
    with pytest.raises(LabError, match=r"root@a: sh -c .*exit code 7; the end .*\n  no such thing"):
        session.call("root@a", ["sh", "-c", "echo no such thing >&2; exit 7"])
    with pytest.raises(LabError, match="no connection"):
        session.call("root@a", ["sh", "-c", "exit 255"])
    session.start("p", ["sh", "-c", "echo gone >&2; exit 4"], "root@b", may_end=True)
    session.programs["p"].process.wait(20)
    with pytest.raises(LabError, match=r"root@b: .*ended \(exit code 4\).*\n  gone"):
        session.check()
    session.end_all()
    session.open()
    session.start("q", ["true"], "root@b", may_end=True)
    session.programs["q"].process.wait(20)
    session.check()
    session.end("q")
    assert session.end_all() == []


def test_what_a_collector_wrote_since_a_mark_is_copied(tmp_path):
    capture, mark, into = (tmp_path / name for name in ("its capture", "begin", "copy"))
    capture.mkdir()
    for name in ("postcards-0000.parquet", "capture.json"):
        (capture / name).write_text("old")
        os.utime(capture / name, (1, 1))
    mark.write_text("")
    for name in ("postcards-0001.parquet", "postcards-0002.parquet.open"):
        (capture / name).write_text("new")
    os.utime(mark, (2, 2))
    subprocess.run(["sh", "-c", ssh.since(str(mark), str(capture), str(into))], check=True)
    assert sorted(p.name for p in into.iterdir()) == ["capture.json", "postcards-0001.parquet"]


@pytest.mark.parametrize(
    ("controls", "ecn", "says"),
    [
        (("reno", "cubic"), ("0", "2"), None),
        (
            ("reno", "bbr"),
            (),
            "root@a: has no congestion control bbr .reno cubic.: modprobe tcp_bbr",
        ),
        (("reno",), ("1",), "root@a: net.ipv4.tcp_ecn is 2, the flows need 1"),
    ],
)
def test_a_host_that_cannot_send_what_is_planned_is_named(tmp_path, controls, ecn, says):
    session = Session(tmp_path / "logs", tmp_path / "sockets")
    run = Run(None, "", tmp_path, session, None)
    argv = ["printf", "Linux 6.1\\nreno cubic\\n2\\n"]
    step = look("root@a", argv, controls, ecn)
    if says is None:
        step.do(run)
        assert run.hosts["root@a"] == {"kernel": "Linux 6.1", "tcp_ecn": "2"}
    else:
        with pytest.raises(LabError, match=says):
            step.do(run)


def test_a_phase_that_begins_with_advice_applies_it(tmp_path):
    posts = []

    class Controller:
        def get(self, _path):
            return {"advice": {"limit_bytes": 5_000}, "can_apply": True}

        def post(self, path, _body):
            posts.append(path)
            return {"limit": {"action": "drop_tail", "limit_bytes": 5_000}}

    run = Run(None, "", tmp_path, None, None)
    run.links = Links(None, [Place(1, 2)], Controller(), lambda: None)
    run.limits = [Limits("drop_tail", 9_000)]
    phase = Phase.model_validate({"name": "two", "duration": "5s", "apply_advice": True})
    set_phase([], phase).do(run)
    assert posts == ["/advice/apply"]
    assert run.limits == [Limits("drop_tail", 5_000)]


def test_advice_of_a_phase_is_set_at_the_next():
    marking = {"limit_bytes": 200_000}
    advice = {"limit_bytes": 50_000, "marking": marking}
    drops, marks = Limits("drop_tail", 90_000), Limits("mark_ce", 300_000, 90_000)
    assert limits_of_advice(advice, drops, 10**6) == Limits("drop_tail", 50_000)
    assert limits_of_advice(advice, marks, 10**6) == Limits("mark_ce", 200_000, 50_000)
    # The queue's capacity bounds the limit, and the threshold stays below the limit.
    tight = limits_of_advice(advice, marks, 50_500)
    assert tight == Limits("mark_ce", 50_500, 50_500 - FRAME_BYTES)
    for none in (None, {"limit_bytes": None}):
        with pytest.raises(LabError, match="no advice"):
            limits_of_advice(none, drops, 10**6)
