"""Attackers of one fold who know more than the release: figures by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from tacit.auditing.attacks import PublicKnowledge, Releases
from tacit.designs.standard_scheme.experiment import fold
from tacit.designs.standard_scheme.experiment.fold import (
    KNOWN_ITEMS,
    MIXES,
    CountAttacker,
    is_certain,
    lattice_scores,
    log_odds_of_known_items,
    order_pair,
)
from tacit.designs.standard_scheme.messages import MICRO

KEEP = np.array([[0.5, 0.25, 0.0, 0.0], [1.0, 0.5, 0.8, 0.0]])
"""Chances to be shown, by label: item 2 is a certificate of label 1, item 3 is never shown."""


def rows_of(*rows):
    """CSR of levels, NaN where nothing is rated."""
    levels = np.array(rows, dtype=float)
    people, items = np.nonzero(np.isfinite(levels))
    return sparse.csr_array((levels[people, items], (people, items)), shape=levels.shape)


NAN = math.nan
RATED = rows_of([4, 3, NAN, NAN], [4, NAN, 2, NAN], [NAN, 1, NAN, 2], [NAN, NAN, 3, NAN])
SHOWN = rows_of([4, NAN, NAN, NAN], [NAN, NAN, 2, NAN], [NAN, 1, NAN, NAN], [NAN] * 4)


def test_log_odds_of_items_known_to_be_rated():
    """A shown item speaks by its chances to be shown, a missing one by those to be left out; what
    nobody shows says nothing."""
    odds = log_odds_of_known_items(RATED, SHOWN, KEEP, 10, seed=1)
    # Person 0 shows item 0 and not item 1. Person 1 leaves item 0 out, which label 1 always shows,
    # and shows item 2, which label 0 never does: they contradict each other.
    assert odds[0] == pytest.approx(math.log(1 / 0.5) + math.log(0.5 / 0.75))
    assert odds[1] == 0
    assert odds[2] == pytest.approx(math.log(0.5 / 0.25))
    assert odds[3] == pytest.approx(math.log(0.2))


def test_of_two_values_one_is_certain_where_an_item_excludes_the_other():
    """An item that one label never shows, and one that it never leaves out, exclude it."""
    assert is_certain(RATED, SHOWN, KEEP, 10, seed=1).tolist() == [False, True, False, False]


def test_of_three_values_one_is_certain_where_both_others_are_excluded():
    """A value that is excluded leaves two: nobody is read until a second one is excluded, too."""
    keep = np.array([[0.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 0.5]])
    rated = rows_of([3, 3, NAN], [3, 3, NAN], [NAN, 3, 3])
    # Person 0 shows item 0, which value 0 never does, and leaves out item 1, which value 1 always
    # shows. Person 1 excludes value 0 alone, person 2 value 1 alone.
    shown = rows_of([3, NAN, NAN], [3, 3, NAN], [NAN, NAN, 3])
    assert is_certain(rated, shown, keep, 10, seed=1).tolist() == [True, False, False]


def test_so_many_items_of_each_person_are_known():
    """With one known item a person's log odds are those of one of their items."""
    single = {math.log(2), math.log(0.5 / 0.75)}
    found = {
        round(float(log_odds_of_known_items(RATED, SHOWN, KEEP, 1, seed)[0]), 9)
        for seed in range(20)
    }
    assert found == {round(value, 9) for value in single}


def test_share_of_levels_that_are_whole():
    """Without rounding a level plus its value's offset is whole: the true value fits everywhere,
    another one where both offsets are alike."""
    tables = SimpleNamespace(offsets=np.array([[250_000, 0], [-250_000, 0]]))
    levels = rows_of([2.75, 3.0], [3.25, 3.0], [2.75, NAN], [NAN, NAN])
    found = lattice_scores(levels, tables)
    np.testing.assert_allclose(found, [[1, 0.5], [0.5, 1], [1, 0], [0, 0]])
    # Where stars lie on quarters of a level, both values fit everywhere.
    quarters = lattice_scores(levels, tables, lattice=MICRO // 4)
    np.testing.assert_allclose(quarters, [[1, 1], [1, 1], [1, 1], [0, 0]])


def test_rounding_moves_a_level_by_two_millionths():
    """A sum that misses the stars by more is not on their lattice."""
    tables = SimpleNamespace(offsets=np.zeros((1, 1)))
    for missed, share in ((2, 1.0), (3, 0.0), (-2, 1.0), (-3, 0.0)):
        levels = rows_of([3 + missed / MICRO])
        assert lattice_scores(levels, tables).tolist() == [[share]]


def test_a_pair_of_folds_has_one_key_in_either_order():
    """Under it are the tables that were estimated without the people of both."""
    assert [order_pair(1, other) for other in (0, 1, 2)] == [(0, 1), (1, 1), (1, 2)]


class _Recorder:
    """A model that keeps what it is asked to learn from."""

    def fit(self, features, labels):
        self.features = features


def test_each_value_estimates_how_many_were_rated(monkeypatch):
    """The sum of 1 / keep over shown items less the true number, by its number and its deviation:
    6 - 4 for label 0 with variance 2 + 12, and 3 - 4 for label 1 with variance 0 + 2."""
    recorder = _Recorder()
    monkeypatch.setattr(fold, "make_boosted_trees", lambda labels, quick: [recorder])
    public = PublicKnowledge(
        popularity=np.ones(4),
        offsets=np.zeros((1, 4)),
        log_keep=np.zeros((1, 4)),
        genres=np.zeros((4, 0)),
        years=np.full(4, np.nan),
    )
    shown = rows_of([4, 3, NAN, NAN], [NAN] * 4)
    seen = Releases(shown, public, np.zeros(2, dtype=np.int64), None)
    CountAttacker().fit(seen, np.array([4, 0]), KEEP[None], np.array([0, 1]))
    expected = [2 / 4, 2 / math.sqrt(15), -1 / 4, -1 / math.sqrt(3)]
    np.testing.assert_allclose(recorder.features[0, :4], expected)
    np.testing.assert_allclose(recorder.features[1, :4], 0)


def test_mixes_go_from_nothing_to_everything():
    """In equal steps."""
    assert (MIXES[0], MIXES[-1]) == (0, 1)
    assert len(set(np.diff(MIXES).tolist())) == 1


def test_one_three_and_ten_items_are_known():
    """As the results and the card have it."""
    assert KNOWN_ITEMS == (1, 3, 10)


def test_certainty_is_of_people_and_not_of_items():
    """Three people and two items: one answer for each person."""
    rated = rows_of([4, NAN], [NAN, 3], [4, 3])
    keep = np.array([[0.5, 0.5], [0.5, 0.0]])
    shown = rows_of([4, NAN], [NAN, 3], [NAN, NAN])
    assert is_certain(rated, shown, keep, 10, seed=1).tolist() == [False, True, False]
