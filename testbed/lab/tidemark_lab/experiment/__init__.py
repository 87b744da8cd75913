# SPDX-License-Identifier: Apache-2.0
"""Experiments as data: a file describes a run, a back end runs it, a table has the results."""
