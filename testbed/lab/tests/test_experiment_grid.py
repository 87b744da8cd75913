# SPDX-License-Identifier: Apache-2.0
"""Points of a grid, and the plan of a point."""

import pytest
from experiment_files import TWO_SWITCHES, document

from tidemark_lab.experiment import grid, load
from tidemark_lab.experiment.load import ExperimentError
from tidemark_lab.experiment.plan import Limits, Plan


def points(doc, **more):
    return grid.points(doc, "x.toml", **more)


def test_every_combination_is_run_and_repeated():
    doc = document(
        grid={"traffic.persistent.long.count": [1, 4, 9], "phases.one.limit": ["1bdp", "9kB"]},
        run__repetitions=2,
        run__seed=7,
    )
    found = points(doc)
    assert len(found) == 12 and len({p.run_id for p in found}) == 12
    # The whole grid comes once before any repetition.
    assert [p.seed for p in found] == [7] * 6 + [8] * 6
    assert {p.experiment.traffic.persistent[0].count for p in found} == {1, 4, 9}
    assert found[0].settings == {
        "traffic.persistent.long.count": 1,
        "phases.one.limit": "1bdp",
    }


def test_the_same_settings_have_the_same_name_and_others_another():
    (one,) = points(document())
    (same,) = points(document(about="told otherwise", run__repetitions=1))
    (other,) = points(document(phases__0__duration="11s"))
    (elsewhere,) = points(document(), overrides={"run.back_end": "ns3"})
    assert one.run_id == same.run_id
    assert len({one.run_id, other.run_id, elsewhere.run_id}) == 3


def test_more_repetitions_keep_those_that_are_there():
    few, many = (points(document(run__repetitions=n)) for n in (2, 3))
    assert [p.run_id for p in many[:2]] == [p.run_id for p in few]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("topology.switches.s9.rate", "there is no topology.switches.s9"),
        ("topology.switches.[4].rate", "there is no topology.switches.4"),
        ("traffic.persistent.long.cnt", "there is no such key"),
        ("traffic.persistent", "persistent"),
        ("", "is not the path"),
    ],
)
def test_paths_that_lead_nowhere_are_refused(path, words):
    with pytest.raises(ExperimentError, match=r".+") as caught:
        points(document(grid={path: ["1mbit"]}))
    assert words in str(caught.value)


def test_a_bad_value_says_at_which_point():
    with pytest.raises(ExperimentError, match=r"with phases\.one\.limit = 7"):
        points(document(grid={"phases.one.limit": ["1bdp", 7]}))
    with pytest.raises(ExperimentError, match="has a value twice"):
        points(document(grid={"phases.one.limit": ["1bdp", "1bdp"]}))
    with pytest.raises(ExperimentError, match="has no values"):
        points(document(grid={"phases.one.limit": []}))


def test_overrides_take_the_place_of_an_axis():
    doc = document(grid={"phases.one.limit": ["1bdp", "9kB"]})
    (one,) = points(doc, overrides={"phases.one.limit": "2bdp"})
    assert str(one.experiment.phases[0].limit) == "2bdp" and one.settings == {}


def plan(doc):
    return Plan.of(load.check(doc, "x"), seed=1)


def test_a_limit_is_the_product_of_the_flows_that_are_limited():
    p = plan(document(traffic__persistent__0__count=1))
    # One flow, from the first host: 20 ms at 20 Mb/s.
    assert p.bdp_bytes(0) == pytest.approx(50_000)
    assert plan(document()).bdp_bytes(0) == pytest.approx(75_000)
    only = {"name": "s", "hosts": "near", "arrivals_per_s": 4}
    only["size"] = {"distribution": "fixed", "size": "9kB"}
    assert plan(document(traffic={"open_loop": [only]})).bdp_bytes(0) == pytest.approx(75_000)


def test_what_a_phase_does_not_say_stays():
    doc = document(
        topology__switches__0__action="mark_ce",
        topology__switches__0__threshold="20packets",
        topology__switches__0__limit="100packets",
        phases=[
            {"name": "a", "duration": "5s", "threshold": "10packets"},
            {"name": "b", "duration": "5s", "limit": "50packets"},
            {"name": "c", "duration": "5s", "action": "drop_tail"},
        ],
    )
    p = plan(doc)
    limits = [p.first_limits()]
    for phase in p.experiment.phases:
        limits.append(p.limits_in(phase, limits[-1]))
    assert [one[0] for one in limits] == [
        Limits("mark_ce", 151_400, 30_280),
        Limits("mark_ce", 151_400, 15_140),
        Limits("mark_ce", 75_700, 15_140),
        Limits("drop_tail", 75_700),
    ]


def test_a_flow_has_a_class_at_every_switch_that_it_passes():
    p = plan(document(TWO_SWITCHES))
    both, one = p.flows[0], p.flows[-1]
    assert [p.kind_at(both, k) for k in (0, 1)] == ["lbp", "rbp"]
    assert [p.kind_at(one, k) for k in (0, 1)] == [None, "lbp"]
    assert [p.n_b(k) for k in (0, 1)] == [6, 2]
    # Round trips of 30 ms for the six flows, 20 ms for the two.
    assert [p.bdp_bytes(k) for k in (0, 1)] == [pytest.approx(37_500), pytest.approx(75_000)]


def test_steps_are_spans_of_flows():
    steps = [{"at": "0s", "count": 2}, {"at": "10s", "count": 4}, {"at": "20s", "count": 1}]
    doc = document()
    group = doc["traffic"]["persistent"][0]
    del group["count"]
    group["steps"] = steps
    spans = {f.name: (f.start_s, f.stop_s) for f in plan(doc).flows}
    assert spans["long-1"] == (0.0, None)
    assert spans["long-2"] == (0.25, 20.0)
    assert spans["long-4"] == (10.25, 20.0)
    group["steps"] = [*steps, {"at": "30s", "count": 2}]
    spans = {f.name: (f.start_s, f.stop_s) for f in plan(doc).flows}
    assert spans["long-2.2"] == (30.0, None)
    assert plan(doc).n_b(0) == 4


def test_users_and_arrivals_are_shared_by_the_hosts():
    size = {"distribution": "fixed", "size": "25kB"}
    doc = document(
        traffic={
            "open_loop": [{"name": "o", "hosts": "near", "load": "10%", "size": size}],
            "closed_loop": [
                {"name": "c", "hosts": "near", "users": 5, "think": "1s", "size": size}
            ],
        }
    )
    found = {t.name: t for t in plan(doc).transfers}
    # 2 Mb/s in transfers of 25 kB: 10 per second, from two hosts.
    assert found["o-h1"].arrivals_per_s == pytest.approx(5)
    assert [found["c-h1"].users, found["c-h2"].users] == [3, 2]


def test_a_run_with_offloads_is_another_where_there_are_some():
    def names(back_end, **changes):
        doc = document(run__back_end=back_end, **changes)
        return [p.run_id for p in grid.points(doc, "x")]

    on, off = ({"topology__offloads": value} for value in (True, False))
    assert names("embedded") == names("embedded", **on) != names("embedded", **off)
    axis = document(grid={"topology.offloads": [True, False]})
    assert [p.experiment.topology.offloads for p in grid.points(axis, "x")] == [True, False]
