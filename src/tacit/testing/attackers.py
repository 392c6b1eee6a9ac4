"""The conformance suite for attackers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from tacit.auditing.attacks import Attacker, Releases


class AttackerConformance:
    """Tests of an attacker. Subclass it, and write `make`."""

    def make(self) -> Attacker:
        """Return a new attacker."""
        raise NotImplementedError

    def test_name_and_reads_epochs(self) -> None:
        """`name` is a text that is not empty, and `reads_epochs` is a bool."""
        attacker = self.make()
        assert isinstance(attacker.name, str), "`name` is a text: reports list attackers by it"
        assert attacker.name, "`name` is not empty"
        says_if_reads = isinstance(attacker.reads_epochs, bool)
        assert says_if_reads, "`reads_epochs` is a bool: whether epoch labels are shown to it"

    def test_other_people_are_scored(self) -> None:
        """`score` returns (people,) finite numbers for other people than those it learned from."""
        known_releases, labels = _make_releases(0)
        other_releases, _ = _make_releases(1)
        scores = self.make().fit(known_releases, labels).score(other_releases)
        assert np.shape(scores) == (len(labels),), "one score a person"
        assert np.isfinite(scores).all(), "every score is finite"

    def test_fit_starts_afresh(self) -> None:
        """An earlier fit, to the opposite labels, does not change its scores."""
        releases, labels = _make_releases(0)
        expected_scores = self.make().fit(releases, labels).score(releases)
        attacker = self.make().fit(releases, 1 - labels)
        assert np.allclose(attacker.fit(releases, labels).score(releases), expected_scores)


@cache
def _make_releases(seed: int) -> tuple[Releases, np.ndarray[Any, Any]]:
    """Make releases of 100 people, and (100,) labels 0 and 1 that follow from the first item."""
    labels = np.arange(100) % 2
    ratings = (np.random.default_rng(seed).random((100, 30)) < 0.4) * 3.0
    ratings[:, 0] = 1 + 3.0 * labels
    return Releases.from_ratings(sparse.csr_array(ratings)), labels
