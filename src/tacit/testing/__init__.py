"""Suites for authors of recommenders, designs, attackers, metrics and data sets.

What holds for every part of another package. A new one is checked in three lines:

    class TestMine(MetricConformance):
        def make(self):
            return my_metric

Designs, attackers, metrics and data sets; entry points are described in `tacit.extensions`. Run by
pytest, which this file does not import. One claim per test, stated in its docstring.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from tacit.auditing.attacks import Attacker, Releases
from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.design import Command, Design, options_of
from tacit.mechanisms.guarantees import NAMES as MECHANISMS
from tacit.recommenders.baselines import Popularity
from tacit.testing.recommenders import RecommenderConformance

__all__ = [
    "AttackerConformance",
    "DatasetConformance",
    "DesignConformance",
    "MetricConformance",
    "RecommenderConformance",
]


WORKING = ("fit", "evaluate", "attack", "plan", "simulate", "replay")


class DesignConformance:
    """Subclass it and write `make`, which gives the `Design`."""

    def make(self) -> Design:
        raise NotImplementedError

    def test_it_has_a_card(self) -> None:
        """Of settings that nobody chose but for epsilon, before anything is fitted."""
        found = self.make()
        given = {"epsilon": 1.0} if "epsilon" in options_of(found.card_settings) else {}
        cards = found.cards(found.card_settings(**given))
        assert cards, "a design states at least one guarantee, or that there is none"
        assert all(card.sentence for card in cards), "every card begins with a sentence"

    def test_it_has_an_audit_with_planted_bugs(self) -> None:
        """Lines with a claim each, and bugs that the bench has to catch."""
        bench = self.make().part("audit")()
        assert sum(map(len, bench.claims.values())) >= 1, "an audit tests at least one claim"
        assert len(bench.bugs) >= 1, "an audit that finds no planted bug shows nothing"

    def test_it_has_an_experiment(self) -> None:
        """Measured on data, generated or real."""
        assert {"evaluate", "simulate"} & set(self.make().parts), "add evaluate or simulate"

    def test_commands_are_made_from_settings(self) -> None:
        """Frozen settings whose fields are options, and a function that says what it does."""
        found = self.make()
        for part in [part for part in WORKING if part in found.parts]:
            command = found.part(part)
            assert isinstance(command, Command), f"{part} names a Command"
            assert options_of(command.settings), f"{part} has at least one option"
            frozen = command.settings.__dataclass_params__.frozen
            assert frozen, f"the settings of {part} are a frozen dataclass"
            assert command.run.__doc__, f"{part} says what it does in a docstring"

    def test_it_is_not_called_like_a_mechanism(self) -> None:
        """`tacit guarantee NAME` and `tacit audit NAME` know both."""
        assert self.make().name not in MECHANISMS


class AttackerConformance:
    """Subclass it and write `make`, which gives a new attacker."""

    def make(self) -> Attacker:
        raise NotImplementedError

    def test_it_has_a_name_and_says_what_it_reads(self) -> None:
        """Reports list attackers by name; epoch labels are shown to those that read them."""
        attacker = self.make()
        assert isinstance(attacker.name, str)
        assert attacker.name
        assert isinstance(attacker.reads_epochs, bool)

    def test_it_scores_people_whose_label_it_has_not_seen(self) -> None:
        """(people,) finite numbers, of other people than those it learned from."""
        (seen, labels), (others, _) = _released(0), _released(1)
        scores = self.make().fit(seen, labels).score(others)
        assert np.shape(scores) == (len(labels),), "one score a person"
        assert np.isfinite(scores).all(), "every score is finite"

    def test_fit_starts_afresh(self) -> None:
        """Fitting to opposite labels first leaves no trace."""
        seen, labels = _released(0)
        once = self.make().fit(seen, labels).score(seen)
        attacker = self.make().fit(seen, 1 - labels)
        assert np.allclose(attacker.fit(seen, labels).score(seen), once)


class MetricConformance:
    """Subclass it and write `make`, which gives the metric.

    It is called with lists, (people, n) int64 item numbers, best first, -1 where a list has ended;
    relevant, (people, items) CSR with 1 for each item to find; and train, the `Ratings` that were
    learned from. It gives a float.
    """

    def make(self) -> Any:
        raise NotImplementedError

    def test_it_gives_a_finite_number(self) -> None:
        """Of usual lists."""
        assert math.isfinite(float(self.make()(*_lists())))

    def test_lists_that_end_early_have_a_value(self) -> None:
        """A recommender may know fewer items than a list has room for, or none."""
        lists, relevant, train = _lists()
        for shown in (1, 0):
            short = lists.copy()
            short[:, shown:] = -1
            assert math.isfinite(float(self.make()(short, relevant, train)))

    def test_people_have_no_order(self) -> None:
        """The same lists of the same people in another order have the same value."""
        lists, relevant, train = _lists()
        turned = self.make()(lists[::-1].copy(), relevant[::-1], train)
        assert math.isclose(turned, self.make()(lists, relevant, train), rel_tol=1e-9)

    def test_it_changes_nothing(self) -> None:
        """Lists and held-out items are as they were: other metrics read them too."""
        lists, relevant, train = _lists()
        before = lists.copy(), relevant.toarray()
        self.make()(lists, relevant, train)
        assert np.array_equal(lists, before[0])
        assert np.array_equal(relevant.toarray(), before[1])


class DatasetConformance:
    """Subclass it and write `make`, which gives the ratings."""

    def make(self) -> Ratings:
        raise NotImplementedError

    def test_it_gives_ratings(self) -> None:
        """Of at least two people and two items."""
        ratings = self.make()
        assert isinstance(ratings, Ratings)
        assert min(ratings.n_users, ratings.n_items) >= 2

    def test_it_is_the_same_each_time(self) -> None:
        """Figures can be repeated."""
        assert self.make().digest == self.make().digest

    def test_popularity_fits_it(self) -> None:
        """The simplest recommender makes a list from it."""
        assert len(Popularity().fit(self.make()).recommend(history={}, n=1)) == 1


@cache
def _released(seed: int) -> tuple[Releases, np.ndarray[Any, Any]]:
    """What 100 people show, and a label that one item tells."""
    labels = np.arange(100) % 2
    shown = (np.random.default_rng(seed).random((100, 30)) < 0.4) * 3.0
    shown[:, 0] = 1 + 3.0 * labels
    return Releases.of(sparse.csr_array(shown)), labels


@cache
def _lists() -> tuple[np.ndarray[Any, Any], sparse.csr_array, Ratings]:
    train = generate(users=40, items=30, ratings=400, seed=1)
    rng = np.random.default_rng(2)
    lists = np.array([rng.permutation(30)[:10] for _ in range(40)], dtype=np.int64)
    return lists, sparse.csr_array((rng.random((40, 30)) < 0.2).astype(float)), train
