"""Settings of a folder that is fitted again: what is written is read, and nothing else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.private.folder_fits import NEWEST, REFIT_FILE, RefitSettings
from tacit.errors import ConfigError

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


@given(
    epsilon=st.floats(0.01, 10) | st.just(math.inf),
    delta=st.floats(1e-12, 1e-3),
    lifetime=st.none() | st.floats(0.1, 100),
    every=st.sampled_from(["day", "week", "month"]),
    catalogue=st.none() | TEXTS,
    features=st.none() | st.lists(TEXTS, max_size=3).map(tuple),
    rows=st.dictionaries(st.sampled_from(["user", "item", "where"]), TEXTS | st.booleans()),
)
def test_what_is_written_is_read(tmp_path_factory, **values):
    """Every setting, with texts of any characters; a lifetime with a plan of fits."""
    fits = None if values["lifetime"] is None else 52
    settings = RefitSettings(fits=fits, **values)
    folder = tmp_path_factory.mktemp("folder")
    settings.write(folder)
    assert RefitSettings.read(folder) == settings


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("epsilons = 1.0", "has no setting 'epsilons'"),
        ("epsilon = ", "is not TOML"),
        ('epsilon = "1"', "epsilon has to be a number; got '1'"),
        ("epsilon = true", "epsilon has to be a number; got True"),
        ("fits = 5.5\nlifetime = 3.0", "fits has to be a whole number; got 5.5"),
        ("fits = 52", "fits share a lifetime"),
        ('every = "year"', "every is day, week or month; got 'year'"),
        ("features = [1]", "features has to be a list of texts"),
        ('features = "genres"', "features has to be a list of texts; got 'genres'"),
        ('rows = "user"', "rows has to be a table"),
        ("catalogue = 3", "catalogue has to be a text; got 3"),
        (f'model = "{NEWEST}"', f"NAME.tacit and not {NEWEST}"),
        ('model = "lists.bin"', "model is the served file"),
    ],
)
def test_other_content_is_refused_by_name(tmp_path, text, says):
    """The file is edited by hand: the sentence says which line and what is expected."""
    (tmp_path / REFIT_FILE).write_text(text + "\n")
    with pytest.raises(ConfigError) as raised:
        RefitSettings.read(tmp_path)
    assert says in str(raised.value)


def test_a_folder_without_the_file_is_sent_to_init(tmp_path):
    """The sentence names the file and the command that writes it."""
    with pytest.raises(ConfigError, match=r"refit\.toml: is missing.*tacit init"):
        RefitSettings.read(tmp_path)


def test_a_file_of_other_bytes_is_no_toml(tmp_path):
    """Such as one that an editor saved in another encoding."""
    (tmp_path / REFIT_FILE).write_bytes(b'model = "\xff.tacit"\n')
    with pytest.raises(ConfigError, match="is not TOML"):
        RefitSettings.read(tmp_path)
