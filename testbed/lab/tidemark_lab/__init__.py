# SPDX-License-Identifier: Apache-2.0
"""Tidemark's lab: network namespace topologies, the demo and its figures."""

__version__ = "0.1.0"
