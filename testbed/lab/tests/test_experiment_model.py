# SPDX-License-Identifier: Apache-2.0
"""Valid and invalid experiments, and the messages for the invalid ones."""

import numpy as np
import pytest
from experiment_files import BASE, TWO_SWITCHES, document

from tidemark_lab.experiment import load, quantities, sizes
from tidemark_lab.experiment.load import ExperimentError
from tidemark_lab.experiment.quantities import Limit


def error_of(doc):
    with pytest.raises(ExperimentError) as caught:
        load.check(doc, "x.toml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (quantities.rate_bps, "2.5gbit", 2.5e9),
        (quantities.rate_bps, "500 kbit", 5e5),
        (quantities.seconds, "250us", 250e-6),
        (quantities.seconds, "2min", 120),
        (quantities.size_bytes, "64kB", 64_000),
        (quantities.size_bytes, "10packets", 15_140),
        (quantities.fraction, "2%", 0.02),
        (quantities.fraction, 0.5, 0.5),
    ],
)
def test_quantities_have_units(parse, text, value):
    assert parse(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (quantities.rate_bps, 50_000_000),
        (quantities.rate_bps, "50"),
        (quantities.rate_bps, "0mbit"),
        (quantities.rate_bps, "50MB"),
        (quantities.seconds, 3),
        (quantities.seconds, "-1s"),
        (quantities.seconds, True),
        (quantities.size_bytes, "8kb"),
        (quantities.size_bytes, "1e9999B"),
        (quantities.fraction, 2),
        (quantities.fraction, True),
        (Limit.parse, 100),
        (Limit.parse, "0bdp"),
    ],
)
def test_what_has_no_unit_or_a_wrong_one_is_refused(parse, text):
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


def test_limits_go_by_bytes_packets_time_and_the_bandwidth_delay_product():
    assert Limit.parse("0.5bdp").in_bytes(100_000, 4, 1e8) == 50_000
    assert Limit.parse("1bdp/sqrt_n").in_bytes(100_000, 4, 1e8) == 50_000
    assert Limit.parse("2packets").in_bytes(1, 1, 1e8) == 3028
    assert Limit.parse("100pkts").in_bytes(1, 1, 1e8) == 151_400
    assert Limit.parse("10ms").in_bytes(1, 1, 1e8) == 125_000
    assert str(Limit.parse("2.5 MS")) == "2.5ms"
    for least in ("1B", "1us"):
        assert Limit.parse(least).in_bytes(1, 1, 1e8) == 1514, "a limit has room for a frame"


def test_a_bare_minimum_is_enough():
    experiment = load.check(document(), "x.toml")
    assert experiment.traffic.persistent[0].congestion_control == ["cubic"]
    assert experiment.seconds == 6 + 5 + 10


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"topology__switches__0__rat": "1mbit"}, "topology.switches[0].rat: there is no such key"),
        ({"topology__switches__0__rat": "1mbit"}, "did you mean rate?"),
        ({"topology__switches__0__rate": 9}, "topology.switches[0].rate: 9 has no unit"),
        ({"phases__0__limit": 9}, "phases[0].limit: 9 has no unit"),
        ({"phases__0__duration": "0s"}, "phases[0]: duration: at least 1s"),
        ({"phases__0__switches": {"s1": {"limits": "1bdp"}}}, "phases[0].switches.s1.limits"),
        ({"phases__0__switches": {"s9": {"limit": "1bdp"}}}, "there is no switch s9"),
        ({"traffic__persistent__0__hosts": "away"}, "there are no hosts away"),
        ({"traffic__persistent__0__window": "1kB"}, "window: at least 2048B"),
        ({"traffic__persistent__0__congestion_control": "tahoe"}, "congestion_control[0]: 'tahoe'"),
        ({"traffic__persistent__0__steps": [{"at": "0s", "count": 1}]}, "either count or steps"),
        ({"traffic": {}}, "there is no traffic"),
        ({"topology__switches__0__threshold": "1bdp"}, "threshold and action mark_ce belong"),
        ({"phases__0__apply_advice": True}, "phases[0]: apply_advice: the limits are"),
        ({"version": 2}, "version: 2: should be 1"),
        ({"name": "Upper Case"}, "name: "),
    ],
)
def test_errors_name_the_key_and_the_remedy(changes, words):
    text = error_of(document(**changes))
    assert words in text and text.startswith("x.toml: ")


def test_the_path_of_a_size_has_no_tag_of_ours():
    source = {
        "name": "s",
        "hosts": "near",
        "load": "3%",
        "size": {"distribution": "exponential", "mean": "20kB", "lagest": "9kB"},
    }
    text = error_of(document(traffic={"open_loop": [source]}))
    assert "traffic.open_loop[0].size.lagest: there is no such key (did you mean largest?)" in text


def test_every_error_is_told_at_once():
    text = error_of(document(topology__switches__0__rate=9, phases__0__duration=9))
    assert len(text.splitlines()) == 2


def test_flows_over_several_switches_say_which_limits_them():
    doc = document(TWO_SWITCHES)
    assert load.check(doc, "x").path_of("far") == ["first", "second"]
    del doc["traffic"]["persistent"][0]["bottleneck"]
    assert "say which is its bottleneck" in error_of(doc)
    doc["traffic"]["persistent"][0]["bottleneck"] = "second"
    assert load.check(doc, "x")
    doc["traffic"]["persistent"][1]["bottleneck"] = "first"
    assert "does not pass first" in error_of(doc)


def test_files_that_are_none_are_refused_with_their_place(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("version = \n")
    with pytest.raises(ExperimentError, match="is not TOML"):
        load.read(path)
    with pytest.raises(ExperimentError, match="cannot be read"):
        load.read(tmp_path / "gone.toml")


def test_the_largest_transfers_of_the_open_issues_mix_carry_most_bytes():
    """OI §4.2: the largest 30 % carry 70 % of the bytes."""
    rng = np.random.default_rng(1)
    size = sizes.OpenIssues(distribution="oi", largest="1000MB")
    drawn = np.sort([sizes.draw(size, rng) for _ in range(200_000)])[::-1]
    share = drawn[: len(drawn) * 3 // 10].sum() / drawn.sum()
    assert share == pytest.approx(0.70, abs=0.01)
    assert drawn.mean() == pytest.approx(sizes.mean_bytes(size), rel=0.02)


@pytest.mark.parametrize(
    "size",
    [
        sizes.Fixed(distribution="fixed", size="5kB"),
        sizes.Uniform(distribution="uniform", smallest="3packets", largest="25packets"),
        sizes.Exponential(distribution="exponential", mean="20kB", largest="9MB"),
        sizes.Pareto(distribution="pareto", smallest="4kB", shape=1.5, largest="90kB"),
    ],
)
def test_drawn_sizes_have_the_mean_that_loads_are_worked_out_with(size):
    rng = np.random.default_rng(2)
    drawn = [sizes.draw(size, rng) for _ in range(40_000)]
    off = 0.03 if size.distribution != "pareto" else 0.1
    assert np.mean(drawn) == pytest.approx(sizes.mean_bytes(size), rel=off)
    assert min(drawn) >= 1


def test_the_base_is_not_changed_by_copies():
    document(traffic__persistent__0__count=9)
    assert BASE["traffic"]["persistent"][0]["count"] == 4
