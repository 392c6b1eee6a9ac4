"""Fits of the sound X-Map, replayed with one person more or less, and bugs planted into them."""

import math

import numpy as np
import pytest

from tacit.auditing.bugs import examine
from tacit.auditing.gaussian import epsilon_of
from tacit.auditing.transcripts import compared, recorded
from tacit.designs.xmap.audit.faults import BUGS
from tacit.designs.xmap.audit.sums import DELTA, PEOPLE, fit, people_and_one, replays
from tacit.designs.xmap.audit.tables import ratings
from tacit.mechanisms.gaussian import GaussianRelease


def two_sums(table):
    """Two noisy sums of stars, the second clipped to the first's answer."""
    first = GaussianRelease(2.0, 5.0, 0, 1000, 2.0**-8)(table.values.sum())
    top = max(1.0, float(first))
    return {"second": GaussianRelease(2.0, 5.0, 0, top, 2.0**-8)(table.values.sum())}


ONE = [{"film": 3.0}, {"film": 5.0}], {"film": "films"}


def test_mu_of_two_sums():
    """Five stars over a sigma of ten, twice: mu is 0.5 sqrt(2), where nothing was clipped."""
    people, items = ONE
    first = recorded(two_sums, ratings(people, items))
    moved = compared(two_sums, first, ratings(people[:1], items))
    clipped = float(first.answers[0]) * 2.0**-8 < 8
    assert moved.differences == ()
    assert moved.moves[0] == pytest.approx(0.5, rel=0.01)
    assert moved.mu <= 0.5 * math.sqrt(2) + 1e-9
    assert clipped or moved.mu == pytest.approx(0.5 * math.sqrt(2), rel=0.01)


def test_same_table_is_no_move():
    """A transcript replayed on its own table moves nothing and differs in nothing."""
    _, table = people_and_one(PEOPLE["rates one film"])
    first = recorded(fit(1.0), table)
    again = compared(fit(1.0), first, table)
    assert (again.mu, again.differences, again.log_ratio) == (0.0, (), 0.0)


def test_raw_release_is_a_difference():
    """Something released without noise is found, whatever noise stands beside it."""
    people, items = ONE

    def leaking(table):
        return two_sums(table) | {"raw": np.array([table.values.max()])}

    first = recorded(leaking, ratings(people, items))
    moved = compared(leaking, first, ratings(people[:1], items))
    assert moved.differences == ("'raw', released without noise",)
    assert math.isinf(moved.mu)


def test_scale_from_the_data_is_a_difference():
    """Noise whose scale follows the data is found."""
    people, items = ONE

    def scaled(table):
        return {"sum": GaussianRelease(2.0, table.values.max(), 0, 99, 2.0**-8)(1.0)}

    first = recorded(scaled, ratings(people, items))
    moved = compared(scaled, first, ratings(people[:1], items))
    assert any("noise of scale" in words for words in moved.differences)


@pytest.mark.parametrize("person", PEOPLE)
def test_nobody_moves_a_fit_beyond_its_claim(person):
    """Whoever comes or goes, whole fits stay within (1, 1e-6), and nothing is released raw."""
    for _, moved in replays(1.0, people_and_one(PEOPLE[person])):
        assert moved.differences == ()
        assert 0 < epsilon_of(moved.mu, DELTA) <= 1.0


def test_claim_is_nearly_attained():
    """Somebody who rates everything at the ends moves nine tenths of what is claimed."""
    tables = people_and_one(PEOPLE["rates everything, half of it 5, half 1"])
    mu = max(moved.mu for _, moved in replays(1.0, tables))
    assert epsilon_of(mu, DELTA) > 0.8


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bugs_are_caught_and_the_shipped_fit_is_not(bug):
    """Each bug raises the alarm, and the fit without it stays quiet."""
    caught, twin = examine(bug)
    assert caught.caught
    assert not twin.alarm
