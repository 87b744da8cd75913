# SPDX-License-Identifier: Apache-2.0
"""Errors that are shown to the user as one line."""


class LabError(Exception):
    """Something failed while the lab was running (exit code 1)."""


class PreflightError(LabError):
    """Something is missing, with its remedy; nothing was set up yet (exit code 2)."""

    def __init__(self, problem: str, remedy: str):
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


class ChildDied(LabError):
    """A program of the run ended by itself; carries the last lines of its log."""
