# SPDX-License-Identifier: Apache-2.0
"""The help: every command has examples, and each one parses."""

from __future__ import annotations

import pytest

from tidemark_lab.__main__ import manual, parser
from tidemark_lab.examples import EXAMPLES
from tidemark_lab.experiment.command import asked_of_judge


@pytest.mark.parametrize("line", [line for of in EXAMPLES.values() for line, _ in of])
def test_examples_can_be_typed(line: str):
    # `first` and the like are names from `list`; another test checks that they exist.
    verb, *words = line.split()
    if verb == "run" and "mine.toml" not in words and asked_of_judge(words):
        return
    options = parser().parse_args([verb, *words])
    assert options.command == verb


def test_the_manual_has_the_options_of_every_judge():
    (commands,) = (a for a in manual()._actions if a.dest == "command")
    shown = commands.choices["run"].format_help()
    for judge, option in (("demo", "--ecn"), ("steps", "--flows"), ("trial", "--rules")):
        own = shown.split(f"options of the judge {judge}:")[1].split("\n\n")[0]
        assert f"\n  {option}" in own, own


def test_every_command_shows_its_examples(capsys: pytest.CaptureFixture[str]):
    (commands,) = (a for a in parser()._actions if a.dest == "command")
    assert set(commands.choices) == set(EXAMPLES)
    for command, examples in EXAMPLES.items():
        with pytest.raises(SystemExit, match="0"):
            parser().parse_args([command, "--help"])
        shown = capsys.readouterr().out
        for line, what in examples:
            # As written, not reflowed.
            assert f"\n  tidemark-lab {line}\n      {what}" in shown, command


def test_the_program_shows_where_to_begin(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="0"):
        parser().parse_args(["--help"])
    assert "\n  tidemark-lab run first\n" in capsys.readouterr().out
