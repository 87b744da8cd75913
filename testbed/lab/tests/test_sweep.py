# SPDX-License-Identifier: Apache-2.0
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemark_lab.__main__ import main
from tidemark_lab.experiment import load
from tidemark_lab.experiment.load import FILES
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.quantities import FRAME_BYTES
from tidemark_lab.sweep import table as sweep_table


def cases():
    files = sorted((FILES / "sweep").glob("*.toml"))
    return [load.check(load.read(path), str(path)) for path in files]


def test_cases_are_distinct_and_their_limits_fit_the_queue():
    names = [c.name for c in cases()]
    assert len(set(names)) == len(names) == 18
    for case in cases():
        plan = Plan.of(case, 1)
        limits = plan.first_limits()
        for phase in case.phases:
            limits = plan.limits_in(phase, limits)
            # The queue's own capacity: a limit beyond it would not be the one that drops.
            assert 8 * FRAME_BYTES <= limits[0].limit_bytes <= plan.most_limit_bytes, case.name


def test_the_first_limit_is_there_before_the_traffic():
    """No flow starts under a limit other than the first one measured."""
    for case in cases():
        plan = Plan.of(case, 1)
        assert plan.limits_in(case.phases[0], plan.first_limits()) == plan.first_limits(), case.name


def test_unknown_cases_are_refused(capsys):
    assert main(["run", "sweep", "--only", "demo,nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err
    assert main(["run", "sweep", "--list"]) == 0
    assert "demo" in capsys.readouterr().err


def test_the_grid_of_a_judged_file_is_swept_for_its_rows(capsys):
    assert main(["sweep", "sweep-one", "--set", "run.repetitions=2", "--dry-run"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all("sweep-one-s" in line for line in lines)


def test_a_passive_view_knows_nothing_of_the_senders(tmp_path):
    capture = tmp_path / "capture"
    capture.mkdir()
    events = pa.table(
        {
            "kind": pa.array(["flow", "retransmit", "congestion_state"]).dictionary_encode(),
            "probed": pa.array([True, None, None]),
        }
    )
    pq.write_table(events, capture / "events-0000.parquet")
    for name in ("tcp_probe-0000.parquet", "postcards-0000.parquet", "capture.json"):
        (capture / name).write_text("x")
    view = sweep_table.passive_view(capture, tmp_path / "passive")
    assert {p.name for p in view.iterdir()} == {
        "events-0000.parquet",
        "postcards-0000.parquet",
        "capture.json",
    }
    left = pq.read_table(view / "events-0000.parquet")
    assert left["kind"].to_pylist() == ["flow"]
    assert left["probed"].to_pylist() == [False]
    assert left.schema.field("probed").type == pa.bool_()


def point(limit, utilisation):
    columns = {f"{n}{end}": utilisation for n in sweep_table.PREDICTED for end in ("", "_low")}
    return {"limit_bytes": limit, **columns, "utilisation_high": 1.0, "loss_rate_high": 1.0}


def test_predictions_are_read_between_the_points_of_the_curve():
    curve = [point(100.0, 0.8), point(200.0, 0.9)]
    at = sweep_table._at(curve, 150)
    assert at["utilisation"] == {
        "value": pytest.approx(0.85),
        "low": pytest.approx(0.85),
        "high": 1,
    }
    assert sweep_table._at(curve, 300)["loss_rate"]["value"] is None


def test_the_table_says_what_is_not_known():
    estimate = {"value": 2.0, "low": 1.0, "high": 3.0, "evidence": "passive"}
    side = {"n_b": estimate, "t_e_ms": None, "classes_right": 2}
    document = {
        "name": "x",
        "phases": [
            {
                "limit_bytes": 30_000,
                "truth": {"n_b": 2, "t_e_ms": 20.0, "rbp": 0, "wl": 1},
                "probed": side,
                "passive": side,
                "utilisation": 0.5,
                "loss_rate": 0.01,
                "advice": {"advised_bytes": None, "rule": None},
                "predicted": [
                    {
                        "limit_bytes": 30_000,
                        "utilisation": dict.fromkeys(("value", "low", "high")),
                        "loss_rate": {"value": 0.01, "low": 0.005, "high": math.nan},
                    }
                ],
            }
        ],
    }
    text = sweep_table.markdown([document])
    assert "| x | 30 | 2 | 2.0 (1.0-3.0) | 2.0 (1.0-3.0) | 20.0 | - | - | 2/3 |" in text
    assert "| - | 0.5000 | 1.000 (0.500--) | 1.000 |" in text
    assert sweep_table.line(document) == "x: 30 kB: N_b 2 as 2/2"
    assert "N_b within 2 flows or a fifth of the truth: 2 of 2\n" in text
    assert sweep_table.far([document]) == []
    document["phases"][0]["passive"] = {**side, "n_b": {**estimate, "value": 4.1}}
    assert sweep_table.far([document]) == ["x at 30 kB: N_b 4.1 passive for 2"]
    document["phases"][0]["truth"]["n_b"] = 5
    assert sweep_table.far([document]) == ["x at 30 kB: N_b 2.0 probed for 5"]
    assert "1 of 2\nFAR: x at 30 kB" in sweep_table.markdown([document])
