# SPDX-License-Identifier: Apache-2.0
"""Rules on trial: applies the buffer of each rule in turn to the running switch under the same
traffic, and compares the outcomes."""
