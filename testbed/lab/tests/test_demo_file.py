# SPDX-License-Identifier: Apache-2.0
"""The files of the demo, `steps` and `sweep`: network, flows, times, effects of options."""

import ipaddress
import subprocess

import pytest
import tomli_w

from tidemark_lab.__main__ import main
from tidemark_lab.demo import variant
from tidemark_lab.demo.conclusion import scenario
from tidemark_lab.demo.variant import Variant
from tidemark_lab.experiment import load
from tidemark_lab.experiment.embedded import configs
from tidemark_lab.experiment.embedded.layout import Layout
from tidemark_lab.experiment.load import FILES, ExperimentError
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.quantities import FRAME_BYTES
from tidemark_lab.preflight import Paths, Ports
from tidemark_lab.steps.judge import Steps
from tidemark_lab.steps.record import Asked
from tidemark_lab.traffic import harmonic_mean

SWEEP = sorted((FILES / "sweep").glob("*.toml"))


def read(name):
    return load.read(FILES / f"{name}.toml")


def experiment(name):
    return load.check(read(name), name)


def demo(**wanted):
    return Plan.of(load.check(variant.of(read("demo"), Variant(**wanted)), "demo"), 1)


def test_round_trips_are_the_sum_of_both_ports():
    plan = demo()
    rtts_ms = [1e3 * (plan.host_delay_s(h) + plan.delay_s(0)) for h in plan.hosts]
    assert rtts_ms == pytest.approx([10, 20, 30, 40])
    assert plan.first_limits()[0].limit_bytes == 312_500


def test_ports_addresses_and_macs_are_distinct():
    layout = Layout(demo(), "ffff")
    hosts = layout.plan.hosts
    for of in (layout.host_port, layout.address, layout.mac, lambda h: h.name):
        assert len({of(h) for h in hosts}) == len(hosts) == 4
    ports = {layout.host_port(h) for h in hosts} | {layout.out_port(0)}
    assert ports == {1, 2, 3, 4, 5} and layout.report_port(0) not in ports


def test_half_of_the_flows_of_each_kind_and_every_rtt_sees_both():
    plan = demo()
    kinds = [(f.host.name, f.congestion_control) for f in plan.flows if f.kind == "lbp"]
    assert [c for _, c in kinds].count("reno") == 6
    assert len(set(kinds)) == 2 * len(plan.hosts)


def test_effective_rtt_is_the_harmonic_mean():
    assert harmonic_mean([10, 20, 30, 40]) == pytest.approx(19.2)
    assert harmonic_mean([]) is None


def test_interface_names_fit_the_kernel_and_ports_say_rate_and_delay():
    layout = Layout(demo(), "ffff")
    assert len(layout.report_link(0).collector_interface) <= 15
    ports = layout.switch_ports(0)
    assert ports[0] == "1=p1@tm-ffff-s1,queue=8192p,delay=5000us"
    assert "rate=100000000bit" in ports[4] and "delay=5000us" in ports[4]
    assert sum("rate=" in p for p in ports) == 1
    assert "delay=" not in ports[5]


def test_a_queue_has_room_for_four_times_the_bdp():
    fast = demo(capacity_bps=10**9)
    assert fast.queue_packets * FRAME_BYTES == pytest.approx(8 * fast.bdp_bytes(0), abs=FRAME_BYTES)
    assert fast.first_limits()[0].limit_bytes == 3_125_000 <= fast.most_limit_bytes
    assert demo().queue_packets == 8192


def test_the_demos_flows_are_those_of_its_file():
    plan = demo()
    assert [f.kind for f in plan.flows] == ["lbp"] * 12 + ["rbp"] * 2 + ["wl"] * 2
    assert round(plan.bdp_bytes(0)) == 312_500
    bits = sum(t.arrivals_per_s for t in plan.transfers) * 20_000 * 8
    assert bits == pytest.approx(0.03 * 100e6)
    said = scenario(plan)
    assert (said["rbp_senders"], said["wl_senders"], said["lbp_flows"]) == ([1, 3], [0, 2], 12)
    assert said["base_rtts_ms"] == [10, 20, 30, 40] and said["mean_rtt_ms"] == 25


def test_the_sweep_measures_the_demos_mix():
    mix, case = experiment("demo"), experiment("sweep/sweep-demo")
    assert case.topology == mix.topology and case.traffic == mix.traffic
    assert case.targets == mix.targets


def test_the_controller_is_configured_as_the_files_say(tmp_path):
    steps = Plan.of(experiment("steps"), 1)
    document = configs.controller(Layout(steps, "ffff"), Ports(), Paths.find(), tmp_path)
    assert document["targets"] == {
        "utilisation": 0.98,
        "loss_rate": 0.02,
        "delay_ms": 60,
        "priority": ["delay", "loss", "utilisation"],
        "confidence": 0.9,
        "margin": 0.25,
    }
    assert document["control"]["mode"] == "recommend"
    assert document["control"]["max_step_factor"] == 4.0
    plain = configs.controller(Layout(demo(), "ffff"), Ports(), Paths.find(), tmp_path)
    sure = {"confidence": 0.9, "margin": 0.0}
    assert plain["targets"] == {"utilisation": 0.98, "loss_rate": 0.01, "delay_ms": 30, **sure}
    assert plain["control"] | {"mode": "confirm", "max_step_factor": 64.0} == plain["control"]


@pytest.mark.parametrize("ecn", [False, True])
def test_the_programs_accept_their_configurations(tmp_path, binary, ecn):
    layout = Layout(demo(ecn=ecn), "ffff")
    documents = {
        "collector": configs.collector(layout, Ports(), tmp_path / "capture"),
        "controller": configs.controller(layout, Ports(), Paths.find(), tmp_path),
    }
    for name, document in documents.items():
        path = tmp_path / f"{name}.toml"
        path.write_text(tomli_w.dumps(document))
        argv = [binary(f"tidemark-{name}"), "validate", "--config", path]
        done = subprocess.run(argv, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_times_are_those_of_the_files():
    plan = demo()
    first, second = plan.experiment.phases
    assert (first.duration, second.duration, second.settle) == (20, 20, 5)
    assert plan.experiment.run.warmup == 5
    asked = Asked.of(experiment("steps"))
    assert (asked.flows, asked.seconds, asked.settling_s) == ((4, 40, 8), 40, 10)
    assert experiment("steps").run.warmup == 8
    for path in SWEEP:
        case = load.check(load.read(path), str(path))
        assert case.judge == "sweep"
        # Slower links take longer; with BBR, until all flows probe for their base RTT together.
        slow = case.topology.switches[0].rate <= 20e6 and case.name != "sweep-lossy"
        warmup = {"sweep-bbr8": 30}.get(case.name, 10) if slow else 6
        assert case.run.warmup == warmup, case.name
        assert {p.duration for p in case.phases} == {20 if slow else 15}
        settles = [0, 10, 10] if slow else [0, 5, 5]
        assert [p.settle for p in case.phases] == settles[: len(case.phases)]


def test_options_change_the_file():
    plan = demo(seconds=7.0, warmup_s=2.0, settle_s=3.0, capacity_bps=10**9, offloads=False, seed=4)
    first, second = plan.experiment.phases
    assert (first.duration, second.duration, first.settle, second.settle) == (7, 7, 0, 3)
    assert plan.experiment.run.warmup == 2 and plan.experiment.run.seed == 4
    assert plan.experiment.topology.switches[0].rate == 1e9
    assert not plan.experiment.topology.offloads


def test_confidence_and_margin_reach_the_controller(tmp_path):
    layout = Layout(demo(confidence=0.95, margin=0.1), "ffff")
    document = configs.controller(layout, Ports(), Paths.find(), tmp_path)
    assert document["targets"]["confidence"] == 0.95
    assert document["targets"]["margin"] == 0.1


def test_flows_of_steps_are_there_when_they_should_be():
    def flows(*counts):
        document = Steps(flows=counts, seconds=20).altered(read("steps"))
        found = load.check(document, "steps")
        assert len(found.phases) == len(counts)
        assert found.seconds == 20 * len(counts)
        assert [p.mode for p in found.phases] == ["auto"] + [None] * (len(counts) - 1)
        return Plan.of(found, 1).flows

    there = [
        sum(f.start_s < (k + 0.5) * 20 < (f.stop_s or 60) for f in flows(2, 4, 1)) for k in range(3)
    ]
    assert there == [2, 4, 1]
    assert all(f.start_s % 20 <= 0.5 for f in flows(2, 4, 1))
    spans = [(f.start_s, f.stop_s) for f in flows(2, 1, 2)]
    # One flow runs throughout, the other twice.
    assert [spans[0][0], spans[1][1], spans[2][1]] == [0.0, 20, None]
    assert len(spans) == 3


@pytest.mark.parametrize(("flows", "seconds"), [((4, 0), 40.0), (None, 11.0)])
def test_steps_that_cannot_be_judged_are_refused(flows, seconds):
    with pytest.raises(ExperimentError, match="--seconds must be at least 12, --flows above 0"):
        Steps(flows=flows, seconds=seconds).altered(read("steps"))


def test_a_file_that_cannot_be_read_is_told(tmp_path, capsys):
    assert main(["run", str(tmp_path / "demo.toml")]) == 2
    assert "demo.toml: cannot be read" in capsys.readouterr().err


def test_a_judge_that_is_not_there_is_told(tmp_path, capsys):
    file = tmp_path / "x.toml"
    file.write_text('judge = "oracle"\n' + (FILES / "first.toml").read_text())
    assert main(["run", str(file)]) == 2
    assert "judge: oracle: should be one of demo, steps" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["demo", "steps", "trial", "iterate", "check", "contest"])
def test_former_commands_say_what_is_typed_now(command, capsys):
    assert main([command, "--seconds", "5"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"lab: {command} is ")


def test_the_judges_options_are_its_own(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["run", "demo", "--help"])
    assert "--ecn" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["run", "steps", "--ecn"])
    assert "--ecn" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["run", "first", "--keep"])


def test_marks_do_not_limit_what_is_limited_elsewhere():
    """At one mark in 25 packets a window has sqrt(1.5 * 25) packets, about six."""
    drops, marks = demo(), demo(ecn=True)
    assert all(h.ecn for h in marks.hosts) and not any(h.ecn for h in drops.hosts)
    rates = [f.remote.rate for f in marks.flows if f.remote]
    assert rates[0] < next(f.remote.rate for f in drops.flows if f.remote)
    longest_s = max(f.host.rtt_s for f in marks.flows if f.remote)
    # Half of the first limit waits here.
    (limits,) = marks.first_limits()
    longest_s += limits.acts_at_bytes * 8 / 100e6 / 2
    assert rates[0] / 8 * longest_s / FRAME_BYTES < 6


def test_every_host_is_forwarded_to_and_reports_are_not_flooded():
    layout = Layout(demo(), "ffff")
    document = configs.provision(layout, 0, Paths.find())
    assert {f["port"] for f in document["forward"]} == {1, 2, 3, 4, 5}
    assert layout.report_port(0) not in document["flood_ports"]
    assert document["limits"] == {"5": {"action": "drop_tail", "limit_bytes": 312_500}}
    marking = configs.provision(Layout(demo(ecn=True), "ffff"), 0, Paths.find())
    assert marking["limits"] == {
        "5": {"action": "mark_ce", "threshold_bytes": 312_500, "limit_bytes": 937_500}
    }


def test_a_limit_above_a_threshold_has_room_for_all_flows_that_double():
    marks = demo(ecn=True)
    limits = marks.limits_at(0, 100_000)
    assert (limits.threshold_bytes, limits.limit_bytes) == (100_000, 512_500)
    # Never above the controller's largest limit.
    most = marks.most_limit_bytes
    for acts_at_bytes in (most // 2, most - 1, most, 10**9):
        limits = marks.limits_at(0, acts_at_bytes)
        assert limits.acts_at_bytes < limits.limit_bytes <= most
    assert demo().limits_at(0, 100_000).document() == {
        "action": "drop_tail",
        "limit_bytes": 100_000,
    }


def test_the_networks_of_a_lab_are_none_that_is_routed():
    benchmarking = ipaddress.ip_network("198.18.0.0/15")
    layout = Layout(demo(), "ffff")
    found = [layout.address(h) for h in layout.plan.hosts]
    found += [a.address for a in layout.access.values()]
    found.append(layout.report_link(0).collector_address)
    assert all(ipaddress.ip_address(a) in benchmarking for a in found)
