"""Which items a model keeps, and the domain of each."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.data.domains import with_domains
from tacit.data.ratings import Ratings
from tacit.designs.xmap.catalogue import keep_domains, read_catalogue_header
from tacit.designs.xmap.settings import Settings
from tacit.errors import DataError

DOMAINS = {"b0": "books", "b1": "books", "f0": "films", "s0": "songs"}


def settings(*, source=(), target=("films",)):
    return Settings(
        source=source,
        target=target,
        domain="domain",
        variant="published",
        epsilon=1.0,
        epsilon_prime=None,
        delta=1e-6,
        recommender="item-based",
        k=2,
        extender_k=2,
        significance=0,
        alpha=0.0,
    )


def ratings(names=tuple(DOMAINS)):
    made = Ratings.from_arrays(np.arange(len(names)), np.array(names), np.full(len(names), 4.0))
    return with_domains(made, {name: DOMAINS[name] for name in names})


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ((), ("films",), ["b0", "b1", "f0", "s0"]),
        (("books",), ("films",), ["b0", "b1", "f0"]),
        (("books",), ("songs",), ["b0", "b1", "s0"]),
    ],
)
def test_the_named_domains_are_kept(source, target, kept):
    """Without a source every domain is one."""
    found, catalogue = keep_domains(ratings(), settings(source=source, target=target))
    assert found.item_ids.tolist() == kept
    assert catalogue.domains.tolist() == [DOMAINS[name] for name in kept]
    targets = catalogue.items_of(target[0])
    assert [kept[number] for number in targets] == [k for k in kept if DOMAINS[k] == target[0]]
    sources = {kept[number] for number in catalogue.sources(target[0])}
    assert sources == {k for k in kept if DOMAINS[k] != target[0]}


def test_every_domain_may_be_a_target():
    """Two domains, both of them targets: each is the source of the other."""
    both = ratings(("b0", "b1", "f0"))
    found, catalogue = keep_domains(both, settings(target=("books", "films")))
    assert found.item_ids.tolist() == ["b0", "b1", "f0"]
    assert catalogue.sources("books").tolist() == catalogue.items_of("films").tolist() == [2]


def test_one_domain_alone_is_refused():
    """Nothing leads to it."""
    with pytest.raises(DataError, match="only one domain"):
        keep_domains(ratings(("b0", "b1")), settings(target=("books",)))


@pytest.mark.parametrize("ids", [[-(2**63), 2**63 - 1], [-(10**6), 7], ["a", "b"]])
def test_ids_of_64_bits_are_read(ids):
    """Whole numbers as far as files hold them, or text."""
    header = {"items": ids, "domains": ["books", "films"], "titles": None}
    assert read_catalogue_header(header, settings()).domains.tolist() == ["books", "films"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"items": [2**63, 1]}, "64 bits"),
        ({"items": [-(2**63) - 1, 1]}, "64 bits"),
        ({"items": [1, "b"]}, "distinct whole numbers or distinct texts"),
        ({"items": [1, 1]}, "distinct whole numbers or distinct texts"),
        ({"titles": ["one"]}, "titles"),
        ({"domains": ["books"]}, "domains are not one text"),
        ({"domains": ["books", "books"]}, "no item is in the domain films"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(change, said):
    """What is wrong is said."""
    header = {"items": [1, 2], "domains": ["books", "films"], "titles": None}
    with pytest.raises(ValueError, match=said):
        read_catalogue_header(header | change, settings())
