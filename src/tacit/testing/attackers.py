"""The conformance suite for attackers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from tacit.auditing.attacks import Attacker, Releases


class AttackerConformance:
    """Tests of an attacker. Subclass this class, and write `make`."""

    def make(self) -> Attacker:
        """Return a new attacker."""
        raise NotImplementedError

    def test_name_and_reads_epochs(self) -> None:
        """`name` is a text that is not empty, and `reads_epochs` is a bool."""
        attacker = self.make()
        assert isinstance(attacker.name, str), "`name` is a text: reports list attackers by it"
        assert attacker.name, "`name` is not empty"
        is_bool = isinstance(attacker.reads_epochs, bool)
        assert is_bool, "`reads_epochs` is a bool: whether epoch labels change its scores"

    def test_other_people_are_scored(self) -> None:
        """`score` returns (people,) finite numbers for people who were not in `fit`."""
        training_releases, labels = _make_releases(0)
        other_releases, _ = _make_releases(1)
        scores = self.make().fit(training_releases, labels).score(other_releases)
        assert np.shape(scores) == (len(labels),), "one score a person"
        assert np.isfinite(scores).all(), "every score is finite"

    def test_fit_starts_afresh(self) -> None:
        """An earlier fit, to the opposite labels, does not change the scores."""
        releases, labels = _make_releases(0)
        expected_scores = self.make().fit(releases, labels).score(releases)
        attacker = self.make().fit(releases, 1 - labels)
        assert np.allclose(attacker.fit(releases, labels).score(releases), expected_scores)


@cache
def _make_releases(seed: int) -> tuple[Releases, np.ndarray[Any, Any]]:
    """Make releases (100 people, 30 items), and (100,) labels: 1 if the first item has 4 stars."""
    labels = np.arange(100) % 2
    ratings = (np.random.default_rng(seed).random((100, 30)) < 0.4) * 3.0
    ratings[:, 0] = 1 + 3.0 * labels
    return Releases.from_ratings(sparse.csr_array(ratings)), labels
