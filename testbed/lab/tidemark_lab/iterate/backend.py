# SPDX-License-Identifier: Apache-2.0
"""What measures a limit and says what to do next."""

from __future__ import annotations

from typing import Protocol

from ..json_types import JsonObject


class BackEnd(Protocol):
    """A network under one traffic."""

    def measure(self, number: int, limit_bytes: int) -> JsonObject:
        """Round `number` (from 0) at a limit.

        `measured`: `utilisation`, `loss_rate` (drops over arrivals), the 90 % range of
        each (`utilisation_range`, `loss_range`), `marked_rate` (CE marks over arrivals),
        `delay_mean_ms`, `delay_max_ms`. `advice`: the
        controller's, with `change`. `n_b` and `n_b_true`.
        """
        ...

    def apply(self, advice: JsonObject) -> int:
        """Does what the advice says; the limit then in force, bytes."""
        ...
