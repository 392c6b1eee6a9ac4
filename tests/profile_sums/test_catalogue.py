"""The items on both sides, chosen by public domains."""

from __future__ import annotations

import pytest

from tacit import Ratings
from tacit.errors import ConfigError
from tacit.profile_sums.catalogue import CatalogueChoices, split_items

DOMAINS = {"domain": {0: "books", 1: "books", 2: "films", 3: "films"}}
RATINGS = Ratings.from_arrays([1] * 4, range(4), [5] * 4, item_metadata=DOMAINS)


def test_items_are_split_by_domains():
    """Every other domain is the context of a target."""
    sides = split_items(RATINGS, CatalogueChoices(target="films"))
    assert (sides.context.tolist(), sides.targets.tolist()) == ([0, 1], [2, 3])


@pytest.mark.parametrize("target", [[], ()])
def test_an_empty_list_of_targets_is_refused(target):
    """A model without any item to recommend is not fitted."""
    with pytest.raises(ConfigError, match="target names no domain"):
        split_items(RATINGS, CatalogueChoices(target=target))


@pytest.mark.parametrize("name", [5, ["films", None], [1]])
def test_domains_are_names(name):
    """The sentence says which choice is wrong, and what was given."""
    with pytest.raises(ConfigError, match="target is the name of a domain"):
        split_items(RATINGS, CatalogueChoices(target=name))
    with pytest.raises(ConfigError, match="source is the name of a domain"):
        split_items(RATINGS, CatalogueChoices(source=name, target="books"))
