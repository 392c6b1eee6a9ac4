"""Every released artefact at random sizes: shipped code passes, and each planted bug is caught.

The tools are exact: correct code raises no alarm whatever is drawn, up to the rounding of floats.
A bug is caught if one case among those of five audits shows it. Seeds are fixed, so catching
repeats, but for fits of X-Map, whose noise takes no seed: a bug there shows in one case of twelve
or more, and is missed in all 200 with a chance of (11 / 12) ** 200 = 2.8e-8 at most.
"""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from tests.support.sizes import Profile, examine, whole
from tests.support.sizes_artefacts import BENCH, BY_NAME, rated
from tests.support.sizes_faults import FAULTS

SLOW = "x-map, sound fit"


@pytest.mark.parametrize("profile", BENCH, ids=lambda profile: profile.artefact)
def test_shipped_code_violates_nothing_at_any_size(profile):
    """The loss of a few random cases is at most what is claimed."""
    found = examine(profile, seed=3, cases=3 if profile.artefact == SLOW else 10)
    assert not found.violation, found


@pytest.mark.long
@pytest.mark.parametrize("profile", BENCH, ids=lambda profile: profile.artefact)
def test_correct_code_raises_no_alarm(profile):
    """134 whole audits of each of 14 artefacts, 1,876 in all, on fresh seeds: no alarm. A chance of
    an alarm of 0.15 % per audit or more would show in 19 of 20 times."""
    for _ in range(134):
        found = examine(profile, seed=secrets.randbits(32))
        assert not found.violation, found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_planted_bug_is_caught(fault):
    """By a loss above the claim, not by an exception."""
    found = fault.found(7)
    assert found.violation, found
    assert not found.failed, found


def test_there_are_bugs_of_each_kind():
    """Six at least, as many as were missed before of all kinds together."""
    kinds = [fault.kind for fault in FAULTS]
    assert all(kinds.count(kind) >= 6 for kind in ("size", "branch", "support", "composition"))


def test_sizes_are_small_and_large():
    """In 1,000 draws from 1 to 2,000, above 1,000 and below 3 come at least 20 times each: fewer
    have a chance below 1e-9."""
    drawn = [whole(np.random.default_rng(seed), 1, 2_000) for seed in range(1_000)]
    assert sum(size > 1_000 for size in drawn) >= 20
    assert sum(size < 3 for size in drawn) >= 20
    assert max(drawn) <= 2_000


def test_tables_hold_rarely_rated_items_and_one_extreme_rater():
    """Items with 0, 1 and 2 raters in every table; somebody who rates all in some."""
    tables = [rated(np.random.default_rng(seed), 30, 12) for seed in range(20)]
    assert all(table[:-1].sum(axis=0)[:3].tolist() == [0, 1, 2] for table in tables)
    assert any(table[-1].all() for table in tables)


def test_an_exception_is_a_violation_without_the_data():
    """A profile whose code raises is named by kind and place alone."""

    def broken(_):
        raise ValueError("private number 4711")

    found = examine(Profile("broken", broken, 5), seed=1)
    assert found.violation
    assert "4711" not in found.failed


def test_the_seed_repeats_the_cases():
    """What was found can be looked at again."""
    first, again = (examine(BY_NAME["laplace"], seed=9, cases=5) for _ in range(2))
    assert first.worst == again.worst
