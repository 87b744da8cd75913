# SPDX-License-Identifier: Apache-2.0
"""Makes sure that the front never runs as root."""

from __future__ import annotations

import os
import pwd
from pathlib import Path


class PrivilegeError(Exception):
    """The program must not run as this user; the message says how to start it instead."""


def drop(user: str | None, tables: Path) -> None:
    """Becomes `user` if started as root, and gives the directory to that user.

    :raises PrivilegeError: as root without a user, or if the process cannot become the user.
    """
    if os.geteuid() != 0:
        if user:
            raise PrivilegeError("--user needs root: start it as that user instead")
        return
    if not user:
        raise PrivilegeError(
            "it does not run as root: name the user to run as (--user nobody), "
            "or start it as that user"
        )
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise PrivilegeError(f"--user {user}: there is no such user") from None
    if entry.pw_uid == 0:
        raise PrivilegeError(f"--user {user} is root")
    tables.mkdir(parents=True, exist_ok=True)
    give(tables, entry.pw_uid, entry.pw_gid)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    os.umask(0o077)
    if not os.access(tables, os.R_OK | os.W_OK | os.X_OK):
        raise PrivilegeError(
            f"{user} cannot reach {tables.absolute()}: choose a --path below directories "
            "that everybody may enter"
        )


def give(directory: Path, uid: int, gid: int) -> None:
    """Gives a directory and all in it to a user, without following links, unless already owned."""
    if directory.stat().st_uid == uid:
        return
    for root, directories, files in os.walk(directory):
        for name in (".", *directories, *files):
            os.chown(Path(root) / name, uid, gid, follow_symlinks=False)
