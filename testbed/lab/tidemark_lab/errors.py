# SPDX-License-Identifier: Apache-2.0
"""Errors that are shown to the user as one line."""


class LabError(Exception):
    """Something failed while the lab was running (exit code 1)."""


class PreflightError(LabError):
    """Nothing was set up yet: what is missing and the remedy (exit code 2)."""

    def __init__(self, problem: str, remedy: str):
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


class ChildDied(LabError):
    """A process of the run ended by itself; carries its last log lines."""
