"""A private disclosure is proved where items, scale and values are given, else conditional."""

from __future__ import annotations

import json

import polars as pl
import pytest

from tacit.cli.app import main
from tacit.recommenders import load_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ratings and users, and a catalogue with an item that nobody rated."""
    made = tmp_path_factory.mktemp("public")
    generated = ("--users", "200", "--items", "40", "--ratings", "5000", "--seed", "3")
    assert main(["data", "generate", str(made / "r.parquet"), *generated]) == 0
    ratings = pl.read_parquet(made / "r.parquet").drop("timestamp")  # its unit would be a guess
    ratings.write_parquet(made / "r.parquet")
    items = sorted(set(ratings["item_id"].to_list()))
    listed = [f"{item},films" for item in [*items, "never-rated"]]
    (made / "items.csv").write_text("\n".join(["item,domain", *listed]) + "\n")
    return made


@pytest.fixture
def fitted(folder, tmp_path, capsys):
    """The card of those who train, and the model, fitted with these words."""

    def fit(*names):
        words = {
            "catalogue": ("--catalogue", str(folder / "items.csv")),
            "scale": ("--scale", "1:5:1"),
            "values": ("--values", "gender=F,M"),
        }
        asked = [word for name in names for word in words[name]]
        out = str(tmp_path / "m.tacit")
        users = ("--users", str(folder / "r-users.parquet"), "--no-measure", "-o", out)
        said = ("--disclosure-epsilon", "100", "--service-sees-items", "no")
        assert (
            main(["fit", "standard-scheme", str(folder / "r.parquet"), *users, *said, *asked]) == 0
        )
        capsys.readouterr()
        assert main(["guarantee", out, "--json"]) == 0
        cards = json.loads(capsys.readouterr().out)["guarantees"]
        return next(card for card in cards if "consenting" in card["name"]), load_model(out)

    return fit


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ((), ("--catalogue FILE", "--scale MIN:MAX:STEP", "--values NAME=A,B")),
        (("catalogue", "scale"), ("--values NAME=A,B",)),
        (("values", "scale"), ("--catalogue FILE",)),
        (("catalogue", "values", "scale"), ()),
    ],
)
def test_what_was_read_off_people_is_a_condition(fitted, given, missing):
    """Items, scale and values that private data told are not paid for by any noise."""
    card, _ = fitted(*given)
    assert card["basis"] == ("conditional" if missing else "proved")
    for option in ("--catalogue FILE", "--scale MIN:MAX:STEP", "--values NAME=A,B"):
        assert (option in card["sentence"]) == (option in missing)


def test_with_a_catalogue_the_items_are_those_of_the_list(fitted):
    """An item that nobody rated is disclosed like others: the list tells nothing of ratings."""
    _, model = fitted("catalogue")
    assert "never-rated" in model.item_ids_.tolist()


@pytest.mark.parametrize("values", ["gender", "gender=F", "gender=F,F", "age=1,2"])
def test_values_are_two_or_more_of_a_hidden_attribute(folder, tmp_path, capsys, values):
    """Anything else is a usage error in one sentence."""
    words = [
        "--users",
        str(folder / "r-users.parquet"),
        "-o",
        str(tmp_path / "m"),
        "--values",
        values,
    ]
    assert main(["fit", "standard-scheme", str(folder / "r.parquet"), *words]) == 2
    assert "gender=F,M" in capsys.readouterr().err
