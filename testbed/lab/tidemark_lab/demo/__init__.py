# SPDX-License-Identifier: Apache-2.0
"""The demo: measure with the textbook's buffer, apply the advice, measure again."""
