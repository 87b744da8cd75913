# SPDX-License-Identifier: Apache-2.0
"""JSON objects of other programs: text keys, any values."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
