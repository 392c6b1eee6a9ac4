"""Messages have one spelling, and nothing but messages gets in."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.standard_scheme.disclosure import RELEASES, Disclosure
from tacit.designs.standard_scheme.messages import MessageError, Release, Scores

KINDS = {"disclosure": Disclosure, "release": Release, "scores": Scores}

ids = st.integers(-(2**60), 2**60) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
whole = st.integers(-(2**53), 2**53)


def rows(*columns):
    """Lists of items, each once, with as many whole numbers."""
    return st.lists(st.tuples(ids, *columns), max_size=6, unique_by=lambda row: row[0]).map(tuple)


def spelled(content, **how):
    how = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False} | how
    return json.dumps(content, **how).encode()


RELEASE = Release("0123456789abcdef", 2810, (("é", 1_250_000), (7, 0)))


@given(rows(whole), st.integers(0, 2**53))
def test_release_round_trip(ratings, epoch):
    """A release comes back as it was sent."""
    sent = Release("0123456789abcdef", epoch, ratings)
    assert Release.decode(sent.encode()) == sent


@given(rows(whole, whole))
def test_scores_round_trip(scores):
    """Scores come back as they were sent."""
    sent = Scores("0123456789abcdef", scores)
    assert Scores.decode(sent.encode()) == sent


@pytest.mark.parametrize(
    "scores",
    [
        [("a", 1, 2)],
        (["a", 1, 2],),
        ("abc",),
        (("a", 1),),
        (("a", 1, 2), ("b", 1, 2, 3)),
        ((None, 1, 2),),
        ((True, 1, 2),),
        ((1.0, 1, 2),),
        (("a", 1, 2), ("b", 1.0, 2)),
        (("a", 1, 2), ("b", 1, False)),
        (("a", 2**53 + 1, 2),),
        (("a", 1, 2), ("b", 1, -(2**53) - 1)),
        (("a", 1, 2), (7, 3, 4), ("a", 1, 2)),
    ],
    ids=str,
)
def test_scores_that_are_no_rows_of_items_and_numbers(scores):
    """One bad row among good ones is refused; 1.0 and True are no whole numbers."""
    with pytest.raises(MessageError, match=r"an item (and|comes once)|a list for"):
        Scores("0123456789abcdef", scores)


@pytest.mark.parametrize("release", RELEASES)
def test_disclosure_round_trip(disclose, release):
    """A disclosure of any release comes back equal, with the same digest."""
    sent = disclose(release)
    got = Disclosure.decode(sent.encode())
    assert got == sent
    assert got.digest == sent.digest


def test_disclosure_round_trip_of_several_attributes(disclose, tables):
    """Several attributes, and values that are not two, come back in their order."""
    sent = disclose(tables={"age": tables(1, values=("a", "b", "c")), "gender": tables(2)})
    assert Disclosure.decode(sent.encode()) == sent


def test_digest_names_the_content(disclose):
    """Another rule or another number is another digest."""
    one = disclose()
    others = [replace(one, step=0.5), disclose(mix=1), disclose("scheme+rounding")]
    assert len({one.digest, *(other.digest for other in others)}) == 4


def test_items_in_the_order_of_the_disclosure(disclose):
    """Ids of other items are left out."""
    assert disclose().sort_items(["item 3", "other", "item 0"]) == ["item 0", "item 3"]


def test_bytes_of_a_release():
    """The canonical bytes are sorted keys without spaces, in UTF-8."""
    assert (
        RELEASE.encode()
        == (
            '{"disclosure":"0123456789abcdef","epoch":2810,"message":"release",'
            '"ratings":[["é",1250000],[7,0]],"version":2}'
        ).encode()
    )


def test_release_says_nothing_more():
    """No person, attribute, count or second: a release has five fields and they are these."""
    fields = {"disclosure", "epoch", "message", "ratings", "version"}
    assert set(json.loads(RELEASE.encode())) == fields


@pytest.mark.parametrize("kind", KINDS)
def test_another_version_is_refused_in_a_sentence(kind):
    """A message of another version is named as such, and both programs' owners know what to do."""
    with pytest.raises(MessageError) as refused:
        KINDS[kind].decode(spelled({"version": 3, "message": kind, "ratings": []}))
    assert str(refused.value) == (
        "this message is of version 3; this program reads version 2: update the older side"
    )


@pytest.mark.parametrize("release", RELEASES)
def test_a_disclosure_holds_what_its_rule_needs(disclose, release):
    """No bounds, counts or people; averages and couplings only where the rule uses them."""
    content = json.loads(disclose(release).encode())
    (table,) = content["attributes"]
    assert set(table) == {"name", "values", "offsets", "keep", "means", "coupling"}
    assert bool(content["item_means"]) == release.startswith("movie-average")
    assert bool(table["means"]) == release.startswith("attribute-average")
    assert bool(table["coupling"]) == release.startswith("coupling")
    content["item_means"] = [] if content["item_means"] else [0] * 6
    with pytest.raises(MessageError, match="average where the rule"):
        Disclosure.decode(spelled(content))


@pytest.mark.parametrize(
    "aliases",
    [
        [["old"]],
        [["old", "item 0", 1]],
        [["old", None]],
        ["ab"],
        {},
        None,
        [["item 1", "item 0"]],
        [["old", "item 0"], ["old", "item 1"]],
        [["old", "older"], ["older", "item 0"]],
        [["old", "old"]],
    ],
    ids=str,
)
def test_aliases_that_lead_astray(disclose, aliases):
    """An old id has one new id, is no item any more and is nobody's new id."""
    content = json.loads(disclose().encode()) | {"aliases": aliases}
    with pytest.raises(MessageError):
        Disclosure.decode(spelled(content))


def test_an_alias_may_lead_to_an_item_that_left(disclose):
    """A new id need not be in the catalogue now."""
    sent = disclose(aliases=((12, "gone"), ("old", "item 0")))
    assert Disclosure.decode(sent.encode()) == sent
