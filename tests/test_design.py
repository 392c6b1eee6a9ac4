"""The registry of designs: what is in it, and designs of other packages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import EntryPoint

import pytest

from tacit import extensions
from tacit.cli.app import main
from tacit.data import generate
from tacit.design import Design, design, design_of, model_class, names, option, usefulness
from tacit.designs.private import Private
from tacit.designs.standard_scheme import StandardScheme
from tacit.designs.xmap import XMap
from tacit.errors import ConfigError
from tacit.recommenders.baselines import Popularity
from tests.support.seen import require_any


@dataclass(frozen=True)
class ToySettings:
    """Options of a toy's card."""

    variant: str = option("'sound'.", default="sound")


TOY = Design("toy", "Toy", "nowhere", {}, ToySettings, lambda _: (), "nothing.")


@pytest.fixture
def entry_points(monkeypatch):
    """Entry points of other packages, as they would be installed."""

    def install(**values: str) -> None:
        found = [EntryPoint(name, value, extensions.DESIGNS) for name, value in values.items()]
        monkeypatch.setattr(extensions, "entry_points", lambda *, group: found)

    return install


def test_a_design_knows_its_name():
    """Each name of the registry gives the design of that name, with a title and a citation."""
    for name in require_any(names()):
        found = design(name)
        assert found.name == name
        assert found.title
        assert found.citation


def test_model_files_name_their_design():
    """A name in a model file gives the class that reads it; baselines are of no design."""
    assert model_class("xmap") is XMap
    assert model_class("popularity") is None
    assert design_of(XMap(target="films", epsilon=1.0)) is design("xmap")
    assert design_of(Popularity()) is None


def test_few_people_are_named_before_a_model_is_used():
    """Of the standard scheme by those who train it; of a baseline there is nothing to say."""
    ratings = generate(users=200, items=20, ratings=2000, seed=1)
    scheme = StandardScheme(service_sees_items=False).fit(ratings)
    assert usefulness(scheme).startswith("200 people train it. About 400 are missing")
    private = Private(epsilon=1.0).fit(ratings)
    assert usefulness(private) == private.summary()
    assert usefulness(Popularity().fit(ratings)) is None


def test_a_design_of_another_package_is_found(entry_points, capsys):
    """By its entry point: commands know it without a change to tacit."""
    entry_points(toy=f"{__name__}:TOY")
    assert names()[-1] == "toy"
    assert main(["guarantee", "toy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"guarantees": [], "useful": ""}


def test_what_is_no_design_is_refused(entry_points):
    """A name nobody has, and an entry point that names something else."""
    with pytest.raises(ConfigError, match=r"No design 'nothing'\. Known: private"):
        design("nothing")
    entry_points(wrong="json:dumps")
    with pytest.raises(ConfigError, match="names no Design but a function"):
        design("wrong")


def test_a_name_of_tacit_cannot_be_taken(entry_points):
    """An entry point called like a design of tacit is not used."""
    entry_points(xmap="json:dumps")
    assert names().count("xmap") == 1
    assert design("xmap").title == "X-Map"
