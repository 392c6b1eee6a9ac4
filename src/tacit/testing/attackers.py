"""The suite for attackers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from tacit.auditing.attacks import Attacker, Releases


class AttackerConformance:
    """Subclass it and write `make`, which gives a new attacker."""

    def make(self) -> Attacker:
        """Return a new attacker."""
        raise NotImplementedError

    def test_it_has_a_name_and_says_what_it_reads(self) -> None:
        """Reports list attackers by name; epoch labels are shown to those that read them."""
        attacker = self.make()
        assert isinstance(attacker.name, str)
        assert attacker.name
        assert isinstance(attacker.reads_epochs, bool)

    def test_it_scores_people_whose_label_it_has_not_seen(self) -> None:
        """(people,) finite numbers, of other people than those it learned from."""
        (seen, labels), (others, _) = _releases(0), _releases(1)
        scores = self.make().fit(seen, labels).score(others)
        assert np.shape(scores) == (len(labels),), "one score a person"
        assert np.isfinite(scores).all(), "every score is finite"

    def test_fit_starts_afresh(self) -> None:
        """Fitting to opposite labels first leaves no trace."""
        seen, labels = _releases(0)
        once = self.make().fit(seen, labels).score(seen)
        attacker = self.make().fit(seen, 1 - labels)
        assert np.allclose(attacker.fit(seen, labels).score(seen), once)


@cache
def _releases(seed: int) -> tuple[Releases, np.ndarray[Any, Any]]:
    """Make releases of 100 people, and a label that one item tells."""
    labels = np.arange(100) % 2
    shown = (np.random.default_rng(seed).random((100, 30)) < 0.4) * 3.0
    shown[:, 0] = 1 + 3.0 * labels
    return Releases.from_ratings(sparse.csr_array(shown)), labels
