# SPDX-License-Identifier: Apache-2.0
"""Auto mode under changing traffic: N_b steps, and the limit must follow."""
