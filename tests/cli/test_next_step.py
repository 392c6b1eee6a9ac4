"""The last lines of a command: what to type next."""

from __future__ import annotations

import pytest

from tacit.evaluation import Result
from tacit.terminal import render


def last_lines(capsys, after):
    """Render a result, and return the lines below its sentence."""
    render(Result({}, ("Done.",), after))
    return capsys.readouterr().out.splitlines()[1:]


def test_the_command_stands_alone(capsys):
    """What a command does stands above it, and the command is a line of its own."""
    lines = last_lines(capsys, "tacit guarantee m.tacit  says what it promises.")
    assert lines == ["Next: says what it promises.", "  tacit guarantee m.tacit"]


def test_a_command_without_a_gloss(capsys):
    """A command alone is announced, too."""
    assert last_lines(capsys, "tacit doctor") == ["Next:", "  tacit doctor"]


def test_words_to_replace_are_named(capsys):
    """A command that needs the person's own file says for which word."""
    lines = last_lines(capsys, "tacit attack standard-scheme RATINGS  measures the attacks.")
    assert lines[0] == "Next: measures the attacks. Put yours for RATINGS."
    assert lines[1] == "  tacit attack standard-scheme RATINGS"


def test_a_sentence_is_no_next_step(capsys):
    """What cannot be typed is refused where it is written."""
    with pytest.raises(ValueError, match="command of tacit"):
        last_lines(capsys, "--json has all digits.")
