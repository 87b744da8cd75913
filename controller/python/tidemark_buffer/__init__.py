# SPDX-License-Identifier: Apache-2.0
"""Recorded runs of Tidemark: tables, estimates, verdicts.

    >>> import tidemark_buffer as tb
    >>> run = tb.Run("runs/demo/2026-11-27T21-08-34")
    >>> run.packets().to_pandas()
    >>> print(run.verdict())

Times are integers, ns; the description of each column names their clock. Sizes are bytes. An
unknown value is null (``None``), never 0.
"""

from tidemark_buffer._native import RunError
from tidemark_buffer._picture import Picture
from tidemark_buffer._run import Phase, Run
from tidemark_buffer._table import Table
from tidemark_buffer._verdict import Verdict

__all__ = ["Phase", "Picture", "Run", "RunError", "Table", "Verdict"]
