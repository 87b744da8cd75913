# SPDX-License-Identifier: Apache-2.0
"""Queue management in experiments: its key, the switch's command line, rows, refusals, a run."""

import json
import re
from pathlib import Path

import pytest
import tomli_w
from experiment_files import REMOTE, TWO_SWITCHES, document

from tidemark_lab.__main__ import main
from tidemark_lab.experiment import execute, grid, load, reference, rows, store
from tidemark_lab.experiment.aqm import Aqm
from tidemark_lab.experiment.backend import MeasuredPhase, Window
from tidemark_lab.experiment.bmv2.back_end import Bmv2
from tidemark_lab.experiment.embedded.back_end import Embedded
from tidemark_lab.experiment.embedded.layout import Layout
from tidemark_lab.experiment.embedded.session import PlanSession
from tidemark_lab.experiment.load import ExperimentError
from tidemark_lab.experiment.plan import Limits, Plan
from tidemark_lab.experiment.remote.back_end import Remote
from tidemark_lab.experiment.simulated import Ns3
from tidemark_lab.figures import data, source
from tidemark_lab.preflight import Paths
from tidemark_lab.progress import Progress
from tidemark_lab.trial.judge import Trial

SMALL = Path(__file__).parent / "data" / "small"
PORTS = ["--console-port", "18080", "--switch-port", "19559"]
PORTS += ["--collector-port", "19560", "--metrics-port", "19561"]


def plan(aqm="codel", base=None, **changes):
    doc = document(base, topology__switches__0__aqm=aqm, **changes)
    return Plan.of(load.check(doc, "x"), 1)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("codel", "codel"),
        (" codel: target = 5ms, interval=100ms,ecn", "codel:target=5ms,interval=100ms,ecn=on"),
        ("pie:max_burst=0s,alpha=.25,beta=1.25", "pie:max_burst=0s,alpha=.25,beta=1.25"),
        ("fq_codel:limit=1bdp,ecn", "fq_codel:limit=75000B,ecn=on"),
        # C·T̄ is 75 000 bytes at 20 Mb/s.
        ("red:min_threshold=0.2bdp", "red:min_threshold=15000B"),
        (
            "red:min_threshold=4ms,max_threshold=20packets,max_probability=10%,gentle=off",
            "red:min_threshold=10000B,max_threshold=30280B,max_probability=10%,gentle=off",
        ),
    ],
)
def test_the_switch_is_told_the_law_of_the_file(text, law):
    made = plan(text)
    assert made.law(0) == law
    assert Layout(made, "abcd").aqm(0) == ["--aqm", f"3={law}"]
    assert re.match(reference_pattern(), text)


def reference_pattern():
    return json.loads(reference.schema())["$defs"]["Switch"]["properties"]["aqm"]["pattern"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("blue", '"blue": there is no such algorithm: known: codel, fq_codel, pie, red, none'),
        (5, '"5": there is no such algorithm'),
        ("none:ecn", "no such algorithm"),
        ("codel:targt=5ms", 'codel has no "targt": known: target, interval, ecn'),
        ("codel:target", 'codel: target: "on" is not understood'),
        ("codel:target=5", 'codel: target: "5" is not understood: write for example "20ms" (units'),
        ("pie:alpha=nan", 'pie: alpha: "nan" is not understood: write a number'),
        ("pie:ecn=maybe", 'pie: ecn: "maybe": write on or off'),
        ("red", "red: min_threshold is missing: write red:min_threshold=0.2bdp"),
        # A fair queue is a switch's `scheduling`.
        ("drr:limit=9kB", "there is no such algorithm"),
        ("red:min_threshold=9kB,max_probability=120%", "max_probability: 1.2 is not within"),
        ("red:min_threshold=7570", 'red: min_threshold: "7570" is not understood'),
    ],
)
def test_a_refusal_names_the_key_and_those_that_are_known(text, words):
    with pytest.raises(ExperimentError) as caught:
        plan(text)
    said = str(caught.value)
    assert said.startswith("x: topology.switches[0].aqm: ") and words in said


def test_limits_rest_while_an_algorithm_manages_the_port():
    settings = {
        "topology__switches__0__action": "mark_ce",
        "topology__switches__0__threshold": "1bdp",
        "phases__0__threshold": "9kB",
    }
    managed, fifo = plan(**settings), plan("none", **settings)
    far_above = Limits("drop_tail", managed.most_limit_bytes)
    assert far_above.limit_bytes >= 4 * managed.bdp_bytes(0)
    assert managed.first_limits() == [far_above]
    assert managed.limits_in(managed.experiment.phases[0], [far_above]) == [far_above]
    assert fifo.first_limits()[0].action == "mark_ce"
    assert fifo.law(0) is None and Layout(fifo, "abcd").aqm(0) == []


def test_only_the_named_switch_is_managed(tmp_path):
    """Checks the command lines of the switches."""
    made = plan("pie", TWO_SWITCHES)
    told = []

    class Started(PlanSession):
        def __init__(self):
            self.plan, self.layout = made, Layout(made, "abcd")
            self.ports, self.paths, self.run_dir = Embedded().ports, Paths.find(), tmp_path

        def run_switch(self, name, grpc_port, port_arguments, arguments=()):
            told.append((name, list(arguments)))

    Started().start_switches()
    assert told == [("switch-1", ["--aqm", "2=pie"]), ("switch-2", [])]


def test_it_is_an_axis_of_a_grid():
    doc = document(grid={"topology.switches.s1.aqm": ["none", "codel", "red:min_threshold=9kB"]})
    found = grid.points(doc, "x")
    assert [p.experiment.managed for p in found] == [[], ["s1"], ["s1"]]
    assert str(found[2].experiment.topology.switches[0].aqm) == "red:min_threshold=9kB"
    assert len({p.run_id for p in found}) == 3
    with pytest.raises(ExperimentError, match="aqm = blue"):
        grid.points(document(grid={"topology.switches.s1.aqm": ["codel", "blue"]}), "x")


@pytest.mark.parametrize("back_end", [Bmv2(), Ns3(), Remote()])
def test_only_the_embedded_switch_has_it(back_end):
    found = back_end.refuse(plan(remote=REMOTE))
    assert any(f.startswith("topology.switches[0].aqm: only embedded") for f in found), found
    assert not any("aqm" in f for f in back_end.refuse(plan("none", remote=REMOTE)))
    assert Embedded().refuse(plan()) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"phases__1__apply_advice": True}, "phase two: the controller does not know of aqm"),
        ({"phases__1__mode": "auto"}, "leave out apply_advice and mode auto"),
        ({"topology__switches__0__program": {"file": "int_md"}}, "aqm: Tidemark's own program"),
    ],
)
def test_where_it_makes_no_sense_it_is_refused(changes, words):
    phases = [{"name": n, "duration": "5s"} for n in ("one", "two")]
    with pytest.raises(ExperimentError, match=words):
        plan(**{"phases": phases, **changes})


def test_no_judge_takes_a_file_with_it(tmp_path, capsys):
    """A verdict would come from a controller that does not know about queue management."""
    (point,) = grid.points(document(topology__switches__0__aqm="codel"), "x")
    judged = execute.Judged(Trial(), [("x", point)], Embedded(), tmp_path, Paths.find(), one=True)
    assert execute.judge(judged, Progress()) == 2
    assert "x: aqm: judges rely on the controller" in capsys.readouterr().err


def test_a_row_names_the_law_and_has_no_advice(tmp_path, binary):
    program = binary("tidemark-controller")
    (tmp_path / "capture").symlink_to(SMALL / "capture")
    (tmp_path / "truth.json").write_text(json.dumps({"version": 1, "seed": 1, "flows": []}))
    window = Window(*[3 * 10**9, 8 * 10**9] * 2)

    def row(name, aqm):
        made = plan(aqm)
        phase = MeasuredPhase(name, made.first_limits(), [window])
        (found,) = rows.of_phase(program, made, Ns3(), phase, tmp_path)
        return found

    fifo, managed = row("fifo", "none"), row("red", "red:min_threshold=0.2bdp")
    assert fifo["aqm"] is None and fifo["advised_bytes"] and fifo["rule"]
    assert managed["aqm"] == "red:min_threshold=15000B"
    assert managed["advised_bytes"] is None and managed["rule"] is None
    assert managed["drops"] == fifo["drops"] == 9
    assert [p.name for p in (tmp_path / "links").glob("*.svg")] == ["fifo-s1.svg"]


def test_figures_draw_no_limit_that_never_acts(tmp_path):
    record = json.loads((SMALL / "run.json").read_text())
    record["rows"][0]["aqm"] = "codel"
    for name in ("capture", "links"):
        (tmp_path / name).symlink_to(SMALL / name)
    (tmp_path / "run.json").write_text(json.dumps(record))
    (port,) = source.ports(tmp_path)
    managed, fifo = (data.read(port, span) for span in port.spans)
    assert managed.buffer is None and fifo.buffer is not None


def test_marks_are_asked_for_once():
    assert str(Aqm.parse("codel").marking()) == "codel:ecn=on"
    for said in ("pie:ecn=off", "pie:ecn=on"):
        assert str(Aqm.parse(said).marking()) == said


def test_a_fair_queue_is_the_switchs_with_the_limit_of_the_phases():
    doc = document(topology__switches__0__scheduling="fair", phases__0__limit="20packets")
    made = Plan.of(load.check(doc, "x"), 1)
    assert made.law(0) == "drr:limit=30280B"
    assert made.first_limits() == [Limits("drop_tail", made.most_limit_bytes)]
    assert Embedded().refuse(made) == []
    several = [{"name": n, "limit": n[1:] + "packets", "duration": "5s"} for n in ("b20", "b40")]
    made = Plan.of(load.check({**doc, "phases": several}, "x"), 1)
    (said,) = Embedded().refuse(made)
    assert said.startswith("topology.switches[0].scheduling: a fair queue has one limit")
    # ns-3's own takes each phase's limit, and its rows have advice.
    doc["run"] = {"back_end": "ns3"}
    made = Plan.of(load.check({**doc, "phases": several}, "x"), 1)
    assert made.law(0) is None and made.experiment.managed == []
    before = made.first_limits()
    in_turn = [made.limits_in(p, before)[0].limit_bytes for p in made.experiment.phases]
    assert in_turn == [20 * 1514, 40 * 1514]


@pytest.mark.parametrize("change", [{"aqm": "codel"}, {"action": "mark_ce", "threshold": "9kB"}])
def test_a_fair_queue_drops_and_has_no_other_management(change):
    keys = {f"topology__switches__0__{key}": value for key, value in change.items()}
    with pytest.raises(ExperimentError, match="take aqm fq_codel"):
        load.check(document(topology__switches__0__scheduling="fair", **keys), "x")


def swept(folder, axis, values, **changes):
    """Runs 10 Mb/s with each value of an axis; returns the runs' directories and rows."""
    doc = document(
        topology__switches__0__rate="10mbit",
        run__warmup="3s",
        grid={f"topology.switches.s1.{axis}": values},
        **changes,
    )
    file = folder / "x.toml"
    file.write_text(tomli_w.dumps(doc))
    assert main(["sweep", str(file), "--out", str(folder), *PORTS]) == 0
    records = [(d, json.loads((d / "run.json").read_text())) for d in store.find([folder])]
    return [(run_dir, row) for run_dir, record in records for row in record["rows"]]


@pytest.mark.root
def test_codel_keeps_the_delay_below_that_of_a_full_queue(tmp_path, binary):
    binary("tidemark-traffic")
    runs = swept(
        tmp_path,
        "aqm",
        ["none", "codel", "fq_codel"],
        traffic__persistent__0__count=2,
        traffic__persistent__0__congestion_control="reno",
        phases=[{"name": "one", "limit": "4bdp", "settle": "3s", "duration": "8s"}],
    )
    found = {row["aqm"]: row for _, row in runs}
    fifo = found.pop(None)
    assert set(found) == {"codel", "fq_codel"}
    for row in found.values():
        assert row["reports_lost"] == 0 and row["drops"] > 0
        assert row["advised_bytes"] is None
        assert row["limit_bytes"] > 4 * row["bdp_bytes"]
        assert row["occupancy_max_bytes"] < row["limit_bytes"] / 2
        assert row["delay_mean_ms"] < fifo["delay_mean_ms"] / 2
        assert row["utilisation"] > 0.8 or not row["trusted"]


@pytest.mark.root
def test_a_fair_queue_lets_a_flow_live_next_to_a_flood(tmp_path, binary):
    """Datagrams at nine tenths of the rate leave a FIFO's rest to TCP, a fair queue half."""
    binary("tidemark-traffic")
    runs = swept(
        tmp_path,
        "scheduling",
        ["fifo", "fair"],
        traffic__persistent__0__count=1,
        traffic__datagrams=[{"name": "flood", "hosts": "near", "count": 1, "rate": "9mbit"}],
        phases=[{"name": "one", "limit": "40packets", "settle": "2s", "duration": "8s"}],
    )
    share = {}
    for run_dir, row in runs:
        assert row["limit_bytes"] == 40 * 1514 and row["reports_lost"] == 0
        flows = json.loads((run_dir / "truth.json").read_text())["flows"]
        (acked,) = (f["tcp"]["bytes_acked"] for f in flows if f.get("tcp"))
        share["fair" if row["aqm"] else "fifo"] = acked
    assert share["fair"] > 2 * share["fifo"], share
