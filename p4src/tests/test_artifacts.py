# SPDX-License-Identifier: Apache-2.0
"""The committed artifacts match the committed sources."""

import json
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import compile as p4_compile


@pytest.mark.parametrize("program", p4_compile.PROGRAMS, ids=lambda p: p.name)
def test_build_is_not_stale(program):
    assert p4_compile.stale_sources(program) == [], (
        "p4src changed since p4src/build was made: run `make p4`"
    )


def test_a_changed_source_is_noticed(tmp_path):
    for folder in ("include", "v1model"):
        (tmp_path / folder).mkdir()
        for f in (p4_compile.SOURCE_DIR / folder).glob("*.p4"):
            (tmp_path / folder / f.name).write_bytes(f.read_bytes())
    assert p4_compile.stale_sources(p4_compile.TIDEMARK, tmp_path) == []
    (tmp_path / "v1model" / "egress.p4").write_text("// changed")
    (tmp_path / "v1model" / "new.p4").write_text("// new")
    (tmp_path / "include" / "report.p4").unlink()
    assert p4_compile.stale_sources(p4_compile.TIDEMARK, tmp_path) == [
        "include/report.p4",
        "v1model/egress.p4",
        "v1model/new.p4",
    ]


def test_control_plane_names():
    """Names fixed by the design, on which controllers rely."""
    program = json.loads((p4_compile.BUILD_DIR / p4_compile.TIDEMARK.json_name).read_text())
    tables = {t["name"] for pipeline in program["pipelines"] for t in pipeline["tables"]}
    assert {
        "Ingress.l2_forward",
        "Ingress.queue_limit",
        "Ingress.priority_queue_limit",
        "Ingress.queue_of",
        "Ingress.queue_count",
        "Ingress.watch",
        "Ingress.report_port",
        "Egress.report_to",
    } <= tables


def strip_source_info(node):
    if isinstance(node, dict):
        return {
            k: strip_source_info(v) for k, v in node.items() if k not in ("source_info", "__meta__")
        }
    if isinstance(node, list):
        return [strip_source_info(v) for v in node]
    return node


@pytest.mark.parametrize("program", p4_compile.PROGRAMS, ids=lambda p: p.name)
def test_recompiling_gives_the_same_program(program, tmp_path):
    compiler = p4_compile.find_compiler()
    if compiler is None:
        message = (
            "p4c-bm2-ss is not on PATH: the artifacts' digest is checked, recompilation is not"
        )
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    recorded = json.loads((program.build_dir / p4_compile.DIGEST_NAME).read_text())["compiler"]
    if recorded != f"p4c {p4_compile.compiler_version(compiler)}":
        pytest.skip(
            f"the artifacts are from {recorded}, another version numbers things its own way"
        )
    p4_compile.compile_program(compiler, program, tmp_path)
    fresh = json.loads((tmp_path / program.json_name).read_text())
    committed = json.loads((program.build_dir / program.json_name).read_text())
    assert strip_source_info(fresh) == strip_source_info(committed)
    p4info = (tmp_path / program.p4info_name).read_text()
    assert p4info == (program.build_dir / program.p4info_name).read_text()
