# SPDX-License-Identifier: Apache-2.0
"""Sets up a network and a switch for the PTF tests, and takes both down."""


class SetupError(Exception):
    """The tests cannot be run here; the message says why and what to do."""
