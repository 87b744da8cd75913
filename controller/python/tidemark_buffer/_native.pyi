# SPDX-License-Identifier: Apache-2.0
"""The Rust part of the package; values of links are JSON."""

import os
from pathlib import Path

class RunError(Exception):
    """A run or capture that cannot be read: which file, what is wrong, what to do."""

class NativeTable:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def columns(self) -> list[tuple[str, str]]: ...

class NativeRun:
    def __new__(cls, path: str | os.PathLike[str]) -> NativeRun: ...
    @property
    def capture(self) -> Path: ...
    def meta(self) -> str: ...
    def targets(self) -> str: ...
    def phases(self) -> list[tuple[str, int, int | None, int, int, int]]: ...
    def links(
        self,
        phase: str | None,
        node: int | None,
        port: int | None,
        queue: int | None,
        from_s: float | None,
        to_s: float | None,
        targets: str | None,
    ) -> str: ...
    def table(
        self,
        table: str,
        columns: list[str] | None,
        from_s: float | None,
        to_s: float | None,
        from_ns: int | None,
        to_ns: int | None,
        flow_id: int | None,
        joined: bool,
    ) -> NativeTable: ...
    def flows(self, phase: str | None) -> NativeTable: ...

def verdict_words(verdict: str) -> tuple[str, str, list[str]]: ...
def verdict_picture(
    verdict: str,
    origin: tuple[str, str | None, str | None],
    format: str,
    colours: str,
) -> bytes: ...
