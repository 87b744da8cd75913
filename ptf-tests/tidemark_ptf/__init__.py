# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the tests: a P4Runtime client, reports, slow ports, the base class."""
