# SPDX-License-Identifier: Apache-2.0
"""Checks and reports of the papers' figures."""

import csv
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from paper_figures import figure

from tidemark_lab.errors import LabError
from tidemark_lab.papers import (
    draw,
    repetitions,
    report,
    values,
)
from tidemark_lab.papers.paper import Check, within, within_factor
from tidemark_lab.report import style, typeset


def test_a_check_agrees_within_its_tolerance_and_says_why_only_where_not():
    inside = Check("x", "halved", 0.52, 0.45, 0.55, why="never shown")
    outside = Check("x", "halved", 0.6, 0.45, 0.55, why="a timeout")
    blank = Check("x", "halved", None, 0.45, 0.55)
    assert [c.verdict for c in (inside, outside, blank)] == ["agrees", "DISAGREES", "not measured"]
    assert inside.row()[-1] == "" and outside.row()[-1] == "a timeout"
    assert report.summary([inside, outside, blank]).startswith("1 of 3 measured values agree")


def test_what_follows_from_the_settings_is_no_agreement():
    measured = Check("x", "halved", 0.52, 0.45, 0.55)
    computed = replace(measured, computed=True)
    assert computed.verdict == "computed" and computed.agrees is None
    said = report.summary([measured, computed])
    assert said.startswith("1 of 1 measured values agree")
    assert "1 follow from the settings" in said and "could not be" not in said


def test_bins_keep_the_smallest_and_the_largest():
    at = np.array([0.0, 0.1, 0.9, 1.0, 3.9, 4.0])
    found = draw.bins(at, np.array([5.0, 9.0, np.nan, 2.0, 7.0, 100.0]), 4.0, 4)
    assert list(found.time_s) == [0.5, 1.5, 3.5]
    assert list(found.low) == [5, 2, 7] and list(found.high) == [9, 2, 7]
    assert draw.bins(at, np.full(6, np.nan), 4.0, 4).low.size == 0


def test_a_report_has_figures_data_and_checks(tmp_path):
    check = Check("width < height", "halved", 0.6, 0.45, math.inf, why="so it is")
    page = report.write(tmp_path, "A paper", "about", [figure([check])])
    text = page.read_text()
    assert "One &amp; two" in text and "width &lt; height" in text and "<?xml" not in text
    assert list(csv.reader((tmp_path / "fig-1.csv").open())) == [["a", "b"], ["1", "2"], ["3", ""]]
    docs = report.write_docs(tmp_path / "docs", "x", "A paper", "about", [figure([check])])
    assert "![Fig. 1](x/fig-1.svg)" in docs.read_text()
    assert (tmp_path / "docs" / "x" / "fig-1.svg").exists()
    other = figure()
    other.name = "Fig. 2"
    report.write_docs(tmp_path / "docs", "x", "A paper", "about", [other])
    left = {p.name for p in (tmp_path / "docs" / "x").iterdir()}
    assert left == {"fig-2.svg", "values.csv"}


def test_a_page_has_what_disagrees_and_its_file_has_every_value(tmp_path):
    checks = [
        Check("n = 1: loss", "none", 0.5, 0.0, 0.6, why="never shown"),
        Check("n = 2: loss", "none", 0.7, 0.0, 0.6, why="2 of 4 flows time out"),
        Check("n = 4: loss", "none", 0.9, 0.0, 0.6, why="3 of 4 flows time out"),
        Check("n = 4: delay", "1 s", None, 0.0, 0.6, about="beyond what was measured"),
        Check("limit (of the file)", "9", 9.0, 9.0, 9.0, computed=True),
    ]
    page = report.write_docs(tmp_path, "x", "A paper", "about", [figure(checks)])
    text = page.read_text()
    assert "about [All values](x/values.csv).\n" in text and "never shown" not in text
    assert text.endswith(
        "1 of 4 agree; 1 could not be measured; "
        "1 follow from the settings and count for nothing.\n\n"
        "- **loss** (paper: none): n = 2: 0.7; n = 4: 0.9. 2 to 3 of 4 flows time out.\n"
        "- **delay**: n = 4: not measured vs 1 s. Beyond what was measured.\n"
    )
    head, *rows = csv.reader((tmp_path / "x" / "values.csv").open())
    assert head == ["figure", *report.HEAD]
    assert rows == [["Fig. 1", *c.row()] for c in checks]


def test_many_cases_that_differ_in_their_numbers_are_ranges():
    many = [
        Check(f"bbr, {n} BDP: share", f"-{n}.00", n / 4, -9.0, -1.0, spread=0.1, repetitions=3)
        for n in range(1, 7)
    ]
    (item,) = values.differences(many)
    told = "bbr, 1 to 6 BDP: 0.25 to 1.5 vs -6.00 to -1.00 (6 values)"
    assert item == f"- **share**: {told}. Why is not known."
    (item,) = values.differences(many[:2])
    told = "bbr, 1 BDP: 0.25 ± 0.1 vs -1.00; bbr, 2 BDP: 0.5 ± 0.1 vs -2.00"
    assert item == f"- **share**: {told}. Why is not known."


def test_a_figure_that_is_too_large_for_the_page_is_an_error_and_not_left_out(tmp_path):
    small, large = figure(), figure()
    large.picture = "<svg>" + "x" * report.MOST_SVG_BYTES + "</svg>"
    large.name = "Fig. 2"
    with pytest.raises(LabError, match=r"Fig\. 2: its SVG"):
        report.write_docs(tmp_path, "x", "A paper", "about", [small, large])
    assert not list(tmp_path.iterdir())


def test_setting_and_repetitions_stand_at_the_first_figure_that_has_them(tmp_path):
    notes = [
        "50 Mb/s. Dashed: 1 %. 3 repetitions: drawn together.",
        "50 Mb/s. Dashed: 2 %. 3 repetitions: drawn together.",
        "50 Mb/s. Dashed: 2 %. 3 repetitions: the first is drawn.",
        "100 Mb/s. 3 repetitions: the first is drawn.",
        "100 Mb/s. 3 repetitions: the first is drawn.",
    ]
    figures = [replace(figure(), name=f"Fig. {n}", note=note) for n, note in enumerate(notes)]
    page = report.write_docs(tmp_path, "x", "A paper", "about", figures).read_text()
    captions = [part.split("\n\n")[1].strip() for part in page.split("\n## ")[1:]]
    assert captions == [
        notes[0],
        "Dashed: 2 %.",
        "Dashed: 2 %. 3 repetitions: the first is drawn.",
        "100 Mb/s.",
        "![Fig. 4](x/fig-4.svg)",
    ]


def test_of_a_figure_that_is_too_large_with_its_repetitions_the_mean_is_committed(
    tmp_path, monkeypatch
):
    def fill(axes, rows):
        axes[0].plot(*draw.pairs(rows, 0, 1))

    rows = [(n, n % 7) for n in range(400)]
    mean = replace(figure(), picture=draw.Drawing("x", 1, 2.0, fill), rows=rows)
    both = replace(mean, repeated=[rows] * 4)
    monkeypatch.setattr(report, "MOST_SVG_BYTES", len(mean.svg) + 1)
    page = report.write_docs(tmp_path, "x", "A paper", "about", [both]).read_text()
    assert (tmp_path / "x" / "fig-1.svg").read_text() == mean.svg
    assert "The mean alone is drawn here." in page


def test_tolerances_lie_around_the_printed_value():
    factor = within_factor("x", 8.0, 17.0, 2.0)
    assert (factor.low, factor.high, factor.paper, factor.agrees) == (4.0, 16.0, "8", False)
    off = within("x", 0.8, 0.7, 0.15, "80 %")
    assert (off.low, off.high) == (pytest.approx(0.65), pytest.approx(0.95))
    assert off.paper == "80 %" and off.agrees


def test_repetitions_are_averaged_and_pooled_or_one_is_shown():
    def one(values, keys, ours):
        check = Check("x", "1", ours, 0.0, 2.0 * (ours or 0.0), why=f"at {ours}")
        found = figure([check])
        found.rows, found.columns, found.keys = list(values), ("n", "value"), keys
        return [found]

    (mean,) = repetitions.together([one([(1, 2.0), (2, None)], 1, 3.0), one([(1, 4.0)], 1, 5.0)])
    assert mean.columns == ("n", "value", "value_sd")
    assert mean.rows == [(1, 3.0, 1.0), (2, None, None)]
    assert (mean.checks[0].ours, mean.checks[0].spread, mean.checks[0].high) == (4.0, 1.0, 8.0)
    assert mean.checks[0].row()[2] == "4 ± 1"
    pair = [one([(1, 2.0)], None, 1.0), one([(1, 4.0)], None, None)]
    (pooled,) = repetitions.together(pair)
    assert pooled.rows == [(1, 2.0), (1, 4.0)] and pooled.checks[0].ours == 1.0
    (first,) = repetitions.together([one([(1, 2.0)], 0, 1.0), one([(1, 4.0)], 0, 3.0)])
    assert first.rows == [(1, 2.0)] and first.checks[0].ours == 2.0
    assert "2 repetitions: the first is drawn" in first.note
    alone = one([(1, 2.0)], 1, 1.0)
    assert repetitions.together([alone]) == alone


def drawn_texts(svg):
    return [
        "".join(e.itertext()) for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_the_legend_says_which_is_the_papers_and_which_is_ours():
    def fill(axes, rows):
        draw.curves(axes[0], rows, (1, "o-", style.WATER, None), (2, ":", style.GREY, "BDP/√n"))
        draw.curves(axes[1], rows, (1, "o-", style.DROP, "n = 2"), (2, "s", style.LIMIT, "router"))
        for axis in axes:
            axis.legend()

    rows = [(n, n + 1.0, n + 2.0) for n in range(4)]
    svg = draw.Drawing("x", 2, 2.2, fill, "s", "N_b").svg(rows, [rows])
    texts = drawn_texts(svg)
    assert {"ours", "paper, BDP/√n", "ours, n = 2", "paper, router"} <= set(texts)
    assert texts.count("time (s)") == 1 and texts.count("Nb") == 2
    # Squares, and theory without its own colour, are in ink.
    assert style.INK in svg and style.LIMIT not in svg

    def alike(axes, rows):
        draw.curves(axes[0], rows, (1, "o-", style.WATER, "BSCL"), (2, ":", style.WATER, None))
        axes[0].axhline(2, color=style.GREY, linestyle="--")

    texts = drawn_texts(draw.Drawing("x", 1, 2.2, alike).svg(rows))
    assert texts.count("ours, BSCL") == texts.count("paper") == 1
    without = draw.Drawing.of_curves("x", "n", "loss", (1, "o-", style.WATER, "BSCL"))
    assert "BSCL" in drawn_texts(without.svg(rows))


def test_a_figure_is_readable_in_half_a_page():
    fill = lambda axes, rows: [a.plot([1, 2], [1, 2], label="ours") for a in axes]  # noqa: E731
    svg = draw.Drawing("x", 4, 2.0, fill, "s", "queue (packets)").svg([])
    width = float(re.search(r'viewBox="0 0 (\d+) ', svg)[1])
    point = float(re.search(r"scale\((\S+)\)", svg)[1]) * 85 / width
    # At a width of 85 mm, 8 pt are 2.82 mm.
    sizes = {float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", svg)}
    assert min(sizes) * point >= 2.82 and drawn_texts(svg).count("ours") == 1


def test_symbols_are_set_as_in_print():
    n_b = '<tspan font-style="italic">N</tspan><tspan font-size="0.75em" dy="0.267em">b</tspan>'
    assert typeset.pieces("N_b") == n_b
    assert typeset.pieces("N_b = 4") == f'{n_b}<tspan dy="-0.2em"> = 4</tspan>'
    n = '<tspan font-style="italic">n</tspan>'
    assert typeset.pieces("alpha*BDP/sqrt(n) - 1") == (
        f"\N{GREEK SMALL LETTER ALPHA}·BDP/√{n} \N{MINUS SIGN} 1"
    )
    assert '<tspan font-style="italic" font-size="0.75em" dy="-0.533em">n</tspan>' in (
        typeset.pieces("r^n")
    )
    for plain in ("queue (packets)", "50 Mb/s", "M/G/1", "BBR", "b_of_x_packets", "limit_bytes"):
        assert typeset.pieces(plain) == plain
    svg = '<text x="1">C &lt; T_e</text><text><tspan>N_b</tspan></text><g id="N_b"/>'
    assert "&lt; " in typeset.typeset(svg) and typeset.typeset(svg).endswith(svg[30:])


def test_repetitions_are_pale_behind_their_mean():
    def fill(axes, rows):
        axes[0].plot(*draw.pairs(rows, 0, 1), color="#112233", label="ours")
        axes[0].legend()

    drawing = draw.Drawing("x", 1, 2.0, fill)
    alone = drawing.svg([(1, 2.0), (2, 3.0)])
    both = drawing.svg([(1, 2.0), (2, 3.0)], [[(1, 1.0), (2, 2.0)], [(1, 3.0), (2, 4.0)]])
    assert alone.count("#112233") == 2 and alone.count("stroke-opacity: 0.25") == 0
    # The line and its legend entry, and two pale lines without entries.
    assert both.count("#112233") == 4 and both.count("stroke-opacity: 0.25") == 2
