# SPDX-License-Identifier: Apache-2.0
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemark_lab import sweep, sweep_table
from tidemark_lab.__main__ import main


def test_cases_are_distinct_and_their_limits_fit_the_queue():
    names = [c.name for c in sweep.cases()]
    assert len(set(names)) == len(names)
    for case in sweep.cases():
        room = case.scenario.queue_depth_packets * 1514 // 2
        assert all(sweep.LEAST_LIMIT_BYTES <= b <= room for b in case.limits_bytes()), case.name


def test_unknown_cases_are_refused(capsys):
    assert main(["sweep", "--only", "demo,nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().out
    assert main(["sweep", "--list"]) == 0
    assert "demo" in capsys.readouterr().out


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
