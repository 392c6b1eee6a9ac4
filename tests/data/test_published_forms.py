"""Published forms of data sets are read by the command on the page "Data sets", or refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from data_sets_page import PAGE, write_page

import tacit
from tacit.cli.app import main
from tests.support.published_forms import FORMS, ROWS, PublishedForm


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_published_form_is_read(
    form: PublishedForm,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """People, items, likes and titles are those that the form was written from."""
    monkeypatch.chdir(tmp_path)
    for name, text in form.files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    code = main(["data", "import", *form.command, "-o", "out", "--yes", "--json"])
    printed = capsys.readouterr()
    if form.refused:
        assert code == 3
        assert form.refused in json.loads(printed.err)["error"]["message"]
        return
    assert code == 0, printed.err
    answer = json.loads(printed.out)
    assert (answer["kept"], answer["likes"], answer["scale"]) == (form.kept, form.likes, form.scale)
    ratings = tacit.load("out")
    assert (ratings.n_users, ratings.n_items) == (40, 30)
    titles = ratings.public_metadata.get("title", [])
    assert sum(title is not None for title in titles) == form.titles
    numbers = {re.sub(r"\D", "", str(key)).lstrip("0") for key in ratings.user_ids.tolist()}
    assert numbers == {str(user) for user, _, _, _ in ROWS}


def test_the_page_is_written_from_the_forms() -> None:
    """docs/data-sets.md is what the tool writes."""
    assert PAGE.read_text("utf-8") == write_page()
