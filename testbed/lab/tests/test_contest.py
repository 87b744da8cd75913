# SPDX-License-Identifier: Apache-2.0
"""Controllers on trial: the search and the score on made-up links; a short run on real TCP."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from tidemark_lab import netns
from tidemark_lab.contest import gaussian_process, run, score, table
from tidemark_lab.contest.controllers import contestants
from tidemark_lab.contest.search import Search
from tidemark_lab.json_types import JsonObject
from tidemark_lab.preflight import Ports
from tidemark_lab.progress import Progress
from tidemark_lab.report.contest import draw
from tidemark_lab.steps_record import Options

TARGETS = {"utilisation": 0.98, "loss_rate": 0.01, "delay_ms": 60.0}
PORTS = Ports(console=18380, switch=19759, collector=19760, collector_metrics=19761)


def test_a_process_follows_what_it_saw_and_is_unsure_elsewhere():
    x = np.linspace(0, 4, 9)
    fitted = gaussian_process.fit(x, np.sin(x))
    mean, deviation = fitted.at(np.array([1.7, 2.3, 9.0]))
    assert mean[:2] == pytest.approx(np.sin([1.7, 2.3]), abs=0.05)
    assert deviation[2] > 5 * deviation[0]
    # Far away it knows the mean and the spread alone.
    assert mean[2] == pytest.approx(np.mean(np.sin(x)), abs=0.2)


def test_noise_is_told_from_a_course():
    rng = np.random.default_rng(3)
    x = np.linspace(0, 1, 40)
    noisy = gaussian_process.fit(x, rng.normal(0, 1, 40))
    smooth = gaussian_process.fit(x, np.sin(6 * x))
    assert noisy.noise > 0.1 > smooth.noise


def test_expected_improvement_by_numbers():
    # Standard normal, nothing gained on average but by chance: φ(0).
    ei = gaussian_process.expected_improvement(np.array([0.0]), np.array([1.0]), 0.0)
    assert ei[0] == pytest.approx(1 / math.sqrt(2 * math.pi))
    # By sampling.
    draws = np.random.default_rng(1).normal(0.3, 0.5, 400_000)
    ei = gaussian_process.expected_improvement(np.array([0.3]), np.array([0.5]), 0.1)
    assert ei[0] == pytest.approx(np.mean(np.maximum(0.1 - draws, 0)), rel=0.01)


def link(limit_bytes: float, n_b: int, rng: random.Random) -> JsonObject:
    """Loss falls with the square of pipe and buffer, delay grows with the buffer."""
    loss = 0.76 * (n_b * 1514 / (400_000 + limit_bytes)) ** 2 * rng.uniform(0.9, 1.1)
    idle = 0.25 * math.exp(-limit_bytes / 60_000)
    return {
        "utilisation": 1 - idle,
        "loss_rate": loss,
        "delay_max_ms": limit_bytes / 12_500,
    }


@pytest.mark.parametrize("n_b", [4, 40])
def test_the_search_finds_a_limit_that_meets_the_targets(n_b: int):
    rng = random.Random(n_b)
    search = Search(6_000, 750_000, TARGETS)
    limits = []
    for _ in range(25):
        limits.append(search.next_limit_bytes())
        search.observe(limits[-1], link(limits[-1], n_b, rng))
    assert all(6_000 <= b <= 750_000 for b in limits)
    from tidemark_lab.trial.ranking import shortfall

    good = [shortfall(link(b, n_b, rng), TARGETS) == 0 for b in limits[5:]]
    # At random a limit of the range meets them in a quarter of the cases at most.
    assert sum(good) >= len(good) / 2


def seconds(loss: list[float], delay_ms: list[float] | None = None) -> score.Seconds:
    n = len(loss)
    return score.Seconds(
        np.full(n, 1000.0),
        np.array(loss) * 1000,
        np.full(n, 0.99),
        np.array(delay_ms or [20.0] * n),
    )


def test_seconds_outside_and_changes_count_by_step():
    # The second step loses 4 % for 10 s, then nothing.
    record = seconds([0.005] * 20 + [0.04] * 10 + [0.0] * 10)
    first, second = score.steps(record, (4, 40), 20, [3.0, 21.0, 25.0], TARGETS)
    assert (first.outside_s, first.changes) == (0, 1)
    # The trailing window forgets the first step at once, and the loss after 4 s more:
    # with one second of 4 % in five, 0.8 % are left.
    assert (second.outside_s, second.changes) == (13, 2)
    assert second.loss_rate == pytest.approx(0.02)
    late = seconds([0.0] * 10, [20.0] * 4 + [70.0] + [20.0] * 5)
    assert score.steps(late, (4,), 10, [], TARGETS)[0].outside_s == score.TRAILING_S


def test_a_series_becomes_seconds():
    time_s = np.array([-0.5, 0.1, 0.6, 1.1, 1.6, 5.0])
    columns = {
        "arrivals": np.array([9.0, 10, 20, 30, 40, 50]),
        "drops": np.array([9.0, 1, 2, 3, 4, 5]),
        "ce_marked": np.array([0.0, 0, 1, 0, 0, 0]),
        "utilisation": np.array([0.0, 0.5, 1.0, 1.0, 1.0, 1.0]),
        "delay_max_ms": np.array([9.0, 1, 7, np.nan, 3, 5]),
    }
    got = score.by_second(time_s, columns, 2)
    assert got.arrivals.tolist() == [30, 70] and got.lost.tolist() == [4, 7]
    assert got.utilisation.tolist() == [0.75, 1.0] and got.delay_max_ms.tolist() == [7, 3]


def entry(name: str, outside: int, changes: int) -> JsonObject:
    step = {"n_b": 4, "seconds": 20, "outside_s": outside, "changes": changes}
    return {
        "name": name,
        "about": "of a test",
        "steps": [step, {**step, "n_b": 40}],
        "limit": {"time_s": [0, 10, 20], "bytes": [1e5, 2e5, 1e5]},
        "cpu_was_stolen": False,
    }


def contest(*entries: JsonObject) -> JsonObject:
    return {"flows": [4, 40], "seconds": 20, "targets": TARGETS, "controllers": list(entries)}


def test_where_tidemark_loses_the_table_says_so():
    lost = table.markdown(contest(entry("auto", 5, 2), entry("bdp", 3, 0), entry("bscl", 9, 1)))
    assert "came 2 of 3; bdp did better" in lost
    won = table.markdown(contest(entry("auto", 3, 2), entry("bdp", 3, 9)))
    assert "did better" not in won and won.index("auto") < won.index("bdp")
    assert draw(contest(entry("auto", 5, 2), entry("bdp", 3, 0))).startswith("<?xml")


def test_the_controllers_are_those_of_the_literature_and_ours():
    assert [c.name for c in contestants(Options())] == ["bdp", "sqrt_n", "bscl", "search", "auto"]


@pytest.mark.root
def test_two_controllers_on_real_tcp(tmp_path: Path):
    options = Options(flows=(2, 8), seconds=15.0, out=tmp_path, ports=PORTS)
    before = netns.names()
    assert run.run(options, ("sqrt_n", "search"), Progress()) == 0
    assert netns.names() == before
    (run_dir,) = tmp_path.iterdir()
    document = json.loads((run_dir / "contest.json").read_text())
    fixed, search = document["controllers"]
    assert fixed["name"] == "sqrt_n" and search["name"] == "search"
    assert [s["seconds"] for s in fixed["steps"]] == [15, 15]
    assert sum(s["changes"] for s in fixed["steps"]) <= 1
    assert sum(s["changes"] for s in search["steps"]) >= 2
    assert all(s["utilisation"] > 0.3 for s in fixed["steps"] + search["steps"])
    assert (run_dir / "contest.svg").exists() and "| search" in (run_dir / "contest.md").read_text()
