# SPDX-License-Identifier: Apache-2.0
"""`report.html` of a run: figures in the style of the papers, and what was
predicted beside what was measured."""

from __future__ import annotations

import json
from pathlib import Path

from .data import ReportError, Run
from .page import render

__all__ = ["ReportError", "write_report"]


def write_report(run_dir: Path) -> Path:
    """Draws the run in `run_dir` (`summary.json`, `capture/`, `truth.json` where
    there is one) into one self-contained file and returns its path."""
    summary_path = run_dir / "summary.json"
    try:
        summary = json.loads(summary_path.read_text())
    except FileNotFoundError:
        raise ReportError(f"{summary_path}: not found; did the run end?") from None
    except json.JSONDecodeError as error:
        raise ReportError(f"{summary_path}: not JSON: {error}") from None
    run = Run.load(run_dir, summary)
    path = run_dir / "report.html"
    partial = path.with_suffix(".part")
    partial.write_text(render(run), encoding="utf-8")
    partial.replace(path)
    return path
