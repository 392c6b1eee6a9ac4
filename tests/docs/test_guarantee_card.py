"""docs/guarantee-card.md explains a real card: each of its lines, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tacit.cli.app import main

PAGE = Path(__file__).parents[2] / "docs" / "guarantee-card.md"
COMMAND = "tacit guarantee private --epsilon 1"


def explained_lines() -> list[str]:
    """Lines of the card that the page explains: each in backticks above its explanation."""
    return re.findall(r"^`(.+)`\n: ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_quotes_the_card_that_the_command_prints(capsys):
    """Each explained line is on the card, word by word."""
    assert f"`{COMMAND}`" in PAGE.read_text(encoding="utf-8")
    assert main(COMMAND.split()[1:]) == 0
    card = " ".join(capsys.readouterr().out.replace("│", " ").split())
    lines = explained_lines()
    assert len(lines) > 15
    for line in lines:
        assert line in card, line


def test_no_condition_of_the_card_is_left_out(capsys):
    """Conditions, what is not covered, and the lines above them all have an explanation."""
    assert main([*COMMAND.split()[1:], "--json"]) == 0
    (card,) = json.loads(capsys.readouterr().out)["guarantees"]
    explained = explained_lines()
    for line in [*card["assumptions"], *card["not_covered"], card["sentence"]]:
        assert line in explained, line
    names = {line.partition(":")[0] for line in explained}
    assert {"Protects", "Against", "Who must be trusted", "Basis", "Epsilon"} <= names
