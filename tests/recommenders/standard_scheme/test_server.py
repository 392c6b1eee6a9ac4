"""The recommender's half answers releases, and knows nothing but them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.recommenders.standard_scheme.messages import MICRO, Release
from tacit.recommenders.standard_scheme.server import Profiles, Server

ITEMS = ("a", "b", 3)
PROFILES = Profiles(np.array([2.0, 3.0, 1.0]), np.array([[1.0], [-1.0], [0.5]]), 1.0)


@pytest.fixture
def server():
    return Server("0123456789abcdef", ITEMS, PROFILES)


def test_scores_by_hand(server):
    """One rating 1.5 levels above its intercept, ridge 1: taste 0.75, and three scores from it."""
    got = server.score(Release("0123456789abcdef", 0, (("a", 3_500_000),)))
    assert [(item, level) for item, level, _ in got.scores] == [
        ("a", 2_750_000),
        ("b", 2_250_000),
        (3, 1_375_000),
    ]


def test_nothing_shown(server):
    """Somebody who shows nothing gets the intercepts."""
    got = server.score(Release("0123456789abcdef", 0, ()))
    assert [level for _, level, _ in got.scores] == [2_000_000, 3_000_000, 1_000_000]


def test_candidates(server):
    """Only the candidates are scored, in their order."""
    got = server.score(Release("0123456789abcdef", 0, ()), [3, "a"])
    assert [row[:2] for row in got.scores] == [(3, 1_000_000), ("a", 2_000_000)]


def test_same_release_same_scores(server):
    """Scores depend on the release alone: not on who sent it, nor on what came before."""
    release = Release("0123456789abcdef", 0, (("a", 3_500_000), (3, 0)))
    first = server.score(Release.decode(release.encode())).encode()
    server.score(Release("0123456789abcdef", 0, (("b", 4_000_000),)))
    assert server.score(release).encode() == first


def test_order_says_nothing(server):
    """The order of a release does not change the scores."""
    pairs = (("a", 3_500_000), ("b", 1), (3, 4_000_000))
    one, other = (server.score(Release("0123456789abcdef", 0, p)) for p in (pairs, pairs[::-1]))
    assert one == other


def test_other_disclosure_is_refused(server):
    """A release made for other tables is refused: it may be meant quite differently."""
    with pytest.raises(ValueError, match="another disclosure"):
        server.score(Release("fedcba9876543210", 0, ()))


def test_unknown_items_are_refused(server):
    """An item that no disclosure named cannot be in a release, nor be a candidate."""
    with pytest.raises(ValueError, match="'z'"):
        server.score(Release("0123456789abcdef", 0, (("z", 1),)))
    with pytest.raises(ValueError, match="'z'"):
        server.score(Release("0123456789abcdef", 0, ()), ["z"])


def test_largest_levels_do_no_harm(server):
    """The largest level a message can carry is answered with numbers."""
    got = server.score(Release("0123456789abcdef", 0, (("a", 1 << 53), ("b", -(1 << 53)))))
    assert len(got.scores) == 3


def test_predictions_stand_where_the_entries_stand():
    """`predict` gives <v_i, p_u> plus the intercept at each stored entry, in order."""
    entries = sparse.csr_array(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))
    people = np.array([[2.0], [4.0]])
    assert PROFILES.predict(people, entries).tolist() == [1.0, 2.0, 6.0]


def test_scores_are_micro_levels(server):
    """Scores are whole millionths of a level."""
    got = server.score(Release("0123456789abcdef", 0, (("a", 1_234_567),)))
    taste = (1.234567 - 2) / 2
    assert got.scores[0][1] == round((2 + taste) * MICRO)
