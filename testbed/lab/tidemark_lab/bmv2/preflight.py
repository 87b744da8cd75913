# SPDX-License-Identifier: Apache-2.0
"""What a run on BMv2 needs beyond what every run needs."""

from __future__ import annotations

from ..errors import PreflightError
from ..links import addresses_within
from . import command
from .topology import MANAGEMENT_NETWORK


def check_program(instead: str = "--switch embedded") -> None:
    """`instead`: what needs no BMv2. Raises PreflightError."""
    if command.find() is None:
        raise PreflightError(
            f"{command.PROGRAM} is not on PATH",
            "install BMv2 with its P4Runtime server (p4lang publishes the Debian package "
            "p4lang-bmv2 and the image p4lang/behavioral-model; with sudo, keep PATH: "
            f"sudo --preserve-env=PATH), or use {instead}",
        )


def check_addresses() -> None:
    """Once nothing is left of former runs. Raises PreflightError."""
    if found := addresses_within(MANAGEMENT_NETWORK):
        interface, address = found[0]
        raise PreflightError(
            f"address {address} of BMv2's management link is already on interface {interface}",
            "remove it there for the time of the run",
        )
