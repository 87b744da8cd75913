# SPDX-License-Identifier: Apache-2.0
"""Additional requirements of a run on BMv2."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ..errors import PreflightError
from . import command

# The embedded switch needs no BMv2.
INSTEAD = "or use --back-end embedded"


def check_program() -> None:
    """Checks that BMv2 is installed and usable. Raises PreflightError."""
    binary = command.find()
    if binary is None:
        raise PreflightError(
            f"{command.PROGRAM} is not on PATH",
            "install BMv2 with its P4Runtime server (p4lang publishes the Debian package "
            "p4lang-bmv2 and the image p4lang/behavioral-model; with sudo, keep PATH: "
            f"sudo --preserve-env=PATH), {INSTEAD}",
        )
    help_text = _help(binary)
    if not serves_thrift(help_text):
        raise PreflightError(
            f"{binary} has no Thrift server, by which the lab sets rate and depth of its queues",
            f"take a BMv2 that was built with Thrift (p4lang's are), {INSTEAD}",
        )


def _help(binary: Path) -> str:
    try:
        done = subprocess.run(
            [binary, "--help"], capture_output=True, text=True, timeout=30, check=False
        )
        failure = done.stderr.strip() if done.returncode else ""
    except (OSError, subprocess.SubprocessError) as error:
        failure = str(error)
    if failure:
        last = failure.splitlines()[-1]
        raise PreflightError(f"{binary} does not run: {last}", f"mend that, {INSTEAD}")
    return done.stdout


def serves_thrift(help_text: str) -> bool:
    """Whether Thrift is served: an old `tidemark-switch` called BMv2 accepts the option only."""
    options = [line for line in help_text.splitlines() if "--thrift-port" in line]
    return any("without effect" not in line for line in options)
