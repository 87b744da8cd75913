# SPDX-License-Identifier: Apache-2.0
"""Every command of a package has a manual page and completions; those of `tidemark` are
handwritten."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
FRONT = HERE / "front"
sys.path.insert(0, str(HERE))

import build  # noqa: E402
from layout import PACKAGES  # noqa: E402


def verbs() -> set[str]:
    """Returns the verbs in the usage of `tidemark`, except for the one that every program has."""
    usage = (FRONT / "tidemark").read_text().split("TEXT")[1]
    return set(re.findall(r"^  (\w+) (?:\.\.\.|--replay)", usage, re.MULTILINE))


def options() -> set[str]:
    usage = (FRONT / "tidemark").read_text().split("TEXT")[1]
    return set(re.findall(r"^  (--\w+)", usage, re.MULTILINE)) | {"--replay"}


def test_every_file_on_path_is_a_command():
    commands = {c for package in PACKAGES for c in package.commands()}
    assert commands == {
        "tidemark",
        "tidemark-collector",
        "tidemark-controller",
        "tidemark-lab",
        "tidemark-switch",
        "tidemark-traffic",
    }


def test_a_command_without_a_page_is_refused(tmp_path: Path):
    manuals = tmp_path / "manuals"
    shutil.copytree(FRONT, manuals)
    build.manual("tidemark", manuals, tmp_path / "whole")
    installed = {p.name for p in (tmp_path / "whole").rglob("*") if p.is_file()}
    assert installed == {"tidemark.1.gz", "tidemark", "_tidemark", "tidemark.fish"}
    for missing in ("man/tidemark.1", "bash/tidemark", "zsh/_tidemark", "fish/tidemark.fish"):
        kept = (manuals / missing).read_bytes()
        (manuals / missing).unlink()
        with pytest.raises(SystemExit, match=missing):
            build.manual("tidemark", manuals, tmp_path / "part")
        (manuals / missing).write_bytes(kept)


def test_pages_of_others_are_not_taken(tmp_path: Path):
    """All other commands' names begin with `tidemark`."""
    shutil.copytree(FRONT, tmp_path / "manuals")
    for page in ("tidemark-traffic.1", "tidemark-traffic-run.1", "tidemark-trafficlight.1"):
        (tmp_path / "manuals/man" / page).write_text(page)
    for shell, name in (("bash", "{}"), ("zsh", "_{}"), ("fish", "{}.fish")):
        (tmp_path / "manuals" / shell / name.format("tidemark-traffic")).write_text(shell)
    build.manual("tidemark-traffic", tmp_path / "manuals", tmp_path / "root")
    pages = {p.name for p in (tmp_path / "root/usr/share/man/man1").iterdir()}
    assert pages == {"tidemark-traffic.1.gz", "tidemark-traffic-run.1.gz"}


def test_what_is_written_by_hand_names_every_verb_and_option():
    assert {"collector", "traffic", "demo"} <= verbs() and "--port" in options()
    for page in ("man/tidemark.1", "bash/tidemark", "zsh/_tidemark", "fish/tidemark.fish"):
        text = (FRONT / page).read_text().replace("\\-", "-")
        for word in verbs() | {o.removeprefix("--") for o in options()}:
            assert re.search(rf"\b{word}\b", text), f"{page}: {word}"


def completed(*words: str, before: str = "") -> list[str]:
    """Returns bash's completions for the last word."""
    script = (
        f'{before}\nsource "$0"\nCOMP_WORDS=("$@")\nCOMP_CWORD=$(($# - 1))\n'
        '_tidemark tidemark\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    bash = ["bash", "-c", script, str(FRONT / "bash/tidemark"), *words]
    return subprocess.run(bash, capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes():
    assert completed("tidemark", "co") == ["collector", "controller"]
    assert completed("tidemark", "demo", "--p") == ["--port"]
    assert completed("tidemark", "traffic", "s") == []
    program = "_its() { COMPREPLY=($1 $2 $3 $COMP_CWORD); }; complete -F _its tidemark-traffic"
    words = completed("tidemark", "traffic", "send", "--sp", before=program)
    assert words == ["tidemark-traffic", "--sp", "send", "2"]
