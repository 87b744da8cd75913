# SPDX-License-Identifier: Apache-2.0
"""Rules on trial: on the same traffic, the buffer of each rule in turn on the running
switch, and what came of it."""
