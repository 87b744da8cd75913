# SPDX-License-Identifier: Apache-2.0
"""Makes, enters and removes network namespaces."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from pyroute2.netns import setns

DIRECTORY = Path("/run/netns")
_CLONE_NEWNET = 0x4000_0000
_MNT_DETACH = 2
_MS_BIND = 0x1000
_MS_REC = 0x4000
_MS_SHARED = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)


def names() -> set[str]:
    """Returns the named namespaces that exist."""
    try:
        return {p.name for p in DIRECTORY.iterdir()}
    except FileNotFoundError:
        return set()


def create(name: str) -> None:
    """Makes a namespace like `ip netns add`: bound to a file, so that it needs no process."""
    _share_directory()
    path = DIRECTORY / name
    path.touch(mode=0o444, exist_ok=False)
    child = os.fork()
    if child == 0:
        # Only system calls: the child must not run the parent's code.
        error = 0
        if _libc.unshare(_CLONE_NEWNET) != 0 or _mount(b"/proc/self/ns/net", path, _MS_BIND) != 0:
            error = ctypes.get_errno() or 1
        os._exit(min(error, 255))
    _, status = os.waitpid(child, 0)
    error = os.waitstatus_to_exitcode(status)
    if error != 0:
        path.unlink(missing_ok=True)
        raise OSError(abs(error), f"make namespace {name}: {os.strerror(abs(error))}")


def _share_directory() -> None:
    """Makes mounts below the directory visible in every mount namespace."""
    DIRECTORY.mkdir(mode=0o755, parents=True, exist_ok=True)
    if _mount(b"none", DIRECTORY, _MS_SHARED | _MS_REC) == 0:
        return
    if _mount(bytes(DIRECTORY), DIRECTORY, _MS_BIND | _MS_REC) == 0:
        _mount(b"none", DIRECTORY, _MS_SHARED | _MS_REC)


def _mount(source: bytes, target: Path, flags: int) -> int:
    return _libc.mount(source, bytes(target), b"none", ctypes.c_ulong(flags), None)


def remove(name: str) -> None:
    """Removes the name; the namespace ends with its last process and socket."""
    path = DIRECTORY / name
    # After a reboot, the file may be left without being a mount point.
    _libc.umount2(bytes(path), _MNT_DETACH)
    path.unlink(missing_ok=True)


def remove_directory() -> None:
    """Undoes the preparations for the first namespace, if nobody else uses them."""
    if names():
        return
    _libc.umount2(bytes(DIRECTORY), _MNT_DETACH)
    with contextlib.suppress(OSError):
        DIRECTORY.rmdir()


def unshare() -> None:
    """Moves the calling thread into a new, unnamed namespace."""
    if _libc.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare(CLONE_NEWNET)")


def enter(name: str) -> None:
    """Moves the calling thread into namespace `name` permanently."""
    # It exists: none must be created.
    setns(name, flags=0)


@contextlib.contextmanager
def entered(name: str) -> Iterator[None]:
    """Enters namespace `name` for the block: sockets and files of /proc/sys/net opened there belong
    to it."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(name)
        try:
            yield
        finally:
            setns(home)
    finally:
        os.close(home)
