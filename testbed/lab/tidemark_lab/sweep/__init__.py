# SPDX-License-Identifier: Apache-2.0
"""A set of networks, each at several limits: compares truth, estimates and predictions."""
