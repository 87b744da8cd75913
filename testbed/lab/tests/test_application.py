# SPDX-License-Identifier: Apache-2.0
"""Compares with values from the standards and papers, or with their equations written out here."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tidemark_lab import application
from tidemark_lab.application import Transfers, mos
from tidemark_lab.traffic import Truth


@pytest.mark.parametrize(
    ("r", "expected"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)]
)
def test_mos_is_that_of_the_table_in_annex_b(r: float, expected: float) -> None:
    # The table prints 4.03 at R = 80; the equation has 4.024.
    assert mos(r) == pytest.approx(expected, abs=0.0065)


def test_mos_keeps_to_its_scale() -> None:
    assert mos(93.2) == pytest.approx(4.41, abs=0.005)
    assert [mos(r) for r in (-20, 0, 5, 100, 130)] == [1, 1, 1, 4.5, 4.5]
    # Annex B inverts its equation from 6.5 on: MOS rises from there.
    values = [mos(r) for r in np.linspace(6.5, 100, 200)]
    assert values == sorted(values) and values[0] == pytest.approx(1, abs=0.001)


def g107_delay_impairment(ta_ms: float) -> float:
    """Id of G.107 (2015), 7.4, with all default values and T = Ta, Tr = 2 Ta."""
    slr, rlr, noise_dbm0p, telr, wepl = 8.0, 2.0, -61.18, 65.0, 110.0
    ro = 15 - 1.5 * (slr + noise_dbm0p)
    roe = -1.5 * (noise_dbm0p - rlr)
    terv = telr - 40 * math.log10((1 + ta_ms / 10) / (1 + ta_ms / 150))
    terv += 6 * math.exp(-0.3 * ta_ms**2)
    re = 80 + 2.5 * (terv - 14)
    talker = ((roe - re) / 2 + math.sqrt((roe - re) ** 2 / 4 + 100) - 1) * (1 - math.exp(-ta_ms))
    rle = 10.5 * (wepl + 7) * (2 * ta_ms + 1) ** -0.25
    listener = (ro - rle) / 2 + math.sqrt((ro - rle) ** 2 / 4 + 169)
    absolute = 0.0
    if ta_ms > 100:
        x = math.log2(ta_ms / 100)
        absolute = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    return talker + listener + absolute


def test_delay_costs_as_much_as_by_the_whole_equations() -> None:
    for delay_ms in range(0, 351, 5):
        simple = application.delay_impairment(delay_ms)
        assert simple == pytest.approx(g107_delay_impairment(delay_ms), abs=1.1), delay_ms


def test_delay_as_cole_and_rosenbluth_have_it() -> None:
    assert application.delay_impairment(0) == 0
    assert application.rating(150, 0) == pytest.approx(93.2 - 3.6)
    assert mos(application.rating(150, 0)) == pytest.approx(4.33, abs=0.005)
    # Beyond the knee, 0.134 per ms.
    assert application.delay_impairment(277.3) == pytest.approx(0.024 * 277.3 + 11)


def test_loss_as_g113_and_cole_and_rosenbluth_have_it() -> None:
    assert application.loss_impairment(0) == 0
    # 95 · 5 / (5 + 25.1).
    assert application.loss_impairment(0.05) == pytest.approx(15.78, abs=0.005)
    assert mos(application.rating(0, 0.05)) == pytest.approx(3.92, abs=0.005)
    assert application.loss_impairment(1) == pytest.approx(95 * 100 / 125.1)
    for percent in range(1, 21):
        # Their fit to measurements of G.711 with loss concealment: 30 ln(1 + 15 e).
        fit = 30 * math.log(1 + 15 * percent / 100)
        assert application.loss_impairment(percent / 100) == pytest.approx(fit, abs=1.1)
    # Higher without concealment (Bpl = 4.3), and higher for bursts.
    assert application.loss_impairment(0.01, bpl=4.3) == pytest.approx(95 / 5.3)
    assert application.loss_impairment(0.05, burst_r=2) > application.loss_impairment(0.05)


def test_a_call_waits_for_the_largest_delay_or_loses_late_packets() -> None:
    call = application.voice(25.0, {"p50": 5.0, "p99": 24.0, "max": 25.5}, 0.01)
    assert call["playout"] == "max"
    assert call["mouth_to_ear_ms"] == pytest.approx(20 + 12.5 + 25.5)
    assert call["loss_rate"] == 0.01
    assert call["r"] == pytest.approx(93.2 - 0.024 * 58 - 95 / 26.1)
    assert call["mos"] == mos(call["r"])
    # One stall of 800 ms: losing the packets after the p99 costs less than waiting for it.
    call = application.voice(25.0, {"p99": 24.0, "max": 800.0}, 0.01)
    assert (call["playout"], call["mouth_to_ear_ms"]) == ("p99", pytest.approx(56.5))
    assert call["loss_rate"] == pytest.approx(0.01 + 0.99 * 0.01)


@pytest.mark.parametrize(
    ("base_rtt_ms", "delay_ms", "loss_rate"),
    [
        (None, {"p99": 1.0, "max": 2.0}, 0.0),
        (20.0, {"p99": None, "max": None}, 0.0),
        (20.0, {}, 0.0),
        (20.0, {"p99": 1.0, "max": 2.0}, None),
    ],
)
def test_a_call_of_unknown_delay_or_loss_is_unknown(base_rtt_ms, delay_ms, loss_rate) -> None:
    call = application.voice(base_rtt_ms, delay_ms, loss_rate)
    assert set(call) == {"playout", "mouth_to_ear_ms", "loss_rate", "r", "mos"}
    assert set(call.values()) == {None}


def test_a_delay_of_zero_is_known() -> None:
    call = application.voice(0.0, {"p99": 0.0, "max": 0.0}, 0.0)
    assert call["r"] == pytest.approx(93.2 - 0.024 * 20)


def test_percentiles_that_so_few_transfers_do_not_have_are_unknown() -> None:
    times = [float(ms) for ms in range(1, 102)]
    told = application.completion(Transfers([20_000] * 101, times, 3))
    assert (told["completed"], told["not_completed"], told["mean_bytes"]) == (101, 3, 20_000)
    assert told["completion_ms"] == {"p50": 51, "p95": 96, "p99": 100}
    for number, known in ((0, 0), (1, 0), (2, 1), (19, 1), (20, 2), (99, 2), (100, 3)):
        told = application.completion(Transfers([1] * number, [1.0] * number, 0))
        assert sum(v is not None for v in told["completion_ms"].values()) == known, number
        assert told["completed"] == number
        assert (told["mean_bytes"] is None) == (number == 0)


def test_page_load_is_kurose_and_ross_with_their_own_time_of_a_round() -> None:
    rtt_ms, stalls_ms, objects, connections = 50.0, 30.0, 13, 6
    # (M/X + 1) 2 RTT plus the stalls; M = 12, X = 6, objects of negligible size.
    expected = (12 / 6 + 1) * 2 * rtt_ms + 3 * stalls_ms
    assert application.page_load_ms(2 * rtt_ms + stalls_ms, objects, connections) == expected
    # The median page: 1 + 70/6 rounds.
    assert application.page_load_ms(60.0) == pytest.approx(760.0)


def test_a_page_is_of_transfers_like_its_objects() -> None:
    # An object has 2652 · 1024 / 71 = 38 249 bytes.
    like, other = [19_200, 76_400], [19_000, 76_600]
    told = application.page(Transfers(like * 10 + other * 50, [50.0, 150.0] * 10 + [9e9] * 100, 0))
    assert told == {
        "like_objects": 20,
        "object_ms": 100.0,
        "load_ms": pytest.approx(100 * (1 + 70 / 6)),
    }
    told = application.page(Transfers([38_000] * 19, [50.0] * 19, 0))
    assert told == {"like_objects": 19, "object_ms": None, "load_ms": None}


def test_while_a_run_goes_on_its_transfers_are_unknown() -> None:
    told = application.view(None, 20.0, {"p99": 1.0, "max": 2.0}, 0.0)
    assert set(told["transfers"]["completion_ms"].values()) == {None}
    assert told["transfers"]["completed"] is None and told["transfers"]["mean_bytes"] is None
    assert set(told["page"].values()) == {None}
    assert told["voice"]["mos"] > 4.3


def short(start_s: float, stop_s: float, complete: bool = True, kind: str = "short") -> dict:
    return {
        "kind": kind,
        "start": {"unix_ns": int(start_s * 1e9)},
        "stop": {"unix_ns": int(stop_s * 1e9)},
        "complete": complete,
        "bytes_wanted": 30_000,
    }


def test_transfers_of_a_phase_are_from_the_truth() -> None:
    flows = [
        short(10.0, 10.25),
        # Began before, ended after, failed, or were refused.
        short(9.9, 10.25),
        short(19.0, 20.5),
        short(12.0, 12.5, complete=False),
        short(13.0, 13.0, complete=False),
        short(20.0, 21.0),
        short(11.0, 12.0, kind="lbp"),
    ]
    truth = Truth({"flows": flows, "omitted_flows": 0})
    span = int(10e9), int(20e9)
    assert truth.transfers(*span) == Transfers([30_000], [250.0], 3)
    # Some flows are unknown.
    assert Truth({"flows": flows, "omitted_flows": 1}).transfers(*span) is None
