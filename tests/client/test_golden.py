"""The golden files are what the code writes now."""

from __future__ import annotations

import json

import pytest

from golden import client as golden

TEXTS = dict(golden.texts())


@pytest.mark.parametrize("name", golden.FILES)
def test_golden_files_are_current(name):
    """The file differs in nothing from what the code writes; if so: python -m golden.client."""
    assert (golden.FOLDER / name).read_text("ascii") == TEXTS[name]


def test_a_quarter_are_refusals():
    """At least a quarter of the vectors say what has to be refused."""
    every = [
        vector for text in TEXTS.values() for list_ in json.loads(text).values() for vector in list_
    ]
    refused = [vector for vector in every if "error" in vector]
    assert len(refused) >= 0.25 * len(every)


def test_no_other_file_is_golden():
    """Nothing lies there that no code writes."""
    frozen = {"files", "openapi.json", "outputs.json"}  # tests/golden
    found = {file.name for file in golden.FOLDER.iterdir() if file.suffix != ".py"}
    assert found - {"__pycache__"} == set(golden.FILES) | frozen
