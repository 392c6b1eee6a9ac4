"""docs/settings.md has every line that tacit.toml may have."""

from __future__ import annotations

from dataclasses import fields

import pytest
from settings_page import PAGE, page

from tacit.designs.prec.serve.rounds import RoundsSettings
from tacit.designs.prec.settings import PRecSettings
from tacit.errors import ConfigError
from tacit.service.served_models import ModelSettings
from tacit.service.setting_tables import read_table
from tacit.service.settings import Settings


def test_the_page_is_current():
    """As the classes that read the file have them: python tools/settings_page.py."""
    assert PAGE.read_text("utf-8") == page()


def test_rounds_have_the_library_s_settings():
    """Names and defaults: one that the library gains is served too, or this fails."""
    library = {one.name: one.default for one in fields(PRecSettings)}
    assert {one.name: one.default for one in fields(RoundsSettings)} == library | {"votes": None}


@pytest.mark.parametrize(
    "name", [one.name for one in fields(Settings) if one.metadata.get("above") is not None]
)
def test_what_the_page_calls_refused_is_refused(tmp_path, name):
    """0, where the page says `0 or less`."""
    with pytest.raises(ConfigError, match=f"setting {name} must be above 0"):
        Settings(tmp_path, **{name: 0})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"file": "a", "files": "b"},
            "models.films has no setting 'files'. There are: cold_items, file, item_word",
        ),
        ({}, "models.films.file is missing or is no text"),
        ({"file": 3}, "models.films.file is missing or is no text"),
        ({"file": "a", "without_guarantee": "no"}, "without_guarantee is missing or is not true"),
    ],
)
def test_a_table_is_read_strictly(values, said):
    """A text is not taken for true, and a misspelt line is not overlooked."""
    with pytest.raises(ConfigError, match=said):
        read_table(ModelSettings, "models.films", values)
