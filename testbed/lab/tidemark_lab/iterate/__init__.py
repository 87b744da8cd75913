# SPDX-License-Identifier: Apache-2.0
"""Iterated advice: advise, run again at the advised limit, for three rounds."""
