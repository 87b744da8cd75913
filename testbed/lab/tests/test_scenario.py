# SPDX-License-Identifier: Apache-2.0
import pytest
from experiment_files import BASE, TWO_SWITCHES, document

from tidemark_lab import steps_record, sweep
from tidemark_lab.__main__ import main, parser
from tidemark_lab.demo import options as demo_options
from tidemark_lab.experiment import as_scenario, load
from tidemark_lab.experiment.load import ExperimentError
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.scenario import FRAME_BYTES, Scenario, harmonic_mean
from tidemark_lab.switches import EMBEDDED
from tidemark_lab.topology import Topology
from tidemark_lab.traffic import make_spec, short_arrivals_per_s

LONG = BASE["traffic"]["persistent"][0]
OPEN = {
    "name": "mice",
    "hosts": "near",
    "load": "5%",
    "size": {"distribution": "exponential", "mean": "20kB"},
}


def test_round_trips_are_the_sum_of_both_ports():
    scenario = Scenario()
    rtts = [h.delay_ms + scenario.receiver.delay_ms for h in scenario.senders]
    assert rtts == [10, 20, 30, 40]
    assert scenario.bdp_limit_bytes == 312_500


def test_ports_addresses_and_macs_are_distinct():
    hosts = Scenario().hosts
    for key in ("port", "address", "mac", "name"):
        assert len({getattr(h, key) for h in hosts}) == len(hosts)
    assert Scenario().report_port not in {h.port for h in hosts}


def test_half_of_the_flows_of_each_kind_and_every_rtt_sees_both():
    scenario = Scenario()
    kinds = [
        (scenario.lbp_sender(i), scenario.lbp_congestion_control(i))
        for i in range(scenario.lbp_flows)
    ]
    assert [c for _, c in kinds].count("reno") == 6
    assert len(set(kinds)) == 2 * len(scenario.senders)


def test_effective_rtt_is_the_harmonic_mean():
    assert harmonic_mean([10, 20, 30, 40]) == pytest.approx(19.2)
    assert harmonic_mean([]) is None


def test_bad_values_are_refused():
    with pytest.raises(ValueError, match="base_rtts_ms"):
        Scenario(base_rtts_ms=(0.0,))
    with pytest.raises(ValueError, match="rbp_senders"):
        Scenario(rbp_senders=(4,))
    with pytest.raises(ValueError, match="short_share"):
        Scenario(short_share=1.0)


def test_interface_names_fit_the_kernel_and_ports_say_rate_and_delay():
    topology = Topology(Scenario(), "ffff")
    assert len(topology.report_interface) <= 15
    ports = topology.switch_ports()
    assert ports[0] == "1=p1@tm-ffff-sw,delay=5000us,queue=8192p"
    assert "rate=100000000bit" in ports[4] and "delay=5000us" in ports[4]
    assert sum("rate=" in p for p in ports) == 1
    assert "delay=" not in ports[5]


def test_the_demos_network_and_flows_are_those_of_its_file():
    """The same file as an experiment and as a scenario: hosts, flows, and who sends them."""
    experiment = as_scenario.named("demo")
    scenario, plan = Scenario(), Plan.of(experiment, 1)
    spec = make_spec(scenario, {h: h for h in ("h1", "h2", "h3", "h4", "h2a", "h4a", "rx")})
    of_plan = [(f.name, f.kind, 1e3 * f.host.rtt_s, f.congestion_control) for f in plan.flows]
    of_scenario = [
        (f["name"], f["kind"], f["base_rtt_ms"], f["congestion_control"]) for f in spec["flows"]
    ]
    assert of_plan == of_scenario and len(of_plan) == 16
    assert round(plan.bdp_bytes(0)) == scenario.bdp_limit_bytes == 312_500
    arrivals = sum(t.arrivals_per_s for t in plan.transfers)
    assert arrivals == pytest.approx(short_arrivals_per_s(scenario), rel=1e-6)


def test_the_sweep_measures_the_demos_mix():
    demo, case = (as_scenario.named(n) for n in ("demo", "sweep/sweep-demo"))
    assert case.topology == demo.topology and case.traffic == demo.traffic
    assert case.targets == demo.targets


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {
                "topology__switches": TWO_SWITCHES["topology"]["switches"],
                "traffic__persistent__0__bottleneck": "first",
            },
            "one switch",
        ),
        ({"traffic__persistent__0__window": "9kB"}, "no flows that the switch limits"),
        (
            {"traffic__open_loop": [OPEN | {"size": {"distribution": "fixed", "size": "9kB"}}]},
            "exponential sizes",
        ),
        ({"traffic__persistent__0__initial_window": 2}, "long: initial_window: this command"),
        ({"traffic__open_loop": [OPEN | {"ecn": True, "stop": "9s"}]}, "ecn, stop: this command"),
        ({"traffic__open_loop": [OPEN, OPEN | {"name": "other"}]}, "one open-loop source"),
        (
            {"traffic__persistent": [LONG, LONG | {"name": "more"}]},
            "one group of lbp",
        ),
        (
            {"topology__hosts": [{"name": n, "rtts": "9ms"} for n in ("near", "far")]},
            "hosts: all of them",
        ),
    ],
)
def test_what_a_scenario_has_not_is_refused(changes, words):
    experiment = load.check(document(**changes), "x")
    with pytest.raises(ExperimentError, match=words):
        as_scenario.values(experiment)


def test_the_commands_take_their_times_from_the_files():
    times, steps = demo_options.planned(), steps_record.planned()
    assert (times.seconds, times.warmup_s, times.settle_s) == (20, 5, 5)
    assert (steps.flows, steps.seconds) == ((4, 40, 8), 40)
    assert (steps.settling_s, steps.auto_after_s) == (10, 8)
    settings = steps_record.Options().settings()
    assert settings["targets"] == {
        "utilisation": 0.98,
        "loss_rate": 0.02,
        "delay_ms": 60,
        "priority": ["delay", "loss", "utilisation"],
    }
    settings["control"]["mode"] = "auto"
    assert steps_record.Options().settings()["control"]["mode"] == "recommend"
    options = parser().parse_args(["demo", "--seconds", "7", "--capacity", "1gbit"])
    # What is not given depends on the switch.
    assert (options.seconds, options.settle, options.capacity) == (7, None, 10**9)
    assert {(c.seconds, c.settle_s, c.warmup_s) for c in sweep.cases()} == {(15, 5, 6)}


def test_a_file_that_cannot_be_read_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(as_scenario, "FILES", tmp_path)
    as_scenario.named.cache_clear()
    try:
        assert main(["clean"]) == 2
    finally:
        as_scenario.named.cache_clear()
    assert "demo.toml: cannot be read" in capsys.readouterr().err


def test_marks_do_not_limit_what_is_limited_elsewhere():
    """At one mark in 25 packets a window has sqrt(1.5 * 25) packets, about six."""
    drops = EMBEDDED.scenario(1, False, None, False)
    marks = EMBEDDED.scenario(1, True, None, False)
    assert marks.rbp_rate_bps < drops.rbp_rate_bps
    longest_s = max(marks.base_rtts_ms[i] for i in marks.rbp_senders) / 1000
    # With half of the first limit waiting here.
    longest_s += marks.bdp_limit_bytes * 8 / marks.capacity_bps / 2
    packets = marks.rbp_rate_bps / 8 * longest_s / FRAME_BYTES
    assert packets < 6
