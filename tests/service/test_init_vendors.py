"""`tacit init --vendors 2`: two folders that forward to each other, or nothing."""

from __future__ import annotations

import json
import tomllib

import pytest

from tacit.cli.app import main
from tacit.service.deployment import Deployment
from tacit.service.kinds import installed_kinds


def test_each_knows_the_other(tmp_path, capsys):
    """Names, addresses and public keys are those of the neighbour, and both can be served."""
    assert main(["init", str(tmp_path / "press"), "--vendors", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    sections = []
    for folder in found["folders"]:
        content = tomllib.loads((tmp_path / "press" / folder / "tacit.toml").read_text())
        sections.append(content["vendors"])
        deployment = Deployment.read(tmp_path / "press" / folder, installed_kinds())
        assert list(deployment.served) == [f"vendors/{next(iter(content['vendors']))}"]
    assert list(sections[0]["press-1"]["peers"]) == ["press-2"]
    peer = sections[1]["press-2"]["peers"]["press-1"]
    assert peer["url"] == f"{found['addresses'][0]}/api/vendors/press-1"


@pytest.mark.parametrize("words", [["--vendors", "3"], ["ratings.csv", "--vendors", "2"], []])
def test_what_is_refused_leaves_nothing(tmp_path, words, capsys):
    """Another number, ratings beside vendors, neither ratings nor vendors."""
    assert main(["init", str(tmp_path / "press"), *words]) == 2
    assert capsys.readouterr().err.startswith("Error: ")
    assert list(tmp_path.iterdir()) == []
