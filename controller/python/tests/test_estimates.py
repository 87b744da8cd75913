# SPDX-License-Identifier: Apache-2.0
"""Estimates and verdicts equal those of `tidemark-controller analyze`, to the last digit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tidemark_buffer as tb
from conftest import RUN, analyze


def test_every_phase_is_what_analyze_says() -> None:
    expected = analyze(RUN)
    assert [link["phase"] for link in expected] == ["deep", "shallow"]
    run = tb.Run(RUN)
    assert run.estimates() == expected
    for link in expected:
        phase = link["phase"]
        assert run.estimates(phase) == [link]
        assert run.verdict(phase).to_dict() == link["verdict"]
    assert run.verdict().to_dict() == expected[-1]["verdict"]


def test_a_span_and_targets_of_ones_own_are_kept() -> None:
    run = tb.Run(RUN)
    expected = analyze(RUN, "--from-s", "5", "--to-s", "15", "--loss", "2%", "--delay", "30ms")
    targets = {"loss_rate": 0.02, "delay_ms": 30.0}
    assert run.estimates(from_s=5, to_s=15, targets=targets) == expected
    default = analyze(RUN, "--from-s", "5", "--to-s", "15")
    assert expected[0]["verdict"] != default[0]["verdict"], "the targets decide something"


def test_a_capture_without_its_run_has_a_phase_for_each_limit() -> None:
    run = tb.Run(RUN / "capture")
    expected = analyze(RUN / "capture")
    assert len(expected) > 1
    assert run.estimates() == expected
    names = [phase.name for phase in run.phases()]
    assert names == [f"limit-{n + 1}" for n in range(len(expected))]
    assert run.estimates("limit-1") == expected[:1]


def test_phases_have_the_spans_of_the_estimates() -> None:
    run = tb.Run(RUN)
    links = {link["phase"]: link for link in run.estimates()}
    assert [phase.name for phase in run.phases()] == list(links)
    for phase in run.phases():
        link = links[phase.name]
        assert (phase.from_ns, phase.to_ns) == (link["from_ns"], link["to_ns"])
        place = (phase.node_id, phase.egress_port, phase.queue)
        assert place == (link["node"], link["port"], link["queue"])
        # A packet of the phase is one that its estimate counts.
        packets = run.packets(["dropped"], from_ns=phase.from_ns, to_ns=phase.to_ns)
        assert abs(len(packets.to_arrow()) / link["arrivals"] - 1) < 0.05


def test_flows_of_a_phase_are_those_of_the_estimates() -> None:
    run = tb.Run(RUN)
    (link,) = run.estimates("shallow")
    rows = run.flows("shallow").to_arrow().to_pylist()
    assert len(rows) == len(link["flows"]) > 0
    for row, flow in zip(rows, link["flows"], strict=True):
        assert row["flow_id"] == flow["flow"]
        for name in ("class", "confidence", "rate_bps", "packets", "drops", "base_rtt_ms", "why"):
            assert row[name] == flow[name], name
        for name in ("src", "dst", "src_port", "dst_port"):
            assert row[name] == flow["key"][name], name


def test_a_verdict_is_drawn_as_by_the_command(tmp_path: Path) -> None:
    drawn = tb.Run(RUN).verdict("deep").plot()
    assert "two-limits, phase deep" in drawn.svg
    assert drawn._repr_svg_() == drawn.svg
    for ending, begin in {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "txt": b""}.items():
        drawn.save(tmp_path / f"verdict.{ending}")
        assert (tmp_path / f"verdict.{ending}").read_bytes().startswith(begin)
    assert (tmp_path / "verdict.txt").read_text() == f"{drawn}\n"
    assert max(map(len, str(drawn).splitlines())) <= 80
    with pytest.raises(ValueError, match="svg, png, pdf or txt"):
        drawn.save(tmp_path / "verdict.gif")
    with pytest.raises(ValueError, match="light or dark"):
        tb.Run(RUN).verdict("deep").plot("blue")


def test_a_verdict_says_itself() -> None:
    verdict = tb.Run(RUN).verdict("deep")
    assert verdict.answer in {"too_big", "fine", "too_small", "cannot_say"}
    assert verdict.because in str(verdict)
    assert str(verdict).startswith("buffer ")
    assert verdict.because in verdict._repr_html_().replace("&#x27;", "'")
    assert len(verdict.curve) > 10
    assert verdict.rules
    assert verdict.about["phase"] == "deep"


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        ({"phase": "dep"}, "it has deep, shallow"),
        ({"node": 99}, "no such link in the capture; it has"),
        ({"from_s": 1e6, "to_s": 2e6}, "ask for a span within it"),
        ({"phase": "deep", "from_s": 1.0}, "not both"),
        ({"targets": {"loss_rate": 7}}, "targets: loss_rate: 7 is not a fraction"),
        ({"targets": {"los_rate": 0.1}}, "los_rate"),
    ],
)
def test_a_question_without_an_answer_says_what_there_is(ask: dict[str, object], says: str) -> None:
    run = tb.Run(RUN)
    for method in (run.estimates, run.verdict):
        with pytest.raises(ValueError, match=re.escape(says)):
            method(**ask)  # type: ignore[operator]


def test_a_run_that_cannot_be_read_says_why(tmp_path: Path, run_copy: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(tb.RunError, match=r"no run: there is no capture\.json"):
        tb.Run(tmp_path / "empty")
    with pytest.raises(tb.RunError, match="nowhere"):
        tb.Run(tmp_path / "nowhere")
    file = run_copy / "capture" / "postcards-0000.parquet"
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    run = tb.Run(run_copy)
    remedy = r"postcards-0000\.parquet is damaged: row group 0, .*put a good copy in its place"
    with pytest.raises(tb.RunError, match=remedy):
        run.estimates()
    with pytest.raises(Exception, match=remedy):
        run.packets().to_arrow()


def test_a_link_is_named_down_to_its_queue() -> None:
    run = tb.Run(RUN)
    (phase, *_) = run.phases()
    place = {"node": phase.node_id, "port": phase.egress_port, "queue": phase.queue}
    assert run.estimates(**place) == run.estimates() == analyze(RUN, "--queue", str(phase.queue))
    assert run.verdict(**place).about["queue"] == phase.queue
    with pytest.raises(ValueError, match="no such link"):
        run.estimates(queue=phase.queue + 1)
