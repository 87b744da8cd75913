# SPDX-License-Identifier: Apache-2.0
"""Theory of the papers, and the values that it needs from the packets."""

import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from tidemark_lab import theory
from tidemark_lab.papers import (
    authors,
    bscl,
    bscl_mix,
    bscl_table,
    flows,
    ngi,
    ngi_packets,
    oi,
    oi_flows,
    runs,
    srb,
    utb,
    utb_least,
    utb_many,
    utb_others,
    utb_time,
)
from tidemark_lab.papers.paper import Figure
from tidemark_lab.papers.runs import Packets
from tidemark_lab.papers.study import Study


def test_the_theory_of_one_flow_is_the_papers():
    """UTB §3.5: full utilisation from 1, 3/7, 1/7 and 1/4 BDP on."""
    for algorithm, least in (("reno", 1.0), ("cubic", 0.4282), ("scalable", 1 / 7), ("bbr", 0.25)):
        assert utb.theory_utilisation(algorithm, least) == pytest.approx(1, abs=1e-4)
        assert utb.theory_utilisation(algorithm, least - 0.1) < 0.99
    assert utb.theory_utilisation("reno", 0.5) == 0.75


def test_the_bound_of_theorem_5():
    assert theory.most_with_loss(16, 165) == pytest.approx(4 + 256 / 330)


def test_the_queue_that_theory_has_as_the_least():
    """UTB §3.5 of one flow, at 1 BDP: Reno empties the queue, BBR drains a quarter of a BDP."""
    assert theory.least_queue(1, 100, 100, "reno") == 0
    assert theory.least_queue(1, 100, 100, "bbr") == 75
    assert theory.least_queue(1, 100, 20, "bbr") == 0
    assert theory.least_queue(1, 100, 100, None) is None
    assert theory.least_queue(4, 100, 100, "bbr") == 50


def test_the_loss_law_of_bottlenecked_flows():
    """BSCL: B = 8.7·N_b - C_e·T_e is where the loss is 1 % (eqs. 21, 22)."""
    assert theory.loss_of_flows(100, 200, 8.7 * 100 - 200) == pytest.approx(0.01)
    assert theory.loss_of_flows(1000, 200, 0) == 1.0


def packets(time_s, window):
    n = len(time_s)
    flat = np.zeros(n)
    return observed(np.array(time_s), flat, np.array(window, dtype=float))


def observed(time_s, flow, window):
    """Full segments, no drops, no queue."""
    flat = np.zeros(len(time_s))
    return Packets(time_s, flat, flat.astype(bool), flow, flat + 1448, window)


def test_what_the_theory_does_not_know_is_told():
    steady = packets(np.arange(0, 1, 0.001), np.full(1000, 50.0))
    assert runs.disturbance(steady, "reno") == ""
    silent = packets([0, 0.01, 0.31, 0.32], [50, 50, 1, 2])
    assert "nothing is sent for 300 ms; in ns-3" in runs.disturbance(silent, "reno")
    assert runs.disturbance(silent, "reno", simulated=False).endswith("for 300 ms")
    probing = packets([0, 0.01, 0.02], [50, 4, 50])
    assert "ProbeRTT" in runs.disturbance(probing, "bbr")
    assert runs.disturbance(probing, "reno") == ""
    assert runs.disturbance(packets([0, 1e-3], [np.nan, np.nan]), "reno") == ""


def test_a_histogram_is_of_whole_packets():
    at, share = runs.histogram(np.array([0, 0, 1, 3.0]), 3)
    assert list(at[:4]) == [0, 1, 2, 3] and list(share[:4]) == [0.5, 0.25, 0, 0.25]


def test_bscls_formulas():
    # Eq. 13: one flow loses in every event; of many flows, as many as a burst of alpha·N_b hits.
    assert bscl.q(1, 1) == 1
    assert bscl.q(100, 60) == pytest.approx(1 - 0.99**60)
    # K_p = 8.7 for 1 % (eq. 22).
    assert bscl.loss_packets(200, 100) == pytest.approx(870 - 200)
    # All flows lose in every event: the deterministic model C·T_e (eq. 11).
    assert bscl.utilisation_packets(200, 1, 1.0) == pytest.approx(200)
    assert bscl.utilisation_packets(200, 20, 0.6) < 100


def test_a_loss_event_ends_where_nothing_is_lost_for_a_gap():
    drops = np.array([0.30, 0.0, 0.04, 0.05, 0.32])
    assert bscl.mean_burst(drops, 0.1) == 2.5
    assert bscl.mean_burst(drops, 0.03) == pytest.approx(5 / 3)
    assert bscl.mean_burst(drops, 1.0) == 5


def test_utilisation_at_a_buffer_lies_between_two_that_were_measured():
    points = [(10.0, 0.9), (40.0, 0.98), (90.0, 1.0)]
    assert bscl_mix.value_at(points, 20) == pytest.approx(0.94)
    assert bscl_mix.value_at(points, 90) == 1.0
    assert bscl_mix.value_at(points, 9) is None
    assert bscl_mix.value_at(points, 91) is None
    assert bscl_mix.value_at([], 20) is None and bscl_mix.loss_at([], 20) is None


def test_a_crossing_lies_between_the_buffers_that_enclose_it():
    def enough(u):
        return u >= 0.98

    found, _ = bscl.crossing([(10, 0.96), (40, 1.0)], enough, 0.98)
    assert found == pytest.approx(20)
    assert bscl.crossing([(10, 0.99), (40, 1.0)], enough, 0.98) == (None, "at most 10")
    assert bscl.crossing([(10, 0.9), (40, 0.95)], enough, 0.98) == (None, "more than 40")


def test_bbr_is_measured_while_it_probes_for_bandwidth():
    p = packets([0.1, 0.5, 0.9, 1.3], [50, 4, 50, 50])
    # Excludes the interval with 4 packets and the one after it.
    assert list(runs.probes_bandwidth(p, 0.2, 7)) == [True, True, False, False, True, True, True]
    assert list(p.where(p.window == 4).time_s) == [0.5]


def test_srbs_tail_of_short_flows():
    assert srb.slow_start_bursts(14, 2) == [2, 4, 8]
    assert srb.slow_start_bursts(14, 10) == [10, 4]
    # exp(-b·2(1-r)/r·E[X]/E[X²]) with E[X] = 14/3, E[X²] = 28.
    assert srb.tail(0.8, [2, 4, 8], 12) == pytest.approx(math.exp(-12 * 0.5 / 6))
    assert srb.tail(0.8, [2, 4, 8], srb.length_at(0.8, [2, 4, 8], 0.01)) == pytest.approx(0.01)


def test_srbs_bursts_are_what_a_flow_sends_back_to_back():
    """Two concurrent flows; the first sends 2 packets, and 3 a round trip later; the second 1."""
    time_s = np.array([0.0, 0.0001, 0.00015, 0.1, 0.1001, 0.1002])
    flow = np.array([1, 2, 1, 1, 1, 1])
    found = srb.bursts_that_came(observed(time_s, flow, np.full(6, np.nan)), 1e-4)
    assert list(found) == [2, 3, 1]


def test_srbs_buffers_are_multiples_of_the_papers_bdp():
    for n, phase, packets_, *_ in srb.FIG_14:
        multiple = {"x05": 0.5, "x1": 1, "x2": 2, "x3": 3}[phase]
        assert multiple * 1291 / math.sqrt(n) == pytest.approx(packets_, abs=2)


def test_srbs_model_is_the_printed_one_with_the_line_cards_fifo():
    off = [abs(srb.gaussian(n, b) - model) for n, _, b, model, *_ in srb.FIG_14]
    assert max(off) < 0.1 and sum(v <= 0.05 for v in off) == 14
    # Far from it without the FIFO.
    assert srb.gaussian(100, 64 - srb.FIFO_PACKETS) < 81


def test_srbs_windows_vary_together_or_apart():
    """Two synchronised sawtooths have twice the deviation of one, opposed ones none."""
    at = np.arange(0, 20, 0.005)
    up, down = 10 + np.abs(at % 2 - 1), 11 - np.abs(at % 2 - 1)
    flow = np.arange(at.size) % 2

    def of(other):
        window = np.where(flow == 0, up, other)
        return srb.variation(observed(at, flow, window))

    one = float(up.std())
    together, apart = of(up)
    assert together == pytest.approx(2 * one, rel=0.02)
    assert apart == pytest.approx(math.sqrt(2) * one, rel=0.02)
    assert of(down)[0] == pytest.approx(0, abs=0.02)


def test_ois_loss_of_persistent_flows():
    """Eq. 3: grows with the square of the flows, and changes slowly with the buffer."""
    assert oi.loss_persistent(200, 250, 500) == pytest.approx((174 / 750) ** 2)
    assert oi.loss_persistent(2000, 250, 0) == 1.0


def flow(port, rate, kind="lbp", large=True, drops=0):
    return flows.Flow(kind, port, large, 100, drops, rate)


def test_flows_are_compared_with_themselves():
    found = {
        oi_flows.SMALL: [flow(1, 10.0), flow(2, 20.0), flow(3, 30.0), flow(9, 1.0, "short")],
        oi_flows.LARGE: [flow(1, 11.0), flow(2, 21.0), flow(3, 29.0), flow(9, 2.0, "short")],
    }
    assert oi_flows.better_with_large(found) == pytest.approx(2 / 3)
    few = [flow(1, None, drops=1), flow(2, 5.0), flow(3, 7.0, large=False)]
    assert flows.rates(few, large=True) == [5.0]
    assert flows.without_loss(few, large=True) == 0.5
    assert flows.without_loss([], large=True) is None


def test_ngis_models():
    # §III-B: more than 4 flows at load 0.5 with probability 0.03.
    assert 1 - sum(ngi.sharing(0.5, k) for k in range(5)) == pytest.approx(0.03, abs=0.002)
    # §IV-A: 100 packets at 0.9 lose less than 1 in 30000; 20 at 0.71 less than 1 in 100.
    assert ngi.transparent_loss(0.9, 100) < 1 / 30000
    assert ngi.transparent_loss(0.71, 20) < 0.01


def test_bscls_buffer_is_that_of_its_table():
    """With a row's C_e·T_e, its buffer equals the paper's if the loss decides."""
    for n, (_, _, buffer) in bscl_table.TABLE_I.items():
        c_te = bscl_table.c_te_of_row(n)
        known = bscl_mix.Estimated(n, c_te, 0.55 * n)
        assert known.buffer() == pytest.approx(buffer)
        # As in the paper: up to 17 flows the utilisation decides.
        by_loss = max(bscl.loss_packets(c_te, n), 1.0)
        assert (by_loss == known.buffer()) == (n > bscl_table.LOSS_DECIDES_ABOVE)
        if n > 20:
            # K_p packets less per uncounted flow.
            less = known.buffer() - known.buffer(bscl_mix.TOO_SMALL)
            assert less == pytest.approx(0.2 * 8.7 * n, rel=1e-6)
    # With few flows the utilisation decides (eq. 16).
    few = bscl_mix.Estimated(2, 225, 2)
    assert few.buffer() == pytest.approx((0.75 * 225 - 4 * 0.25) / 1.25)


def test_loss_lies_between_the_buffers_around_it():
    points = [(10.0, 0.1), (1000.0, 0.001)]
    assert bscl_mix.loss_at(points, 100) == pytest.approx(0.01)
    assert bscl_mix.loss_at(points, 10) == pytest.approx(0.1)
    assert bscl_mix.loss_at(points, 5) is None and bscl_mix.loss_at(points, 2000) is None
    assert bscl_mix.loss_at([(10.0, 0.1), (1000.0, 0.0)], 100) is None


def test_windows_are_those_of_each_flow_where_they_are_known():
    window = np.array([5.0, np.nan, 7.0, 9.0])
    p = observed(np.arange(4.0), np.array([1, 2, 1, 3]), window)
    found = utb_time.of_each_flow(p)
    assert {f: list(w) for f, w in found.items()} == {1: [5.0, 7.0], 3: [9.0]}


def test_an_exponent_is_the_slope_of_logarithms():
    points = [(n, 30 / math.sqrt(n)) for n in (2, 8, 32)]
    assert utb_least.exponent(points) == pytest.approx(-0.5)
    assert utb_least.exponent(points[:1]) is None
    assert utb_least.exponent([(2, 0.0), (4, 1.0)]) is None


def test_mice_are_better_with_the_small_buffer_where_as_many_are_slower_than_them():
    def mice(rates):
        return [flow(k, rate, "short", large=False) for k, rate in enumerate(rates)]

    low, high = list(range(1, 101)), list(range(51, 151))
    found = {oi_flows.SMALL: mice(high), oi_flows.LARGE: mice(low)}
    assert oi_flows.better_with_small(found) == 1.0
    # Crossing at the median: with the small buffer slow flows are slower, fast ones faster.
    wide = [0.5 * v if v <= 50 else 2.0 * v for v in low]
    found = {oi_flows.SMALL: mice(wide), oi_flows.LARGE: mice(low)}
    assert oi_flows.better_with_small(found) == pytest.approx(0.5, abs=0.02)
    assert oi_flows.better_with_small({oi_flows.SMALL: [], oi_flows.LARGE: mice(low)}) is None


def test_the_first_bursts_are_those_of_the_file():
    (point,) = Study(Path("none")).points("srb-short")
    assert point.experiment.traffic.open_loop[0].initial_window == srb.FIRST_BURST
    assert srb.slow_start_bursts(srb.TRANSFER_PACKETS, srb.FIRST_BURST) == [2, 4, 8]


def test_the_authors_queue_lies_between_the_buffers_next_to_one():
    """For 16 Reno flows they have 155.6 and 177.8 packets, with medians of 129 and 152."""
    low, high = (authors.queue("reno", 16, b / authors.BDP_PACKETS) for b in (155.556, 177.778))
    assert low[4] * authors.BDP_PACKETS == pytest.approx(129, abs=0.01)
    assert high[4] * authors.BDP_PACKETS == pytest.approx(152, abs=0.01)
    between = authors.queue("reno", 16, 1.0)
    assert between == pytest.approx((low + high) / 2, abs=1e-4)
    assert authors.queue("reno", 16, 2.0) is None and authors.queue("vegas", 16, 1.0) is None


def test_a_queue_is_held_against_the_authors_quantiles():
    """Twenty packets off at one of them are more than a tenth of a BDP of 165."""
    theirs = 165 * authors.queue("reno", 16, 1.0)
    off = theirs.copy()
    off[3] -= 20
    for quantiles, wanted, said in ((theirs, True, ""), (off, False, "quantile of 0.1 is")):
        figure = Figure("Fig. 4", "", "", ())
        empty = np.array([])
        seen = utb_many.Distribution(165, 0, 0, 0, quantiles, theirs, 165, empty, empty)
        seen.hold(figure, "n = 16")
        (check,) = figure.checks
        assert check.agrees is wanted and said in check.why
    empty_handed = Figure("Fig. 4", "", "", ())
    utb_many.Distribution(165, 0, 0, 0, theirs, None, 165, empty, empty).hold(empty_handed, "")
    assert empty_handed.checks == []


class Phases:
    """A run of one setting: one queue per phase, limits in packets, and a BDP of 165."""

    simulated = True

    def __init__(self, queues, flows=16, window=20.0):
        self.queues = {k: np.array(v, dtype=float) for k, v in queues.items()}
        self.flows, self.window = flows, window

    @property
    def phases(self):
        return list(self.queues)

    def setting(self, _):
        return self.flows

    def limit(self, phase):
        return float(phase)

    def limit_bdp(self, phase):
        return float(phase) / 165

    def bdp(self, _):
        return 165.0

    def row(self, _):
        return {"true_n_b": self.flows, "loss_rate": 0.01, "rate_bps": 50e6, "seconds": 9}

    def packets(self, phase):
        n = len(self.queues[phase])
        observed_ = observed(np.arange(n) / 1e3, np.zeros(n), np.full(n, self.window))
        return replace(observed_, queue=self.queues[phase])


def test_the_smallest_buffer_is_where_hardly_a_packet_finds_no_queue():
    """At 20 packets a tenth find an empty queue, at 80 none: 99 % lies between."""
    run = Phases({"20": [0] + 9 * [5], "80": 10 * [5]})
    found, why = utb_others.smallest_buffer([(run, p) for p in run.phases])
    assert found == pytest.approx(20 * 4**0.9) and why == ""
    assert utb_others.smallest_buffer([(run, "80")]) == (None, "at most 80")


def test_the_largest_window_of_the_authors_is_between_their_buffers():
    assert authors.largest("reno", 16, 166 / authors.BDP_PACKETS) == pytest.approx(4.032)
    assert authors.largest("bbr", 16, 2.0) is None and authors.largest("vegas", 16, 1.0) is None


def test_a_reno_that_seldom_halves_keeps_a_longer_queue():
    reno, other = (Phases({"full": 100 * [v]}) for v in (40, 120))
    for run in (reno, other):
        run.limit = run.limit_bdp = lambda _: 1.0
    figure = utb_others.halved_by_chance([(reno, other)])
    (check,) = figure.checks
    assert check.ours == pytest.approx(80 / 165) and check.agrees
    (worse,) = utb_others.halved_by_chance([(other, reno)]).checks
    assert worse.agrees is False


def test_the_packets_around_a_loss_are_the_flows_and_the_backgrounds():
    """Every second packet of the flow directly follows the previous one; at 500 ms the flow loses a
    packet, and halves its window 150 ms later."""
    at = np.repeat(np.arange(0, 1, 0.01), 2) + np.tile([0, 1e-4], 100)
    flow_at = observed(at, np.ones(200), np.where(at < 0.65, 40.0, 20.0))
    flow_at.dropped[100] = True
    silent = observed(at + 5e-3, np.full(200, 2), np.full(200, np.nan))
    both = [np.concatenate(v) for v in zip(_fields(flow_at), _fields(silent), strict=True)]
    order = np.argsort(both[0])
    run = Phases({"20": []})
    run.packets = lambda _: Packets(*(v[order] for v in both))
    run.limit = lambda _: 20.0
    figure = ngi_packets.around_a_loss(run)
    bursts, halving = figure.checks
    assert bursts.ours == pytest.approx(100 / 199) and halving.ours == 0.5
    assert [(r[1], r[2]) for r in figure.rows if r[2]] == [("flow", True)]
    assert {r[1] for r in figure.rows} == {"flow", "background"}
    assert min(r[0] for r in figure.rows) >= -30 and max(r[0] for r in figure.rows) <= 190
    assert "<svg" in figure.svg


def _fields(packets_):
    return [getattr(packets_, f.name) for f in fields(packets_)]
