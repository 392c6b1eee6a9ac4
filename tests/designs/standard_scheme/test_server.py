"""The recommender's half answers releases, and knows nothing but them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.standard_scheme.disclosure import CAP, RELEASES, AttributeTable, Disclosure
from tacit.designs.standard_scheme.messages import MICRO, WEEK, Release
from tacit.designs.standard_scheme.server import Ease, Profiles, Server

ITEMS = ("a", "b", 3, "rare")
TABLE = AttributeTable("gender", ("F", "M"), ((0,) * 4,) * 2, ((CAP,) * 4,) * 2, (), ())
RULE = RELEASES["scheme+selection+rounding"]
DISCLOSURE = Disclosure(RULE, 1.0, 1.0, 5, ITEMS, WEEK, (), (), (TABLE,))
DIGEST = DISCLOSURE.digest
PROFILES = Profiles(np.array([2.0, 3.0, 1.0, 4.0]), np.array([[1.0], [-1.0], [0.5], [0.0]]), 1.0)
WEIGHTS = np.array([[0, 200, 50, 0], [200, 0, -90, 0], [50, -90, 0, 0], [0, 0, 0, 0]])
EASE = Ease(sparse.csc_array(WEIGHTS), np.array([1, 0, 2, 3]), 5)


@pytest.fixture
def server():
    return Server(DISCLOSURE, PROFILES, EASE)


def levels_of(scores):
    return [level for _, level, _ in scores.scores]


def preferences_of(scores):
    return [preference for _, _, preference in scores.scores]


def test_levels_by_hand(server):
    """One rating 1.5 levels above its intercept, ridge 1: taste 0.75, and levels from it."""
    got = server.score(Release(DIGEST, 0, (("a", 3_500_000),)))
    assert levels_of(got) == [2_750_000, 2_250_000, 1_375_000, 4_000_000]


def test_preferences_by_hand(server):
    """A released like counts 1 and another star 0.3, by the weights, in thousandths."""
    got = server.score(Release(DIGEST, 3, (("a", 4_000_000), (3, 0))))
    assert preferences_of(got)[:3] == [15, 200 - 27, 50]


def test_items_without_weights_come_last(server):
    """An item that few people rated is ranked below all others, however well it is rated."""
    got = server.score(Release(DIGEST, 0, (("b", 4_000_000),)))
    assert preferences_of(got)[3] < min(preferences_of(got)[:3])


def test_nothing_shown(server):
    """Somebody who shows nothing gets the intercepts, and popular items first."""
    got = server.score(Release(DIGEST, 0, ()))
    assert levels_of(got) == [2_000_000, 3_000_000, 1_000_000, 4_000_000]
    assert sorted(range(4), key=lambda item: -preferences_of(got)[item]) == [1, 0, 2, 3]


def test_every_item_is_scored(server):
    """Scores are of the whole catalogue: which items a person has seen is not asked."""
    got = server.score(Release(DIGEST, 0, (("a", 0),)))
    assert [item for item, _, _ in got.scores] == list(ITEMS)


def test_same_release_same_scores(server):
    """Scores depend on the release alone: not on who sent it, nor on what came before."""
    release = Release(DIGEST, 0, (("a", 3_500_000), (3, 0)))
    first = server.score(Release.decode(release.encode())).encode()
    server.score(Release(DIGEST, 0, (("b", 4_000_000),)))
    assert server.score(release).encode() == first


def test_the_epoch_says_nothing(server):
    """The same set in another epoch has the same scores."""
    sets = [server.score(Release(DIGEST, epoch, (("a", 0),))) for epoch in (0, 2900)]
    assert sets[0] == sets[1]


def test_order_says_nothing(server):
    """The order of a release does not change the scores."""
    pairs = (("a", 3_500_000), ("b", 1), (3, 4_000_000))
    one, other = (server.score(Release(DIGEST, 0, p)) for p in (pairs, pairs[::-1]))
    assert one == other


def test_other_disclosure_is_refused(server):
    """A release made for other tables is refused: it may be meant quite differently."""
    with pytest.raises(ValueError, match="another disclosure"):
        server.score(Release("fedcba9876543210", 0, ()))


def test_unknown_items_are_refused(server):
    """An item that no disclosure named cannot be in a release."""
    with pytest.raises(ValueError, match="'z'"):
        server.score(Release(DIGEST, 0, (("z", 1),)))


def test_largest_levels_do_no_harm(server):
    """The largest level a message can carry is answered with numbers."""
    got = server.score(Release(DIGEST, 0, (("a", 1 << 53), ("b", -(1 << 53)))))
    assert len(got.scores) == 4


def test_scores_are_micro_levels(server):
    """Scores are whole millionths of a level."""
    got = server.score(Release(DIGEST, 0, (("a", 1_234_567),)))
    taste = (1.234567 - 2) / 2
    assert levels_of(got)[0] == round((2 + taste) * MICRO)
