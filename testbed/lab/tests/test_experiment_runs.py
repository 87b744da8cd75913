# SPDX-License-Identifier: Apache-2.0
"""A killed sweep continues; its rows become a table, and two tables are compared."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from experiment_files import document

from tidemark_lab.errors import LabError
from tidemark_lab.experiment import compare, grid, load, pace, store, table
from tidemark_lab.experiment.columns import COLUMNS
from tidemark_lab.experiment.store import Store

RUN = """
import json, sys, time
from pathlib import Path
from tidemark_lab.experiment import execute, grid, rows
from tidemark_lab.experiment.backend import MeasuredPhase, Window
from tidemark_lab.experiment.store import Store
from tidemark_lab.preflight import Paths
from tidemark_lab.progress import Progress

class Fake:
    name = "fake"
    several = len(sys.argv) < 7
    def refuse(self, plan): return []
    def ready(self, out): return []
    def versions(self): return {}
    def offloads(self, plan): return plan.experiment.topology.offloads
    def run(self, plan, run_dir, progress):
        with open(sys.argv[2], "a") as log:
            log.write(run_dir.name + "\\n")
        (run_dir / "capture").mkdir()
        for part in range(5):
            (run_dir / "capture" / f"{part}").write_text("x")
            time.sleep(0.02)
        if plan.experiment.traffic.persistent[0].count == 9 and not Path(sys.argv[4]).exists():
            raise OSError("the machine is on fire")
        phase = plan.experiment.phases[0]
        return [MeasuredPhase(phase.name, plan.first_limits(), [Window(0, 10**9, 0, 10**9)])]

def row(program, plan, back_end, phase, run_dir):
    return [{"phase": phase.name, "switch": "s1", "limit_bytes": 9000.0, "utilisation": 0.99,
             "loss_rate": 0.01, "drops": 50, "n_b": 4.0, "true_n_b": 4, "trusted": True,
             "why_not_trusted": "", "delay_p50_ms": 1.0, "delay_max_ms": 2.0}]

rows.of_phase = row
points = grid.points(json.loads(Path(sys.argv[3]).read_text()), "x.toml")
sweep = execute.Sweep(points, Fake(), Store(Path(sys.argv[1])), Paths.find(), jobs=int(sys.argv[5]))
sys.exit(execute.run(sweep, Progress()))
"""


@pytest.fixture
def sweep(tmp_path):
    """Starts a process that sweeps over 12 runs of 0.1 s each."""
    doc = document(
        grid={"traffic.persistent.long.count": [1, 2, 4, 9], "phases.one.limit": ["1bdp", "9kB"]}
    )
    doc["grid"]["phases.one.duration"] = ["10s", "11s", "12s"]
    (tmp_path / "x.json").write_text(json.dumps(doc))
    (tmp_path / "water").touch()

    def start(jobs=1, *more):
        return subprocess.Popen(
            [
                *(sys.executable, "-c", RUN, tmp_path / "runs", tmp_path / "log"),
                *(tmp_path / "x.json", tmp_path / "water", str(jobs), *more),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def started(tmp_path):
    log = tmp_path / "log"
    return log.read_text().split() if log.exists() else []


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_killed_sweep_goes_on_and_runs_nothing_twice_that_was_complete(sweep, tmp_path, jobs):
    root = tmp_path / "runs"
    killed_within_a_run = False
    for kills, wanted in enumerate((3, 9, 16)):
        process = sweep(jobs)
        deadline = time.monotonic() + 60
        while len(started(tmp_path)) < wanted:
            assert time.monotonic() < deadline and process.poll() is None, process.poll()
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        parts = list(root.glob(".part-*"))
        assert len(parts) <= jobs, kills
        # With several at a time, each removes its own part when the sweep dies.
        complete = {d.name for d in store.find([root])}
        begun = {name.removeprefix(".part-") for name in started(tmp_path)}
        killed_within_a_run |= bool(begun - complete)
        assert all((d / "run.json").is_file() for d in store.find([root]))
    assert killed_within_a_run
    process = sweep(jobs)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "runs exist already" in said
    complete = store.find([root])
    assert len(complete) == 24 and not list(root.glob(".part-*"))
    # Only incomplete runs started again: at most those running at each kill.
    assert 24 <= len(started(tmp_path)) <= 24 + 3 * jobs
    assert table.of_runs(complete).num_rows == 24
    process = sweep(jobs)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and "24 of 24 runs exist already" in said


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_interrupted_sweep_says_how_to_go_on(sweep, tmp_path, jobs):
    process = sweep(jobs)
    while not started(tmp_path):
        time.sleep(0.005)
    # Like `kill`: a terminal would also signal its processes.
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "run it again to go on" in said
    assert not list((tmp_path / "runs").glob(".part-*"))


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_run_that_fails_is_told_and_tried_again(sweep, tmp_path, jobs):
    (tmp_path / "water").unlink()
    process = sweep(jobs)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1 and "the machine is on fire" in said
    assert "6 runs failed" in said
    assert len(store.find([tmp_path / "runs"])) == 18
    failed = list((tmp_path / "runs").glob(".failed-*"))
    assert len(failed) == 6 and (failed[0] / "error.txt").read_text().startswith("the machine")
    (tmp_path / "water").touch()
    assert sweep(jobs).wait(120) == 0
    assert not list((tmp_path / "runs").glob(".failed-*"))
    assert len(store.find([tmp_path / "runs"])) == 24


def test_a_run_whose_process_dies_is_told_and_the_others_are_made(sweep, tmp_path):
    process = sweep(3)
    while len(started(tmp_path)) < 3:
        time.sleep(0.005)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    assert (
        process.returncode == 1 and "its process ended with -9" in said and "1 runs failed" in said
    )
    assert len(store.find([tmp_path / "runs"])) == 23


def test_several_at_a_time_are_refused_where_they_would_disturb_each_other(sweep):
    process = sweep(2, "alone")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2 and "one run at a time" in said


def test_what_is_left_goes_by_the_packets_of_the_runs_that_were_made():
    experiment = load.check(document(), "x")
    # 20 Mb/s for 6 s of warm-up, 5 s of settling and 10 s measured.
    assert pace.packets(experiment) == pytest.approx(20e6 * 21 / 8 / 1538)
    points = grid.points(document(run__repetitions=4), "x")
    one_s = pace.packets(experiment) / pace.PACKETS_PER_S
    seen = pace.Pace()
    assert seen.left_s(points, 2) == pytest.approx(2 * one_s)
    seen.add(experiment, 10.0)
    seen.add(experiment, 30.0)
    assert seen.left_s(points, 2) == pytest.approx(40.0)
    # A run on schedule is far from its time limit.
    assert pace.patience_s(experiment) > 10 * one_s


def test_a_sweep_tells_what_is_left_before_its_first_run(sweep):
    _, said = sweep(2).communicate(timeout=120)
    assert "run 1 of 24" in said.splitlines()[0] and "about" in said.splitlines()[0]
    assert all("left" in line for line in said.splitlines() if line.startswith("run "))


def test_two_sweeps_in_one_directory_are_refused(tmp_path):
    with (
        Store(tmp_path).opened(),
        pytest.raises(LabError, match="another process"),
        Store(tmp_path).opened(),
    ):
        raise AssertionError("never")


def add_run(root, name, settings, **values):
    """Adds a complete run with one row."""
    row = {"phase": "one", "switch": "s1", "utilisation": 0.99, "loss_rate": 0.01, "n_b": 4.0}
    row |= {"drops": 500, "delay_p50_ms": 1.0, "delay_max_ms": 2.0}
    row |= {"trusted": True, "why_not_trusted": "", **values}
    record = {
        "experiment": "x",
        "run": name,
        "back_end": "fake",
        "repetition": 0,
        "seed": 1,
        "settings": settings,
        "started": "2026-01-01T00:00:00",
        "machine": {"kernel": "6.1", "commit": "abc"},
        "rows": [row],
    }
    (root / name).mkdir(parents=True)
    (root / name / "run.json").write_text(json.dumps(record))


def test_a_table_has_every_setting_and_what_is_not_trusted(tmp_path):
    add_run(tmp_path, "a", {"phases.one.limit": "1bdp"}, trusted=False, why_not_trusted="late")
    add_run(tmp_path, "b", {"traffic.persistent.long.count": 4})
    found = table.of_runs(store.find([tmp_path]))
    parquet, csv = table.write(found, tmp_path / "out")
    read = pq.read_table(parquet).to_pylist()
    assert [r["set.phases.one.limit"] for r in read] == ["1bdp", None]
    assert [r["set.traffic.persistent.long.count"] for r in read] == [None, "4"]
    assert [r["trusted"] for r in read] == [False, True]
    assert pyarrow.csv.read_csv(csv).num_rows == 2
    assert [c.name for c in COLUMNS] == found.schema.names[: len(COLUMNS)]


def test_the_table_opens_in_duckdb_and_pandas(tmp_path):
    # From the extra "table", which `make venv` installs.
    duckdb = importlib.import_module("duckdb")
    pandas = importlib.import_module("pandas")
    for seed in (1, 2):
        add_run(tmp_path, f"r{seed}", {"n": 4 * seed}, loss_rate=0.01 * seed)
    paths = table.write(table.of_runs(store.find([tmp_path])), tmp_path / "out")
    for path in map(str, paths):
        question = f"""select "set.n", loss_rate from '{path}' order by loss_rate desc"""
        assert [(int(n), p) for n, p in duckdb.sql(question).fetchall()] == [(8, 0.02), (4, 0.01)]
        read = pandas.read_csv(path) if path.endswith(".csv") else pandas.read_parquet(path)
        assert list(read.columns[: len(COLUMNS)]) == [c.name for c in COLUMNS]
        assert read.groupby(read["set.n"].astype(int)).loss_rate.mean().to_dict() == {
            4: 0.01,
            8: 0.02,
        }


def test_columns_are_named_once_and_told():
    names = [c.name for c in COLUMNS]
    assert len(set(names)) == len(names)
    assert all(c.about for c in COLUMNS)


def test_comparing_says_where_two_differ(tmp_path):
    for seed in (1, 2):
        add_run(tmp_path / "a", f"r{seed}", {"n": 4}, loss_rate=0.008 + 0.002 * seed)
    add_run(tmp_path / "b", "r", {"n": 4}, loss_rate=0.013, utilisation=0.975)
    add_run(tmp_path / "b", "s", {"n": 9})
    one, other = (table.of_runs(store.find([tmp_path / d])) for d in "ab")
    (pair,), alone = compare.pairs(one, other)
    assert pair.one["loss_rate"] == pytest.approx(0.011) and pair.one["runs"] == 2
    assert pair.differences() == []
    assert alone == ["only in the second: one, n = 9, s1"] or "n = 9" in alone[0]
    add_run(tmp_path / "c", "r", {"n": 4}, loss_rate=0.02, utilisation=0.96, n_b=5.0)
    (pair,), _ = compare.pairs(one, table.of_runs(store.find([tmp_path / "c"])))
    differences = " ".join(pair.differences())
    assert all(word in differences for word in ("utilisation", "loss by a factor", "N_b"))
    assert "1.100%; 2.000%" in compare.markdown([pair])


def test_n_b_is_equal_within_half_a_flow_however_many_there_are(tmp_path):
    for name, n_b in (("a", 100.0), ("b", 100.4), ("c", 100.6), ("d", None)):
        add_run(tmp_path / name, "r", {}, n_b=n_b)
    tables = {d: table.of_runs(store.find([tmp_path / d])) for d in "abcd"}
    differ = {}
    for other in "bcd":
        (pair,), _ = compare.pairs(tables["a"], tables[other])
        differ[other] = pair.differences()
    assert differ == {"b": [], "c": ["N_b"], "d": ["N_b"]}


def test_few_drops_have_no_rate_to_compare(tmp_path):
    add_run(tmp_path / "a", "r", {}, drops=3, loss_rate=1e-4)
    add_run(tmp_path / "b", "r", {}, drops=9, loss_rate=3e-4)
    one, other = (table.of_runs(store.find([tmp_path / d])) for d in "ab")
    (pair,), _ = compare.pairs(one, other)
    assert pair.differences() == []


def test_a_directory_without_runs_is_an_error(tmp_path):
    with pytest.raises(LabError, match=f"{tmp_path}: no complete run is there: no run.json"):
        table.of_paths([tmp_path])
    with pytest.raises(LabError, match="is not a directory"):
        store.find([tmp_path / "gone"])


def test_a_run_is_named_by_its_capture_too(tmp_path, monkeypatch):
    add_run(tmp_path, "a", {})
    capture = tmp_path / "a" / "capture"
    capture.mkdir()
    (capture / "capture.json").write_text("{}")
    assert store.find([capture]) == store.find([tmp_path / "a"]) == [tmp_path / "a"]
    monkeypatch.chdir(capture)
    assert [p.resolve() for p in store.find([Path()])] == [tmp_path / "a"]
    # A capture outside any run does not count.
    (tmp_path / "a" / "run.json").unlink()
    with pytest.raises(LabError, match="no complete run"):
        table.of_paths([capture])


def test_every_file_of_the_repository_can_be_read():
    from tidemark_lab.experiment import load
    from tidemark_lab.experiment.command import FILES

    files = sorted(FILES.rglob("*.toml"))
    assert files
    for path in files:
        assert grid.points(load.read(path), str(path))
    assert len({p.stem for p in files}) == len(files), "run and sweep take their names"
