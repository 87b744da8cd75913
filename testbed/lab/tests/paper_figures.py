# SPDX-License-Identifier: Apache-2.0
"""A figure for tests."""

from tidemark_lab.papers.paper import Figure


def figure(checks=()):
    svg = '<?xml version="1.0"?><svg viewBox="0 0 1 1"></svg>'
    return Figure("Fig. 1", "One & two", svg, ("a", "b"), [(1, 2), (3, None)], list(checks))
