# SPDX-License-Identifier: Apache-2.0
"""Auto mode under traffic that changes: N_b steps, and the limit must follow."""
