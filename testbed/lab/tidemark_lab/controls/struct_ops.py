# SPDX-License-Identifier: Apache-2.0
"""Registers a compiled congestion control with the kernel, by libbpf.

Uses a BPF link: the kernel removes the control when its last descriptor is closed, and so at the
latest when this process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import LabError

LIBRARY = "libbpf.so.1"
# Name of the struct_ops map in each source.
_NAME = b"control"
# From uapi/linux/bpf.h: a map flag since 6.4, and the type of the link.
_BPF_F_LINK = 1 << 13
_BPF_STRUCT_OPS = 44
# First libbpf version that makes the link itself.
_MAKES_LINKS = (1, 2)
_LINE_BYTES = 4096
_Printer = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_libc = ctypes.CDLL(None)


def library() -> ctypes.CDLL | None:
    """Loads libbpf; None if it is not installed."""
    try:
        found = ctypes.CDLL(LIBRARY, use_errno=True)
    except OSError:
        return None
    for function in (
        found.bpf_object__open_file,
        found.bpf_object__find_map_by_name,
        found.bpf_map__attach_struct_ops,
    ):
        function.restype = ctypes.c_void_p
    return found


def register(compiled: Path) -> Callable[[], None]:
    """Registers a control; returns its removal. Raises LabError with the kernel's message."""
    bpf = library()
    if bpf is None:
        raise LabError(f"{LIBRARY} is missing: apt-get install libbpf1")
    said: list[str] = []
    with _printed(bpf, said):
        try:
            return _register(bpf, compiled)
        except OSError as error:
            log = compiled.with_suffix(".log")
            log.write_text("".join(said))
            raise LabError(
                f"the kernel refuses {compiled.stem} as a BPF program: {error}: "
                f"{' '.join(said[-1:]).strip()} (see {log}); congestion controls of the lab need "
                "Linux 6.4 with BTF, BPF_JIT and root"
            ) from error


def _register(bpf: ctypes.CDLL, compiled: Path) -> Callable[[], None]:
    opened = _pointer(bpf.bpf_object__open_file(bytes(compiled), None), "open")
    try:
        found = _pointer(bpf.bpf_object__find_map_by_name(opened, _NAME), "find its struct")
        _done(bpf.bpf_map__set_map_flags(found, _BPF_F_LINK), "ask for a link")
        _done(bpf.bpf_object__load(opened), "load")
        link = _pointer(bpf.bpf_map__attach_struct_ops(found), "attach")
        if (bpf.libbpf_major_version(), bpf.libbpf_minor_version()) >= _MAKES_LINKS:
            return lambda: _remove(bpf, opened, lambda: bpf.bpf_link__destroy(link))
        fd = _done(bpf.bpf_link_create(bpf.bpf_map__fd(found), 0, _BPF_STRUCT_OPS, None), "link")
    except OSError:
        bpf.bpf_object__close(opened)
        raise
    return lambda: _remove(bpf, opened, lambda: os.close(fd))


def _remove(bpf: ctypes.CDLL, opened: ctypes.c_void_p, unlink: Callable[[], object]) -> None:
    unlink()
    bpf.bpf_object__close(opened)


def _pointer(value: int | None, what: str) -> ctypes.c_void_p:
    if not value:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return ctypes.c_void_p(value)


def _done(value: int, what: str) -> int:
    """Returns `value`, or raises: libbpf returns errors as negative numbers."""
    if value < 0:
        raise OSError(-value, f"{what}: {os.strerror(-value)}")
    return value


@contextlib.contextmanager
def _printed(bpf: ctypes.CDLL, said: list[str]) -> Iterator[None]:
    """Collects libbpf's warnings in a list."""

    def keep(level: int, form: bytes, arguments: int) -> int:
        line = ctypes.create_string_buffer(_LINE_BYTES)
        length: int = _libc.vsnprintf(line, _LINE_BYTES, form, ctypes.c_void_p(arguments))
        if level == 0:
            said.append(line.value.decode(errors="replace"))
        return length

    printer = _Printer(keep)
    before = bpf.libbpf_set_print
    before.restype = ctypes.c_void_p
    old = before(printer)
    try:
        yield
    finally:
        before(ctypes.c_void_p(old))
