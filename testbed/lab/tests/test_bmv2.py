# SPDX-License-Identifier: Apache-2.0
"""BMv2 as the demo's switch: tests that do not need it, and one run if it is installed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidemark_lab import netns
from tidemark_lab import preflight as lab_preflight
from tidemark_lab.bmv2 import checks, command, preflight, rates
from tidemark_lab.demo import variant
from tidemark_lab.demo.variant import Variant
from tidemark_lab.errors import PreflightError
from tidemark_lab.experiment import load
from tidemark_lab.experiment.bmv2 import back_end
from tidemark_lab.experiment.bmv2.back_end import Bmv2
from tidemark_lab.experiment.bmv2.layout import Bmv2Layout
from tidemark_lab.experiment.load import FILES, ExperimentError
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.quantities import FRAME_BYTES

REPOSITORY = Path(__file__).resolve().parents[3]


def demo(capacity_bps: int | None = None, ecn: bool = False) -> Plan:
    wanted = Variant(bmv2=True, ecn=ecn, capacity_bps=capacity_bps)
    document = variant.of(load.read(FILES / "demo.toml"), wanted)
    return Plan.of(load.check(document, "demo"), 1)


def rate_bps(plan: Plan) -> float:
    return plan.experiment.topology.switches[0].rate


def test_a_capacity_is_a_whole_number_of_packets_per_second():
    assert rate_bps(demo()) == 1000 * 8 * 1538
    other = demo(25_000_000)
    assert rates.packets_per_s(round(rate_bps(other))) == 2032
    assert rate_bps(other) == 2032 * 8 * 1538
    # The flows of the access network keep their share of the rate.
    (slow,) = {f.remote.rate for f in other.flows if f.remote}
    assert slow / rate_bps(other) == pytest.approx(0.02, rel=1e-4)


@pytest.mark.parametrize("capacity_bps", [1_000_000, 100_000_000])
def test_a_capacity_that_bmv2_does_not_carry_is_refused(capacity_bps):
    with pytest.raises(ExperimentError, match=r"200 to 4000; choose 2\.5mbit to 49\.2mbit"):
        demo(capacity_bps)


def test_windows_are_large_enough_and_queues_deeper_than_every_limit():
    for ecn in (False, True):
        plan = demo(ecn=ecn)
        (limits,) = plan.first_limits()
        # C·T̄ over the hosts, 100 ms.
        assert limits.acts_at_bytes == round(rate_bps(plan) / 8 * 0.1)
        round_trip_packets = rate_bps(plan) / 8 / 1538 * 0.1
        assert (round_trip_packets + limits.acts_at_bytes / FRAME_BYTES) / plan.n_b(0) > 10
        assert plan.queue_packets * FRAME_BYTES >= 2 * plan.most_limit_bytes
        assert limits.limit_bytes <= plan.most_limit_bytes
        assert not plan.experiment.topology.offloads
        assert Bmv2().refuse(plan) == []


def test_it_takes_longer_than_on_the_embedded_switch():
    run = demo().experiment
    assert (run.run.warmup, run.phases[0].duration, run.phases[1].settle) == (7.5, 30, 7.5)
    assert run.targets.delay == pytest.approx(0.12) and run.run.back_end == "bmv2"
    assert {g.spread for g in run.traffic.persistent} == {4.0}


def test_the_command_says_no_log_and_its_own_addresses():
    argv = command.arguments(
        Path("/x/simple_switch_grpc"),
        device_id=1,
        interfaces={1: "p1", 6: "p6"},
        grpc="198.18.255.6:9559",
        thrift_port=9090,
    )
    words = " ".join(argv)
    assert words == (
        "/x/simple_switch_grpc --no-p4 --device-id 1 --log-level off --thrift-port 9090 "
        "-i 1@p1 -i 6@p6 -- --grpc-server-addr 198.18.255.6:9559 --cpu-port 510"
    )


def test_the_path_has_the_delays_and_bmv2_the_bottleneck_and_the_reports():
    layout = Bmv2Layout(demo(), "abcd")
    assert layout.bmv2_interfaces() == {1: "p1", 5: "p5", 6: "p6"}
    ports = layout.path_ports()
    assert ports[0] == "1=p1@tm-abcd-path,delay=20000us,queue=8192p,gro=off"
    assert ports[-1] == "5=p5@tm-abcd-path,delay=20000us,queue=8192p,gro=off"
    delays_ms = [float(p.split("delay=")[1].split("us")[0]) / 1000 for p in ports]
    for sender, rtt_ms in enumerate((40, 80, 120, 160)):
        assert delays_ms[sender] + delays_ms[-1] == rtt_ms
    assert not any("rate=" in port for port in ports)
    assert len(layout.management_interface) <= 15


def lab(*arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tidemark_lab", *arguments],
        capture_output=True,
        text=True,
        env={"PATH": path},
        timeout=60,
    )


@pytest.mark.parametrize("words", [("run", "demo"), ("doctor",)])
def test_without_bmv2_it_is_refused_with_what_to_do(tmp_path, words):
    done = lab(*words, "--back-end", "bmv2", "--out", str(tmp_path / "runs"), path=str(tmp_path))
    assert done.returncode == 2
    assert "simple_switch_grpc is not on PATH" in done.stderr
    assert "p4lang-bmv2" in done.stderr and "--back-end embedded" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo --device-id", "has no Thrift server"),
        ("echo libpi.so.0: not found >&2; exit 127", "does not run: libpi.so.0: not found"),
    ],
)
def test_a_bmv2_that_will_not_do_is_refused_beforehand(tmp_path, script, says):
    program = tmp_path / command.PROGRAM
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    done = lab(
        "run", "demo", "--back-end", "bmv2", "--out", str(tmp_path / "runs"), path=str(tmp_path)
    )
    assert done.returncode == 2
    assert says in done.stderr and "--back-end embedded" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_the_embedded_switch_under_bmv2s_name_serves_thrift(tmp_path, binary):
    link = tmp_path / command.PROGRAM
    link.symlink_to(binary("tidemark-switch"))
    done = subprocess.run([link, "--help"], capture_output=True, text=True, check=True)
    assert preflight.serves_thrift(done.stdout)
    assert not preflight.serves_thrift("  --thrift-port VALUE: accepted without effect\n")


def test_another_switch_is_an_error(tmp_path):
    done = lab("run", "demo", "--back-end", "tofino", path=str(tmp_path))
    assert done.returncode == 2
    assert "bmv2" in done.stderr and "embedded" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["demo", "SWITCH=bmv3"],
            "SWITCH=bmv3: no such switch; choose embedded, bmv2 or tofino-model",
        ),
        (["steps", "SWITCH=bmv2"], "demo and ptf run on BMv2; for steps leave SWITCH out"),
        (["require-switch", "SWITCH=bmv2"], "simple_switch_grpc is not on PATH"),
    ],
)
def test_make_refuses_what_it_cannot_do(tmp_path, arguments, says):
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "id"):
        (tools / tool).symlink_to(f"/bin/{tool}")
    done = subprocess.run(
        ["/usr/bin/make", "-C", str(REPOSITORY), f"SHELL={tools}/bash", *arguments],
        capture_output=True,
        text=True,
        env={"PATH": str(tools)},
        timeout=60,
    )
    assert done.returncode == 2
    assert says in done.stderr


def test_an_address_of_the_management_link_that_is_taken_is_named(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(preflight, "check_program", lambda: None)
    monkeypatch.setattr(back_end.Embedded, "ready", lambda _self, _out: ["a note"])
    monkeypatch.setattr(lab_preflight, "addresses_within", asked.append)
    assert Bmv2().ready(Path("runs")) == ["a note"]
    assert asked == ["198.18.255.4/30"]
    taken = [("eth7", "198.18.255.5")]
    monkeypatch.setattr(lab_preflight, "addresses_within", lambda _: taken)
    with pytest.raises(PreflightError, match=r"198\.18\.255\.5 of BMv2's management link.*eth7"):
        Bmv2().ready(Path("runs"))


def phase(delay_ms: float | None, occupancy_bytes: int = 150_000, action: str = "drop_tail"):
    return {
        "name": "first",
        "delay_ms": {"p99": delay_ms},
        "occupancy_bytes": {"max": occupancy_bytes},
        "limit_bytes": 153_800,
        "limit_action": action,
    }


@pytest.mark.parametrize(
    ("measured", "ok"),
    [
        (phase(103.8), True),
        (phase(206.0), True),
        # The input buffer of 1024 packets, before a full queue.
        (phase(1124.0), False),
        (phase(None), False),
        # A marking threshold does not bound the occupancy.
        (phase(400.0, occupancy_bytes=600_000, action="mark_ce"), True),
        (phase(400.0, action="mark_ce"), False),
    ],
)
def test_a_starved_bmv2_spoils_the_run(measured, ok):
    summary = {
        "config": {"scenario": {"capacity_bps": rate_bps(demo())}},
        "phases": [measured],
    }
    (check,) = checks.judge(summary)
    assert (check.ok, check.essential) == (ok, True)


NEEDS_BMV2 = pytest.mark.skipif(command.find() is None, reason="simple_switch_grpc is not on PATH")


@pytest.mark.root
@NEEDS_BMV2
def test_what_a_killed_run_leaves_is_removed_by_the_next(tmp_path):
    before, links_before = netns.names(), interfaces()
    killed = started(tmp_path / "killed")
    killed.kill()
    killed.wait()
    assert len(netns.names() - before) == 9
    again = started(tmp_path / "again")
    again.send_signal(signal.SIGINT)
    assert again.wait(60) == 130, (tmp_path / "again.log").read_text()
    assert "removed what run" in (tmp_path / "again.log").read_text()
    assert (netns.names(), interfaces()) == (before, links_before)


def interfaces() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def started(out: Path) -> subprocess.Popen[bytes]:
    """Starts a demo; returns once its traffic runs."""
    log = out.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tidemark_lab", "run", "demo"),
                *("--back-end", "bmv2"),
                *("--no-report", "--out", str(out)),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    deadline = time.monotonic() + 120
    while "traffic:" not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return process


@pytest.mark.root
@NEEDS_BMV2
def test_the_whole_loop_on_bmv2(tmp_path):
    before = netns.names()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tidemark_lab", "run", "demo", "--back-end", "bmv2"),
            "--no-report",
            *("--seconds", "15", "--out", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the long path" in done.stdout + done.stderr
    (run_dir,) = tmp_path.iterdir()
    summary = json.loads((run_dir / "summary.json").read_text())
    assert summary["config"]["switch"] == "bmv2"
    for one in summary["phases"]:
        assert one["reports"]["lost"] == 0
        assert one["reports"]["received"] > 5_000
        assert one["join"]["matched_fraction"] >= 0.95
        assert one["truth"]["n_b"] == 6
    first, second = summary["phases"]
    assert first["advice"]["limit_bytes"] == second["limit_bytes"] != first["limit_bytes"]
    assert netns.names() <= before
