#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual page and shell completions of tidemark-lab, from its command line.

    manuals.py DIRECTORY

The layout is that of `cargo xtask-programs manuals DIRECTORY` for the other programs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import shtab

NAME = "tidemark-lab"
REPOSITORY = Path(__file__).resolve().parents[3]


def main() -> None:
    out = Path(sys.argv[1])
    command_line = import_module("tidemark_lab.__main__").parser()
    for shell, path in (
        ("bash", out / "bash" / NAME),
        ("zsh", out / "zsh" / f"_{NAME}"),
        ("fish", out / "fish" / f"{NAME}.fish"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shtab.complete(command_line, shell))
    page = out / "man" / f"{NAME}.1"
    page.parent.mkdir(parents=True, exist_ok=True)
    git = ["git", "-C", str(REPOSITORY), "log", "-1", "--format=%ct"]
    epoch = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    program = Path(sys.executable).with_name("argparse-manpage")
    words = [program, "--module", "tidemark_lab.__main__", "--function", "manual", "--prog", NAME]
    words += ["--project-name", "Tidemark", "--manual-title", "Tidemark", "--output", page]
    words += ["--description", "experiments on buffers with real TCP"]
    words += ["--format", "single-commands-section"]
    # The page contains its date.
    environment = os.environ | {"SOURCE_DATE_EPOCH": epoch, "COLUMNS": "80"}
    subprocess.run([str(w) for w in words], check=True, env=environment)


if __name__ == "__main__":
    main()
